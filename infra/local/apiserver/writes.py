"""What is stored when an object is created or updated, and which requests are refused instead.

Decisions over values: the store is read and written by the caller.
"""

from typing import Any

from infra.local.apiserver.events import (
    NEW_API,
    find_event_type_error,
    list_event_causes,
    parse_new_event,
    tidy_event_times,
)
from infra.local.apiserver.failures import (
    Cause,
    Failure,
    build_bad_request,
    build_conflict,
    build_internal,
    build_invalid,
)
from infra.local.apiserver.resources import Resource
from infra.local.apiserver.routes import Target, parse_version
from infra.local.apiserver.store import encode
from infra.local.apiserver.validation import find_type_error, list_metadata_causes, tidy_metadata

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
"""What admission gives every Node that is created; a controller takes it away once the kubelet is ready."""

_DELETION_FIELDS = ("deletionTimestamp", "deletionGracePeriodSeconds")
SYSTEM_FIELDS = ("uid", "creationTimestamp", "namespace", "generateName", "resourceVersion", *_DELETION_FIELDS)
"""Fields of metadata that an update cannot change."""


def build_created(target: Target, body: object, uid: str, created_at: str, suffix: str) -> dict[str, Any]:
    """Build the object that a POST stores; `suffix` completes a generateName. Raises `Failure`."""
    resource = target.resource
    new = _decode(resource, body)
    metadata = new["metadata"]
    if metadata.pop("resourceVersion", None) not in (None, "", "0"):
        raise build_internal("resourceVersion should not be set on objects to be created")
    for field in _DELETION_FIELDS:
        metadata.pop(field, None)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = f"{metadata['generateName']}{suffix}"
    if not metadata.get("name"):
        cause = Cause("FieldValueRequired", "metadata.name", "Required value: name or generateName is required")
        raise build_invalid(resource.kind, "", [cause])
    if resource.namespaced:
        if metadata.setdefault("namespace", target.namespace) != target.namespace:
            raise build_bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
    else:
        metadata.pop("namespace", None)
    metadata.update(uid=uid, creationTimestamp=created_at)
    if resource.plural == "nodes":
        new["spec"] = _add_not_ready(new.get("spec") or {})
    if resource.plural == "pods":
        new["status"] = {"phase": "Pending"}
    if resource.plural == "namespaces":
        new["status"] = {"phase": "Active"}
    return _validate(resource, new, None)


def build_updated(target: Target, current: dict[str, Any], proposed: object, by_patch: bool) -> dict[str, Any]:
    """Build the object that a PUT or PATCH stores in the place of `current`. Raises `Failure`."""
    resource = target.resource
    new = _decode(resource, proposed, by_patch)
    metadata = new["metadata"]
    if metadata.get("name") != target.name:
        raise build_bad_request(_describe_name(metadata.get("name"), target.name))
    _check_namespace(target, metadata)
    check_version(resource, target.name, metadata.get("resourceVersion"), current)
    _check_uid(resource, target.name, metadata.get("uid"), current, by_patch)
    _check_unchanged(resource, target.name, "deletionTimestamp", metadata, current)
    for field in SYSTEM_FIELDS:
        metadata.pop(field, None)
        if field in current["metadata"]:
            metadata[field] = current["metadata"][field]
    if target.subresource == "status":
        kept = {name: value for name, value in current["metadata"].items() if name not in ("labels", "annotations")}
        writable = {name: metadata[name] for name in ("labels", "annotations") if name in metadata}
        new = {**current, "metadata": {**kept, **writable}, "status": new.get("status") or {}}
    elif "status" in resource.subresources:
        new.pop("status", None)
        if "status" in current:
            new["status"] = current["status"]
    return _validate(resource, new, current)


def check_version(resource: Resource, name: str, asked: object, current: dict[str, Any]) -> None:
    """Refuse a write made for another resourceVersion; absent and 0 mean any."""
    try:
        version = parse_version(str(asked or ""))
    except ValueError as error:
        raise build_internal(str(error)) from error
    if version and str(version) != current["metadata"]["resourceVersion"]:
        raise build_conflict(resource.full_name, name)


