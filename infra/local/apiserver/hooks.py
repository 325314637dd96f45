"""What a request under /_local/ does: the way into `faults` for tests in other processes."""

import json

from infra.local.apiserver.failures import build_bad_request, build_method_not_allowed
from infra.local.apiserver.faults import Faults
from infra.local.apiserver.operations import Answer, Operations
from infra.local.apiserver.store import encode


def call_hook(faults: Faults, operations: Operations, method: str, name: str, raw: bytes) -> Answer:
    """Call one hook.

    POST compact, drop, hang; POST fail with the order of a fault as its body, DELETE fail; GET and DELETE requests.
    """
    match method, name:
        case "POST", "compact":
            operations.store.forget_history()
            operations.lists.forget_snapshots()
        case "POST", "drop" | "hang":
            faults.interrupt(name)
            with operations.store.changed:
                operations.store.changed.notify_all()
        case "POST", "fail":
            try:
                faults.arm(json.loads(raw))
            except (ValueError, TypeError) as error:
                raise build_bad_request(str(error)) from error
        case "DELETE", "fail":
            faults.disarm()
        case "GET", "requests":
            return Answer(200, encode([entry._asdict() for entry in faults.read_journal()]))
        case "DELETE", "requests":
            faults.clear_journal()
        case _:
            raise build_method_not_allowed()
    return Answer(200, b"{}")
