"""The function behind the topic `results`: brings the ending of a run that is on record to its Node.

Events are hints: it acts on the manifest found at the name computed from the Node's claim. What is written is decided
in `status_changes`.
"""

from typing import NamedTuple

from functions.clusters import FindCluster
from functions.outcomes import Answer, Outcome, late, rejected, retry
from functions.records import Record, build_record_event, find_record
from functions.runs import LocatedRun, locate_run
from functions.status_changes import decide_changes
from gpureport.contract.events import REPORT_ARCHIVED, REPORT_FINISHED, REPORT_REJECTED, Event
from gpureport.contract.fields import ContractError
from gpureport.contract.keys import Keys
from gpureport.contract.nodes import build_patch
from gpureport.contract.outputs import Output
from gpureport.ports import ObjectReader, PatchOutcome, Publisher

TYPES = (REPORT_ARCHIVED, REPORT_REJECTED)

TRIES_MAX = 5
"""Lost races in one delivery; a Node is written every 10 s by its kubelet, rarely more often; then redelivery."""


class StatusPorts(NamedTuple):
    """What this function needs of the world beside the clusters."""

    archive: ObjectReader
    publisher: Publisher
    results_topic: str


def write_status(event: Event, find_cluster: FindCluster, keys: Keys, ports: StatusPorts) -> Answer:
    """Write the ending of the run that the event points at, and tell; any number of times it is written once.

    Raises `Unavailable` or `Refused` as the ports do.
    """
    record: Record | None = None
    for _ in range(TRIES_MAX):
        located = locate_run(event, find_cluster, keys)
        if isinstance(located, Answer):
            return located
        try:
            record = record or find_record(ports.archive, located.origin, located.run)
        except ContractError as error:
            return rejected("foreign-manifest", str(error))
        if record is None:
            return rejected("no-manifest", "the archive has no manifest of that run")
        answer = _try_once(located, record, keys, ports)
        if answer is not None:
            return answer
    return retry("lost-races", f"the Node was changed by others {TRIES_MAX} times")


def _try_once(located: LocatedRun, record: Record, keys: Keys, ports: StatusPorts) -> Answer | None:
    """Decide and write once; None when the Node had changed meanwhile."""
    changes, output = decide_changes(located, record, keys)
    if not changes:
        _tell(record, output, ports)
        return Answer(Outcome.DUPLICATE, None, "the Node says so already")
    outcome = located.cluster.nodes.patch_node(located.state.name, build_patch(located.state, changes))
    if outcome is PatchOutcome.GONE:
        return late("node-gone", "the Node went while it was written")
    if outcome is PatchOutcome.CONFLICT:
        return None
    _tell(record, output, ports)
    return Answer(Outcome.DONE, output.reason, "", {"status": output.status, "late": output.late})


def _tell(record: Record, output: Output, ports: StatusPorts) -> None:
    ports.publisher.publish(ports.results_topic, build_record_event(REPORT_FINISHED, record, output))