def _decode(resource: Resource, body: object, by_patch: bool = False) -> dict[str, Any]:
    """Decode a body into the stored form, without kind and apiVersion."""
    if not isinstance(body, dict):
        raise build_bad_request(f"the object provided is unrecognized (must be of type {resource.kind})")
    problem = _find_other_type(resource, body)
    # Unknown members are dropped, as kube-apiserver does; it says so in a Warning header besides.
    new = {name: value for name, value in body.items() if name in resource.members}
    if new.get("metadata") is None:
        new["metadata"] = {}
    problem = problem or find_type_error(new)
    if resource.plural == "events":
        problem = problem or find_event_type_error(new)
    if problem:
        raise _build_undecodable(resource, body, problem, by_patch)
    new["metadata"] = dict(new["metadata"])
    if resource.plural == "events":
        new = tidy_event_times(new)
    return parse_new_event(new) if resource.group_version == NEW_API else new


def _find_other_type(resource: Resource, body: dict[str, Any]) -> str:
    kind, version = body.get("kind", resource.kind), body.get("apiVersion", resource.group_version)
    if kind != resource.kind:
        return f"converting ({version}.{kind}) to (core.{resource.kind}): unknown conversion"
    if version != resource.group_version:
        return f'no kind "{kind}" is registered for version "{version}"'
    return ""


def _build_undecodable(resource: Resource, body: dict[str, Any], problem: str, by_patch: bool) -> Failure:
    if not by_patch:
        what = f'{resource.kind} in version "{resource.group_version}" cannot be handled as a {resource.kind}'
        return build_bad_request(f"{what}: {problem}")
    shown = encode(body).decode("utf-8", "replace")
    return build_invalid("", "", [Cause("FieldValueInvalid", "patch", f'Invalid value: "{shown}": {problem}')])


def _add_not_ready(spec: dict[str, Any]) -> dict[str, Any]:
    taints = list(spec.get("taints") or [])
    keys = [taint.get("key") for taint in taints if isinstance(taint, dict)]
    return spec if NOT_READY["key"] in keys else {**spec, "taints": [*taints, NOT_READY]}


def _describe_name(found: str | None, wanted: str) -> str:
    if not found:
        return f"the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
    return f"the name of the object ({found}) does not match the name on the URL ({wanted})"


def _check_unchanged(
    resource: Resource, name: str, field: str, metadata: dict[str, Any], current: dict[str, Any]
) -> None:
    asked = metadata.get(field)
    if asked and asked != current["metadata"].get(field):
        cause = Cause("FieldValueInvalid", f"metadata.{field}", f'Invalid value: "{asked}": field is immutable')
        raise build_invalid(resource.kind, name, [cause])


def _check_namespace(target: Target, metadata: dict[str, Any]) -> None:
    if target.resource.namespaced and metadata.get("namespace", target.namespace) != target.namespace:
        raise build_bad_request("the namespace of the provided object does not match the namespace sent on the request")


def _check_uid(resource: Resource, name: str, asked: object, current: dict[str, Any], by_patch: bool) -> None:
    uid = current["metadata"]["uid"]
    if not asked or asked == uid:
        return
    if by_patch:
        _check_unchanged(resource, name, "uid", {"uid": asked}, current)
    why = f"Precondition failed: UID in precondition: {asked}, UID in object meta: {uid}"
    raise build_conflict(resource.full_name, name, why)


def _validate(resource: Resource, new: dict[str, Any], current: dict[str, Any] | None) -> dict[str, Any]:
    """Check an object, and give it the empty spec and status that every Node and Pod has."""
    new = {**new, "metadata": tidy_metadata(new["metadata"])}
    if "status" in resource.subresources:
        new.update(spec=new.get("spec") or {}, status=new.get("status") or {})
    causes = list_metadata_causes(resource, new["metadata"])
    if resource.plural == "events":
        causes += list_event_causes(new, resource.group_version, current)
    if causes:
        raise build_invalid(resource.kind, new["metadata"]["name"], causes)
    return new
