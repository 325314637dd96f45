"""What an RFC 6902 patch makes of a document, the way kube-apiserver applies it.

kube-apiserver links evanphx/json-patch v4, which departs from the RFC: a missing member equals null in `test`, and
`replace` adds a missing member. Both are used (`test` of null says "must be absent"). Everything that does not apply
is one error without a cause.
"""

import copy
from typing import Any

from infra.local.apiserver.failures import build_bad_request, build_patch_rejected, build_too_large

OPERATIONS_MAX = 10_000
"""Operations in one patch. Source: kube-apiserver 1.36, measured."""

Container = dict[str, Any] | list[Any]


def apply_json_patch(document: dict[str, Any], operations: object) -> dict[str, Any]:
    """Return a patched copy of the document.

    Raises `Failure`: 400 when the patch is no list of objects, 413 over `OPERATIONS_MAX`, 422 when it does not apply.
    """
    result = copy.deepcopy(document)
    for operation in _parse_operations(operations):
        _apply(result, operation)
    return result


def escape_pointer(key: str) -> str:
    """Escape one key for use in a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _parse_operations(operations: object) -> list[dict[str, Any]]:
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise build_bad_request(_decode_error(operations, "[]handlers.jsonPatchOp"))
    if len(operations) > OPERATIONS_MAX:
        limit = f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {len(operations)}"
        raise build_too_large(limit)
    for operation in operations:
        if not isinstance(operation, dict | None):
            raise build_bad_request(_decode_error(operation, "handlers.jsonPatchOp"))
        for member in ("op", "path", "from"):
            value = (operation or {}).get(member)
            if not isinstance(value, str | None):
                raise build_bad_request(_decode_error(value, "string", f"Go struct field jsonPatchOp.{member} of type"))
    return [operation or {} for operation in operations]


def _decode_error(value: object, wanted: str, into: str = "Go value of type") -> str:
    names = {dict: "object", list: "array", str: "string", bool: "bool"}
    found = names.get(type(value), "number")
    return f"error decoding patch: json: cannot unmarshal {found} into {into} {wanted}"


def _apply(document: dict[str, Any], operation: dict[str, Any]) -> None:
    container, key = _find(document, operation.get("path"))
    value = copy.deepcopy(operation.get("value"))
    match operation.get("op"):
        case "test":
            if not _equal(_get(container, key), value):
                raise build_patch_rejected()
        case "add":
            _add(container, key, value)
        case "replace":
            _replace(container, key, value)
        case "remove":
            _remove(container, key)
        case "move":
            source, source_key = _find(document, operation.get("from"))
            moved = _get(source, source_key)
            _remove(source, source_key)
            _add(*_find(document, operation["path"]), moved)
        case "copy":
            source, source_key = _find(document, operation.get("from"))
            _add(container, key, copy.deepcopy(_get(source, source_key)))
        case _:
            raise build_patch_rejected()


def _find(document: dict[str, Any], pointer: object) -> tuple[Container, str]:
    """Find the container that holds the last key of the pointer; the document itself has no container."""
    if not isinstance(pointer, str) or "/" not in pointer:
        raise build_patch_rejected()
    *parents, key = (token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])
    container: Container = document
    for parent in parents:
        found = _get(container, parent)
        if not isinstance(found, dict | list):
            raise build_patch_rejected()
        container = found
    return container, key


def _equal(left: object, right: object) -> bool:
    """Compare as JSON: true is not 1, and an absent member is null."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_equal(one, other) for one, other in zip(left, right, strict=True))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _get(container: Container, key: str) -> object:
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container))]


def _add(container: Container, key: str, value: object) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1), value)


def _replace(container: Container, key: str, value: object) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        container[_index(key, len(container))] = value


def _remove(container: Container, key: str) -> None:
    if isinstance(container, list):
        del container[_index(key, len(container))]
    elif key in container:
        del container[key]
    else:
        raise build_patch_rejected()


def _index(token: str, length: int) -> int:
    """Parse a list index below `length`; a negative one counts from the end, as the library allows."""
    digits = token.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise build_patch_rejected()
    index = int(token)
    if not -length <= index < length:
        raise build_patch_rejected()
    return index % length
