"""As much of OpenAPI v3 as kubectl asks for before it creates or applies a manifest.

It wants to know that the server takes the parameter fieldValidation, and then leaves validation to the server. No
schemas are here: unknown fields are stored as they come.
"""

from typing import Any

from infra.local.apiserver.resources import RESOURCES

_PARAMETERS = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("dryRun", "fieldValidation")]


def build_openapi(path: str) -> dict[str, Any] | None:
    """Build the document served at a path; None when the path has none."""
    versions = {_find_root(resource.group_version): resource.group_version for resource in RESOURCES}
    root = path.strip("/").removeprefix("openapi/v3").strip("/")
    if not path.startswith("/openapi/v3"):
        return None
    if not root:
        return {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}?hash=0"} for root in versions}}
    if root not in versions:
        return None
    info = {"title": "Kubernetes", "version": "unversioned"}
    return {"openapi": "3.0.0", "info": info, "paths": _build_paths(root, versions[root])}


def _find_root(group_version: str) -> str:
    return f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"


def _build_paths(root: str, group_version: str) -> dict[str, Any]:
    group, _, version = group_version.rpartition("/")
    paths = {}
    for resource in RESOURCES:
        if resource.group_version == group_version:
            where = "namespaces/{namespace}/" if resource.namespaced else ""
            kind = {"group": group, "version": version, "kind": resource.kind}
            operation = {"parameters": _PARAMETERS, "x-kubernetes-group-version-kind": kind, "responses": {}}
            paths[f"/{root}/{where}{resource.plural}/{{name}}"] = {
                "patch": {**operation, "x-kubernetes-action": "patch"},
                "put": {**operation, "x-kubernetes-action": "put"},
            }
    return paths
