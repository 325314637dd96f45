"""How long a run may take, from its claim to its terminal status.

Fixed at the claim; agent and reaper share the maximum.
"""

from datetime import datetime, timedelta

SCRIPT_TIMEOUT_S = 60.0
"""Default time the script has; nodes with 8 GPUs were measured at 6 to 19 s with persistence mode on."""

KILL_GRACE_S = 5.0
"""Seconds between TERM and KILL for the script's session."""

UPLOAD_S = 10 * 60
PIPELINE_S = 20 * 60

DEADLINE_S_MAX = 60 * 60
"""The longest a run may last; a configuration that needs more is refused at start."""


def decide_deadline_s(timeout_s: float, grace_s: float = KILL_GRACE_S, driver_wait_s: float = 0) -> float:
    """Add up what a run may need: two attempts, their graces, the wait for a driver, upload and pipeline. Seconds."""
    return 2 * timeout_s + 2 * grace_s + driver_wait_s + UPLOAD_S + PIPELINE_S


def decide_deadline_at(started_at: datetime, timeout_s: float, driver_wait_s: float = 0) -> datetime:
    """The instant by which a run started at `started_at` has a terminal status; `ValueError` above `DEADLINE_S_MAX`."""
    total_s = decide_deadline_s(timeout_s, driver_wait_s=driver_wait_s)
    if total_s > DEADLINE_S_MAX:
        raise ValueError(f"a run could take {total_s:.0f} s, more than the {DEADLINE_S_MAX} s that a reaper waits")
    return started_at + timedelta(seconds=total_s)
