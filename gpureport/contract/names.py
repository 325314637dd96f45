"""Every name that is computed: run ids, staged and archived objects, event ids and sources.

Names come from verified ids alone, never from the text of an event.
"""

import re
from datetime import datetime

from gpureport.contract.instants import format_compact_instant, format_instant

RUN_ID = re.compile(r"[0-9a-f]{32}")
SHA256 = re.compile(r"[0-9a-f]{64}")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
NODE_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""A Node's name is a DNS-1123 subdomain."""
CLUSTER_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A key of the functions' cluster map: a DNS-1123 label."""
AGENT_VERSION = re.compile(r"[0-9A-Za-z][-+.0-9A-Za-z]{0,63}")

REPORTS_FOLDER_BYTES_MAX = 256
FILE_PATH_BYTES_MAX = REPORTS_FOLDER_BYTES_MAX + 80
"""A report's path: its folder, a slash and the longest file name that `report_file_name` makes."""
FILE_PATH = re.compile(r'/[^\x00-\x1f\x7f"\\\ud800-\udfff]*')
"""An absolute path on the host without the characters that JSON escapes, so that its size on the Node is plain."""

ARCHIVE_ROOT = "v1"
QUARANTINE_ROOT = "quarantine"


def staging_object(run_id: str, sha256: str) -> str:
    """Name a staged report: the run and the bytes, so that the same bytes have the same name at each attempt."""
    return f"{run_id}/{sha256}.log.gz"


def archive_folder(cluster: str, node: str, started_at: datetime, run_id: str) -> str:
    """Name the folder of one run, without a slash at its end; the day is that of `started_at` in UTC."""
    day = format_instant(started_at).partition("T")[0]
    return f"{ARCHIVE_ROOT}/{cluster}/{node}/{day}/{run_id}"


def manifest_object(folder: str) -> str:
    """Name the manifest of a run: the commit point of its archive."""
    return f"{folder}/manifest.json"


def report_object(folder: str, *, quarantined: bool = False) -> str:
    """Name the archived report of a run; the bytes of a corrupt one lie under `quarantine/`."""
    return f"{QUARANTINE_ROOT}/{folder}/report.log.gz" if quarantined else f"{folder}/report.log.gz"


def archive_uri(bucket: str, name: str) -> str:
    """Write the URI of an object as Cloud Storage's tools read it."""
    return f"gs://{bucket}/{name}"


def report_file_name(collected_at: datetime, trigger: str) -> str:
    """Name a finished report on the node's disk."""
    return f"nvidia-bug-report-{format_compact_instant(collected_at)}-{trigger}.log.gz"


def event_source(cluster: str, node: str) -> str:
    """Name the source of a CloudEvent."""
    return f"gpureport/{cluster}/{node}"


def event_id(run_id: str, event_type: str) -> str:
    """Name an event of a run: the same at each republish, so that subscribers can tell a repetition."""
    noun_verb = event_type.removeprefix("dev.gpureport.").rpartition(".")[0]
    return f"{run_id}/{noun_verb}"
