"""What an apiserver's audit log says of our identities: which rights they used, and which they were refused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from infra.local.cluster_access import USER_AGENT, ClusterAccess
from infra.local.identities import ACCOUNTS, DESK

AGENT = "system:serviceaccount:gpu-report:agent"
OURS = {AGENT, DESK, *ACCOUNTS.values()}

ROLES = "/apis/rbac.authorization.k8s.io/v1/{}"
ROLE_PREFIX = "gpu-report-"
DECISION = "authorization.k8s.io/decision"
REASON = "authorization.k8s.io/reason"
GRANTED_BY = re.compile(r'of (?:Cluster)?Role "([^"]+)"')


class Right(NamedTuple):
    """A verb on a resource of an API group; a subresource is written nodes/status."""

    verb: str
    group: str
    resource: str


class Audit(NamedTuple):
    """Rights by the role that granted them, and those refused by the user who asked."""

    used: set[tuple[str, Right]]
    refused: set[tuple[str, Right]]


def read_audit(log: Path) -> Audit:
    """Read the whole log; requests of the tests themselves, whoever's token they used, are left out."""
    audit = Audit(set(), set())
    for entry in _read_entries(log):
        user, right, annotations = entry["user"]["username"], _read_right(entry), entry.get("annotations", {})
        if user not in OURS or entry.get("userAgent") == USER_AGENT:
            continue
        if annotations.get(DECISION) == "forbid":
            audit.refused.add((user, right))
        elif role := GRANTED_BY.search(annotations.get(REASON, "")):
            audit.used.add((role[1], right))
    return audit


def read_granted(admin: ClusterAccess) -> set[tuple[str, Right]]:
    """Return every right that a role of ours grants, read from the cluster."""
    granted = set()
    for kind in ("roles", "clusterroles"):
        for role in admin.expect("GET", ROLES.format(kind))["items"]:
            name = role["metadata"]["name"]
            if name.startswith(ROLE_PREFIX):
                granted |= {(name, right) for rule in role["rules"] for right in _expand(rule)}
    return granted


def read_users(admin: ClusterAccess) -> set[tuple[str, str]]:
    """Return which user is bound to which role of ours, read from the cluster."""
    bound = set()
    for kind in ("rolebindings", "clusterrolebindings"):
        for binding in admin.expect("GET", ROLES.format(kind))["items"]:
            role = binding["roleRef"]["name"]
            if role.startswith(ROLE_PREFIX):
                bound |= {(_format_user(subject), role) for subject in binding["subjects"]}
    return bound


def _format_user(subject: dict[str, str]) -> str:
    if subject["kind"] == "ServiceAccount":
        return f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    return subject["name"]


def _expand(rule: dict[str, list[str]]) -> Iterator[Right]:
    for verb in rule["verbs"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield Right(verb, group, resource)


def _read_entries(log: Path) -> Iterator[dict[str, Any]]:
    with log.open() as lines:
        for line in lines:
            # The apiserver may be writing the last line, or have been killed at one.
            if line.endswith("}\n"):
                yield json.loads(line)


def _read_right(entry: dict[str, Any]) -> Right:
    of = entry.get("objectRef", {})
    resource = "/".join(part for part in (of.get("resource", ""), of.get("subresource", "")) if part)
    return Right(entry["verb"], of.get("apiGroup", ""), resource or entry["requestURI"])
