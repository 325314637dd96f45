"""What each verb does: read, create, replace, patch, delete, issue a token.

The meeting point of the decisions (`writes`, `lists`) and the store; HTTP is the server's part.
"""

import json
import uuid
from datetime import UTC, datetime
from typing import Any, NamedTuple

from infra.local.apiserver.deletion import build_deleting, check_preconditions, is_released, parse_delete_options
from infra.local.apiserver.failures import (
    Cause,
    build_already_exists,
    build_bad_request,
    build_future_version,
    build_internal,
    build_invalid,
    build_not_found,
    build_unsupported_media_type,
)
from infra.local.apiserver.json_patch import apply_json_patch
from infra.local.apiserver.lists import Lists
from infra.local.apiserver.merge_patch import apply_merge_patch, apply_strategic_patch
from infra.local.apiserver.rendering import build_document, render_object
from infra.local.apiserver.resources import find_resource
from infra.local.apiserver.routes import Target, parse_version
from infra.local.apiserver.store import Key, Store, Stored, encode
from infra.local.apiserver.tokens import Tokens
from infra.local.apiserver.writes import build_created, build_updated

TOKEN_LIFETIME_S_DEFAULT = 3600
TOKEN_LIFETIME_S_MIN = 600
"""Shortest lifetime of an issued token. Source: TokenRequest validation of kube-apiserver."""

SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
MANAGER_BYTES_MAX = 128


class Answer(NamedTuple):
    """A successful answer."""

    code: int
    body: bytes


