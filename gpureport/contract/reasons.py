"""Why a run failed: one table of words, each with its sentence and what to do about it.

We write only these words, and read any. To add one, see CONTRIBUTING.md.
"""

import re
from typing import NamedTuple


class Reason(NamedTuple):
    """One reason: the machine's word, a sentence for people, and the next step."""

    word: str
    sentence: str
    remedy: str


_TABLE = (
    Reason("disabled", "Automatic reports are switched off on this node.",
           "Remove the disable-gpu-report label, or ask by the trigger-gpu-report label."),
    Reason("interrupted", "The agent or the node stopped before the report was on disk.",
           "Ask again; a manual request that is still on the Node is served by itself."),
    Reason("timeout", "The script did not end in time; what it had written was kept.",
           "Look at the kept report; on a large node raise --timeout, or switch persistence mode on."),
    Reason("script-not-found", "There is no nvidia-bug-report.sh on the host.",
           "Install the NVIDIA driver on the node, or name the script with --script."),
    Reason("script-untrusted", "The script, or a folder above it, can be written by others than root.",
           "Restore the owner and mode of the driver's folder."),
    Reason("script-failed", "The script ended with an error and left no report.",
           "Read the agent's log for the end of the script's stderr."),
    Reason("no-report", "The script left nothing, or something that is no NVIDIA bug report.",
           "Read the agent's log; run the script by hand on the node."),
    Reason("incomplete", "The report lacks its end: the script stopped early.",
           "Use what was archived; check the node's disk and ask again."),
    Reason("corrupt", "The report's compressed data is damaged.",
           "The bytes are kept under quarantine/; ask again."),
    Reason("too-large", "The report is larger than the limits allow.",
           "Fetch the report from the node by hand; its path is in the output."),
    Reason("busy", "A process of an earlier run cannot be ended, so that none can start.",
           "The node needs a reboot: a process hangs in the driver."),
    Reason("disk", "There is too little room on the node's disk, or it cannot be written.",
           "Free space on the node's boot disk and ask again."),
    Reason("spool-full", "Too many reports wait for their upload on this node.",
           "Check the agent's access to the staging bucket and to Pub/Sub."),
    Reason("driver-not-ready", "The NVIDIA driver is being installed or upgraded.",
           "Ask again when the driver is ready."),
    Reason("upload-failed", "The report is on the node's disk and could not be staged.",
           "Check the agent's access to the staging bucket; the file path is in the output."),
    Reason("archive-failed", "The staged report could not be archived.",
           "Check archive_report's log and its access to both buckets."),
    Reason("crash-loop", "The agent or the node died twice during this run.",
           "Look at the node's kernel log; collect with --safe-mode by hand."),
    Reason("no-agent", "No agent on the node took the request.",
           "Check the agent's DaemonSet on this node."),
    Reason("deadline-exceeded", "The run did not end before its deadline.",
           "Look at the agent's and the functions' logs for the run id; a late report is archived all the same."),
    Reason("internal", "A fault of this software.",
           "Report it with the log lines of the run id."),
)  # fmt: skip

REASONS = {reason.word: reason for reason in _TABLE}
"""Every reason by its word."""

ANY_REASON = re.compile(r"[!#-\[\]-~]([ !#-\[\]-~]{0,70}[!#-\[\]-~])?")
"""What is read as a reason: ours, or another writer's that fits a status behind `failed: ` and needs no escape."""
