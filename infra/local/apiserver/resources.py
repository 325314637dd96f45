"""Which kinds of object are served, under which paths, and what discovery says about them.

A table and the documents made from it; the objects themselves are in the store.
"""

from typing import Any, NamedTuple

METADATA_FIELDS = frozenset({"metadata.name", "metadata.namespace"})
SPEC_AND_STATUS = frozenset({"metadata", "spec", "status"})
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


class Resource(NamedTuple):
    """One served resource type; `fields` are those a field selector may name, `members` those its objects have."""

    group_version: str
    plural: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    fields: frozenset[str] = METADATA_FIELDS
    name_rule: str = "subdomain"
    members: frozenset[str] = SPEC_AND_STATUS

    @property
    def storage(self) -> str:
        """Name the storage of its objects: both Event APIs share one."""
        return self.plural

    @property
    def full_name(self) -> str:
        """Name it as messages do: the plural, and the group when there is one."""
        group, slash, _ = self.group_version.partition("/")
        return f"{self.plural}.{group}" if slash else self.plural


_NODE_FIELDS = frozenset({"metadata.name", "spec.unschedulable"})
_POD_FIELDS = METADATA_FIELDS | {
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
}
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_FIELDS = METADATA_FIELDS | {
    *(f"involvedObject.{name}" for name in _INVOLVED),
    *("reason", "reportingComponent", "source", "type"),
}
_NEW_EVENT_FIELDS = METADATA_FIELDS | {
    *(f"regarding.{name}" for name in _INVOLVED),
    *("reason", "reportingController", "type"),
}
_STATUS = ("status",)
_CONFIG_MAP = frozenset({"metadata", "data", "binaryData", "immutable"})
_ACCOUNT = frozenset({"metadata", "secrets", "imagePullSecrets", "automountServiceAccountToken"})
_SHARED = ("metadata", "eventTime", "series", "action", "reason", "related", "reportingInstance", "type")
_OLD = ("firstTimestamp", "lastTimestamp", "count", "source")
_EVENT = frozenset({*_SHARED, *_OLD, "involvedObject", "message", "reportingComponent"})
_DEPRECATED = (f"deprecated{name[0].upper()}{name[1:]}" for name in _OLD)
_NEW_EVENT = frozenset({*_SHARED, *_DEPRECATED, "regarding", "note", "reportingController"})

RESOURCES = (
    Resource("v1", "nodes", "Node", False, ("no",), _STATUS, _NODE_FIELDS),
    Resource("v1", "pods", "Pod", True, ("po",), _STATUS, _POD_FIELDS),
    Resource("v1", "namespaces", "Namespace", False, ("ns",), _STATUS, METADATA_FIELDS | {"status.phase"}, "label"),
    Resource("v1", "events", "Event", True, ("ev",), (), _EVENT_FIELDS, "path", _EVENT),
    Resource("v1", "configmaps", "ConfigMap", True, ("cm",), members=_CONFIG_MAP),
    Resource("v1", "serviceaccounts", "ServiceAccount", True, ("sa",), ("token",), members=_ACCOUNT),
    Resource("events.k8s.io/v1", "events", "Event", True, ("ev",), (), _NEW_EVENT_FIELDS, "path", _NEW_EVENT),
    Resource("coordination.k8s.io/v1", "leases", "Lease", True),
)
_BY_PATH = {(resource.group_version, resource.plural): resource for resource in RESOURCES}
_GROUP_VERSIONS = tuple(dict.fromkeys(resource.group_version for resource in RESOURCES))
VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3-standin",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "linux/amd64",
}


def is_served(group_version: str) -> bool:
    """Tell whether a version of a group has any resource."""
    return group_version in _GROUP_VERSIONS


def find_resource(group_version: str, plural: str) -> Resource | None:
    """Look up a served resource type."""
    return _BY_PATH.get((group_version, plural))


def build_discovery(path: str) -> dict[str, Any] | None:
    """Build the discovery document served at a path; None when the path has none."""
    match path.strip("/").split("/"):
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_build_group(version) for version in _GROUP_VERSIONS if "/" in version]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["api", "v1"]:
            return _build_resource_list("v1")
        case ["apis", group]:
            found = next((version for version in _GROUP_VERSIONS if version.startswith(f"{group}/")), None)
            return {"kind": "APIGroup", "apiVersion": "v1", **_build_group(found)} if found else None
        case ["apis", group, version] if f"{group}/{version}" in _GROUP_VERSIONS:
            return _build_resource_list(f"{group}/{version}")
    return None


def _build_group(group_version: str) -> dict[str, Any]:
    group, _, version = group_version.partition("/")
    entry = {"groupVersion": group_version, "version": version}
    return {"name": group, "versions": [entry], "preferredVersion": entry}


def _build_resource_list(group_version: str) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    for resource in RESOURCES:
        if resource.group_version != group_version:
            continue
        shared = {"namespaced": resource.namespaced, "kind": resource.kind}
        singular = {"singularName": resource.kind.lower(), "shortNames": list(resource.short_names)}
        entries.append({"name": resource.plural, **shared, **singular, "verbs": VERBS})
        for subresource in resource.subresources:
            name = f"{resource.plural}/{subresource}"
            if subresource == "token":
                request = {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"}
                entries.append({"name": name, "singularName": "", "namespaced": True, **request, "verbs": ["create"]})
            else:
                entries.append({"name": name, "singularName": "", **shared, "verbs": ["get", "patch", "update"]})
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries}