class Operations:
    """The verbs of the API over one store."""

    def __init__(self, store: Store, tokens: Tokens) -> None:
        self.store = store
        self.lists = Lists(store)
        self._tokens = tokens
        for name in SYSTEM_NAMESPACES:
            self.seed("v1", {"kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}})

    def seed(self, group_version: str, document: dict[str, Any]) -> None:
        """Store a document as it is, its status too, as `kubectl get -o json` printed it; unknown kinds raise."""
        kind = document["kind"]
        resource = find_resource(group_version, f"{kind.lower()}s")
        if resource is None:
            raise ValueError(f"no such kind is served: {group_version} {kind}")
        metadata = {"uid": str(uuid.uuid4()), "creationTimestamp": _format_now(), **document["metadata"]}
        if resource.namespaced:
            metadata.setdefault("namespace", "default")
        new = {name: value for name, value in document.items() if name not in ("kind", "apiVersion")}
        self.store.write(
            resource.storage, (metadata.get("namespace", ""), metadata["name"]), {**new, "metadata": metadata}
        )

    def read(self, target: Target) -> Answer:
        """Answer GET of one object."""
        try:
            asked = parse_version(target.query.get("resourceVersion", ""))
        except ValueError as error:
            raise build_internal(str(error)) from error
        if asked > self.store.version:
            raise build_future_version(asked, self.store.version)
        return Answer(200, render_object(target.resource, self._find(target)))

    def create(self, target: Target, body: object) -> Answer:
        """Answer POST to a collection."""
        dry_run = _parse_dry_run(target)
        new = build_created(target, body, str(uuid.uuid4()), _format_now(), uuid.uuid4().hex[:5])
        name = new["metadata"]["name"]
        key: Key = (target.namespace or "", name)
        with self.store.changed:
            if target.namespace and self.store.read("namespaces", ("", target.namespace)) is None:
                raise build_not_found("namespaces", target.namespace)
            if self.store.read(target.resource.storage, key):
                raise build_already_exists(target.resource.full_name, name)
            stored = Stored(new) if dry_run else self.store.write(target.resource.storage, key, new)
        return Answer(201, render_object(target.resource, stored))

    def replace(self, target: Target, body: object) -> Answer:
        """Answer PUT."""
        with self.store.changed:
            current = self._find(target)
            return self._update(target, current, build_updated(target, current.object, body, by_patch=False))

    def patch(self, target: Target, body: object, content_type: str) -> Answer:
        """Answer PATCH, by its content type."""
        with self.store.changed:
            current = self._find(target)
            document = build_document(target.resource, current)
            proposed: object
            match content_type:
                case "application/json-patch+json":
                    proposed = apply_json_patch(document, body)
                case "application/merge-patch+json":
                    proposed = apply_merge_patch(document, _require_object(body))
                case "application/strategic-merge-patch+json":
                    proposed = apply_strategic_patch(document, _require_object(body))
                case _:
                    raise build_unsupported_media_type()
            return self._update(target, current, build_updated(target, current.object, proposed, by_patch=True))

    def delete(self, target: Target, body: object) -> Answer:
        """Answer DELETE: without finalizers the object is gone at once, no kubelet being there to wait for."""
        options = parse_delete_options(body)
        dry_run = _parse_dry_run(target) if options is None else bool(options.get("dryRun"))
        with self.store.changed:
            current = self._find(target)
            check_preconditions(target.resource, target.name, options, current.object)
            held = build_deleting(current.object, _format_now())
            if held is not None:
                return Answer(200, render_object(target.resource, self._write(target, current, held, dry_run)))
            if not dry_run:
                self.store.delete(target.resource.storage, target.key)
        if target.resource.plural == "pods":
            return Answer(200, render_object(target.resource, current))
        group, _, _ = target.resource.group_version.rpartition("/")
        details = {"name": target.name, "kind": target.resource.plural, "uid": current.object["metadata"]["uid"]}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return Answer(200, encode({**status, "details": {**details, **({"group": group} if group else {})}}))

    def issue_token(self, target: Target, body: object) -> Answer:
        """Answer POST to serviceaccounts/NAME/token."""
        self._find(target)
        request = _require_object(body)
        spec = dict(request.get("spec") or {})
        lifetime_s = spec.setdefault("expirationSeconds", TOKEN_LIFETIME_S_DEFAULT)
        if not isinstance(lifetime_s, int) or lifetime_s < TOKEN_LIFETIME_S_MIN:
            message = f"Invalid value: {lifetime_s}: may not specify a duration less than 10 minutes"
            cause = Cause("FieldValueInvalid", "spec.expirationSeconds", message)
            raise build_invalid("TokenRequest.authentication.k8s.io", "", [cause])
        user = f"system:serviceaccount:{target.namespace}:{target.name}"
        token, expires_at = self._tokens.issue(user, lifetime_s)
        expiration = _format_instant(datetime.fromtimestamp(expires_at, UTC))
        return Answer(
            201,
            encode(
                {
                    "kind": "TokenRequest",
                    "apiVersion": "authentication.k8s.io/v1",
                    "metadata": {
                        "name": target.name,
                        "namespace": target.namespace,
                        "creationTimestamp": _format_now(),
                    },
                    "spec": spec,
                    "status": {"token": token, "expirationTimestamp": expiration},
                }
            ),
        )

    def _find(self, target: Target) -> Stored:
        stored = self.store.read(target.resource.storage, target.key)
        if stored is None:
            raise build_not_found(target.resource.full_name, target.name)
        return stored

    def _update(self, target: Target, current: Stored, new: dict[str, Any]) -> Answer:
        """Store an update, or delete what was only waiting for it."""
        stored = self._write(target, current, new, _parse_dry_run(target))
        return Answer(200, render_object(target.resource, stored))

    def _write(self, target: Target, current: Stored, new: dict[str, Any], dry_run: bool) -> Stored:
        """Store a new version; one that changes nothing keeps its resourceVersion and is seen by no watch."""
        if new == current.object:
            return current
        if dry_run:
            return Stored(new)
        if is_released(new):
            return self.store.delete(target.resource.storage, target.key)
        return self.store.write(target.resource.storage, target.key, new)


def parse_body(raw: bytes, content_type: str) -> object:
    """Decode a request body; an empty one is None. Raises 400 in the words of kube-apiserver, 415 for protobuf."""
    if not raw and "patch+json" not in content_type:
        return None
    if content_type == "application/vnd.kubernetes.protobuf":
        raise build_unsupported_media_type("only application/json is served here, not protobuf")
    what = "error decoding patch: " if "patch+json" in content_type else ""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        cut = isinstance(error, json.JSONDecodeError) and error.pos >= len(raw.decode("utf-8", "replace").rstrip())
        detail = "unexpected end of JSON input" if cut else f"invalid JSON: {str(error)[:100]}"
        raise build_bad_request(f"{what}{detail}") from error


def _require_object(body: object) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise build_bad_request(
            "error decoding patch: json: cannot unmarshal value into Go value of type map[string]any"
        )
    return body


def _parse_dry_run(target: Target) -> bool:
    """Tell whether nothing is to be stored; checks the options that every write shares."""
    causes = []
    dry_run = target.query.get("dryRun", "")
    if dry_run not in ("", "All"):
        message = f'Unsupported value: ["{dry_run}"]: supported values: "All"'
        causes.append(Cause("FieldValueNotSupported", "dryRun", message))
    if len(target.query.get("fieldManager", "").encode()) > MANAGER_BYTES_MAX:
        message = f"Too long: may not be more than {MANAGER_BYTES_MAX} bytes"
        causes.append(Cause("FieldValueTooLong", "fieldManager", message))
    if causes:
        raise build_invalid("PatchOptions.meta.k8s.io", "", causes)
    return dry_run == "All"


def _format_now() -> str:
    return _format_instant(datetime.now(UTC))


def _format_instant(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
