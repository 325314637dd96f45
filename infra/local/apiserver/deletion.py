"""What a DELETE asks for, when it is refused, and what becomes of an object that something still holds.

Decisions over values: the store is read and written by the caller.
"""

from typing import Any

from infra.local.apiserver.failures import Cause, build_bad_request, build_conflict, build_invalid
from infra.local.apiserver.resources import Resource

OPTIONS_KIND = "DeleteOptions"
POLICIES = ("Foreground", "Background", "Orphan")


def parse_delete_options(body: object) -> dict[str, Any] | None:
    """Parse the body of a DELETE; None when it has none, and only then does the query count. Raises 400, 422."""
    if body is None:
        return None
    if not isinstance(body, dict):
        raise build_bad_request("couldn't get version/kind; json parse error: json: cannot unmarshal value")
    if body.get("kind", OPTIONS_KIND) != OPTIONS_KIND:
        raise build_bad_request(f'no kind "{body["kind"]}" is registered for this version')
    policy = body.get("propagationPolicy")
    if policy is not None and policy not in POLICIES:
        supported = ", ".join(f'"{known}"' for known in (*POLICIES, "nil"))
        message = f'Unsupported value: "{policy}": supported values: {supported}'
        cause = Cause("FieldValueNotSupported", "propagationPolicy", message)
        raise build_invalid(f"{OPTIONS_KIND}.meta.k8s.io", "", [cause])
    return body


def check_preconditions(resource: Resource, name: str, options: dict[str, Any] | None, current: dict[str, Any]) -> None:
    """Refuse a DELETE whose preconditions do not hold."""
    preconditions = (options or {}).get("preconditions") or {}
    metadata = current["metadata"]
    for field, shown, happened in (
        ("uid", "UID", "deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "modified"),
    ):
        asked, found = preconditions.get(field), metadata[field]
        if asked not in (None, found):
            why = f"the {shown} in the precondition ({asked}) does not match the {shown} in record ({found})"
            raise build_conflict(resource.kind, name, f"{why}. The object might have been {happened}")


def build_deleting(current: dict[str, Any], now: str) -> dict[str, Any] | None:
    """Build what an object becomes that finalizers hold; None when nothing holds it and it goes at once."""
    metadata = current["metadata"]
    if not metadata.get("finalizers"):
        return None
    if "deletionTimestamp" in metadata:
        return current
    return {**current, "metadata": {**metadata, "deletionTimestamp": now, "deletionGracePeriodSeconds": 0}}


def is_released(new: dict[str, Any]) -> bool:
    """Tell whether an update took away the last finalizer of an object that is being deleted."""
    return "deletionTimestamp" in new["metadata"] and not new["metadata"].get("finalizers")
