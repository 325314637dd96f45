"""The CloudEvents of this project: their types, topics and attributes.

An event is a hint; the Node is the authority.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from gpureport.contract.names import event_id, event_source

REPORTS = "reports"
SCHEDULING = "scheduling"
RESULTS = "results"
TOPICS = (REPORTS, SCHEDULING, RESULTS)

REPORT_COLLECTED = "dev.gpureport.report.collected.v1"
REPORT_FAILED = "dev.gpureport.report.failed.v1"
PROBE_FAILING = "dev.gpureport.probe.failing.v1"
PROBE_RECOVERED = "dev.gpureport.probe.recovered.v1"
GPU_MISSING = "dev.gpureport.gpu.missing.v1"
GPU_XID = "dev.gpureport.gpu.xid.v1"
POD_UNSCHEDULABLE = "dev.gpureport.pod.unschedulable.v1"
WORKLOAD_BLOCKED = "dev.gpureport.workload.blocked.v1"
REPORT_ARCHIVED = "dev.gpureport.report.archived.v1"
REPORT_REJECTED = "dev.gpureport.report.rejected.v1"
REPORT_FINISHED = "dev.gpureport.report.finished.v1"
POD_CLASSIFIED = "dev.gpureport.pod.classified.v1"
POD_RESOLVED = "dev.gpureport.pod.resolved.v1"

TYPES_BY_TOPIC = {
    REPORTS: (REPORT_COLLECTED, REPORT_FAILED, PROBE_FAILING, PROBE_RECOVERED, GPU_MISSING, GPU_XID),
    SCHEDULING: (POD_UNSCHEDULABLE, WORKLOAD_BLOCKED),
    RESULTS: (REPORT_ARCHIVED, REPORT_REJECTED, REPORT_FINISHED, POD_CLASSIFIED, POD_RESOLVED),
}

INFO = "info"
WARNING = "warning"
SEVERITIES = (INFO, WARNING)

EXTENSIONS = ("severity", "cluster", "node", "reason", "cause", "runid")
"""The extension attributes that subscribers filter on."""


class Event(NamedTuple):
    """One CloudEvents 1.0 event with JSON data; `extensions` holds further attributes by name, absent ones left out."""

    type: str
    id: str
    source: str
    data: Mapping[str, Any]
    time: datetime | None = None
    extensions: Mapping[str, str] = {}

    @property
    def cluster(self) -> str:
        """The cluster that the event claims to be about; empty when it names none."""
        return self.extensions.get("cluster", "")

    @property
    def node(self) -> str:
        """The Node that the event claims to be about; empty when it names none."""
        return self.extensions.get("node", "")

    @property
    def run_id(self) -> str:
        """The run that the event claims to be about; empty when it names none."""
        return self.extensions.get("runid", "")


def build_run_event(  # noqa: PLR0913 (each is an attribute of the event)
    event_type: str,
    *,
    cluster: str,
    node: str,
    run_id: str,
    at: datetime,
    data: Mapping[str, Any],
    reason: str | None = None,
) -> Event:
    """Build an event about one run; its id is the same at each republish."""
    extensions = {
        "severity": INFO if reason is None else WARNING,
        "cluster": cluster,
        "node": node,
        "runid": run_id,
    }
    if reason is not None:
        extensions["reason"] = reason
    return Event(
        type=event_type,
        id=event_id(run_id, event_type),
        source=event_source(cluster, node),
        data=data,
        time=at,
        extensions=extensions,
    )
