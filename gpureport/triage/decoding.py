"""How bytes of the Kubernetes API become the objects of triage, and what is said when they don't.

A page is decoded in one go; only a page with an odd object in it is gone through object by object, so that one bad
object costs itself and not the answer. Where the bytes come from is not this file's business.
"""

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

import msgspec

from gpureport.triage.objects import DeviceClass, Node, Pod

T = TypeVar("T")

MESSAGE_CHARS_MAX = 200
"""Foreign text in an error is cut here: enough for a path into the object, too little to flood a terminal."""


class NotObjects(ValueError):
    """The bytes are not JSON, not whole, or hold another kind than Nodes and Pods."""


class Unreadable(NamedTuple):
    """One object that could not be read: where it stands, and which field is at fault."""

    where: str
    message: str


class Page(NamedTuple, Generic[T]):
    """The objects of one page, and those of it that could not be read."""

    items: list[T]
    unreadable: list[Unreadable]


class Objects(NamedTuple):
    """What a saved dump holds; `has_nodes` and `has_pods` say which kinds it is a list of, even if there are none."""

    nodes: list[Node]
    pods: list[Pod]
    device_classes: list[DeviceClass]
    unreadable: list[Unreadable]
    has_nodes: bool
    has_pods: bool


class _NodeList(msgspec.Struct, gc=False):
    items: list[Node] = []


class _PodList(msgspec.Struct, gc=False):
    items: list[Pod] = []


class _RawList(msgspec.Struct, gc=False):
    kind: str = ""
    items: list[msgspec.Raw] | None = None


class _Kind(msgspec.Struct, gc=False):
    kind: str = ""


_NODES = msgspec.json.Decoder(_NodeList)
_PODS = msgspec.json.Decoder(_PodList)
_POD = msgspec.json.Decoder(Pod)
_RAW_LIST = msgspec.json.Decoder(_RawList)
_KIND = msgspec.json.Decoder(_Kind)


def decode_nodes(data: bytes) -> Page[Node]:
    """Decode one page of a LIST of Nodes; `NotObjects` when it is not JSON."""
    try:
        return Page(_NODES.decode(data).items, [])
    except msgspec.ValidationError:
        return _decode_each(_raw_items(data), Node)
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotObjects(_cut(error)) from error


def decode_pods(data: bytes) -> Page[Pod]:
    """Decode one page of a LIST of Pods; `NotObjects` when it is not JSON."""
    try:
        return Page(_PODS.decode(data).items, [])
    except msgspec.ValidationError:
        return _decode_each(_raw_items(data), Pod)
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotObjects(_cut(error)) from error


def decode_pod(data: bytes) -> Pod:
    """Decode one Pod; `NotObjects` says which field is at fault."""
    try:
        return _decode_one(data, Pod)
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotObjects(_cut(error)) from error


def decode_objects(data: bytes) -> Objects:
    """Decode what `kubectl get nodes,pods -A -o json` printed.

    That is a List of mixed kinds; a NodeList, a PodList and a single object are taken too.
    `NotObjects` when the bytes are not JSON, are cut off, or hold neither Nodes nor Pods.
    """
    try:
        envelope = _RAW_LIST.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotObjects(f"not a whole JSON object ({_cut(error)})") from error
    if envelope.items is None and not envelope.kind.endswith("List"):
        return _sort_items([msgspec.Raw(data)], "")
    item_kind = envelope.kind.removesuffix("List")
    found = _sort_items(envelope.items or [], item_kind)
    # kubectl calls a list of several kinds plainly List: of a kind that is missing there, the cluster has none.
    is_mixed = not item_kind and bool(envelope.items)
    return found._replace(
        has_nodes=found.has_nodes or item_kind == "Node" or is_mixed,
        has_pods=found.has_pods or item_kind == "Pod" or is_mixed,
    )


def _sort_items(items: Iterable[msgspec.Raw], default_kind: str) -> Objects:
    """Sort by kind: items of a typed list need not name theirs. Kinds that triage does not read are left out."""
    by_kind: dict[str, list[msgspec.Raw]] = {}
    for raw in items:
        try:
            kind = _KIND.decode(raw).kind or default_kind
        except msgspec.DecodeError:
            kind = default_kind
        by_kind.setdefault(kind, []).append(raw)
    if by_kind and not by_kind.keys() & {"Node", "Pod", "DeviceClass"}:
        kinds = ", ".join(sorted(kind or "objects without a kind" for kind in by_kind))
        raise NotObjects(f"it holds neither Nodes nor Pods but {kinds[:MESSAGE_CHARS_MAX]}")
    nodes = _decode_each(by_kind.get("Node", []), Node)
    pods = _decode_each(by_kind.get("Pod", []), Pod)
    classes = _decode_each(by_kind.get("DeviceClass", []), DeviceClass)
    unreadable = nodes.unreadable + pods.unreadable + classes.unreadable
    return Objects(nodes.items, pods.items, classes.items, unreadable, "Node" in by_kind, "Pod" in by_kind)


def _raw_items(data: bytes) -> list[msgspec.Raw]:
    try:
        return _RAW_LIST.decode(data).items or []
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotObjects(_cut(error)) from error


def _decode_each(items: Iterable[msgspec.Raw], kind: type[T]) -> Page[T]:
    page: Page[T] = Page([], [])
    decoder = msgspec.json.Decoder(kind)
    for position, raw in enumerate(items):
        try:
            page.items.append(decoder.decode(raw))
        except msgspec.ValidationError:
            _decode_leniently(raw, kind, position, page)
        except RecursionError:
            page.unreadable.append(Unreadable(f"{kind.__name__} {position}", "nested too deeply"))
    return page


def _decode_leniently(raw: msgspec.Raw, kind: type[T], position: int, page: Page[T]) -> None:
    try:
        page.items.append(_decode_one(raw, kind))
    except (msgspec.DecodeError, RecursionError) as error:
        page.unreadable.append(Unreadable(_name_of(raw, kind, position), _cut(error)))


def _decode_one(data: bytes | msgspec.Raw, kind: type[T]) -> T:
    """Decode, a null counting as absent: the API leaves out what is unset, people and templates write null."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        # Through JSON again, since fields kept as raw text exist in JSON only.
        return msgspec.json.decode(msgspec.json.encode(_without_nulls(msgspec.json.decode(data))), type=kind)


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def _name_of(raw: msgspec.Raw, kind: type[object], position: int) -> str:
    value = msgspec.json.decode(raw)
    metadata = value.get("metadata") if isinstance(value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{kind.__name__} {str(name)[:MESSAGE_CHARS_MAX]}" if name else f"{kind.__name__} {position}"


def _cut(error: Exception) -> str:
    return str(error)[:MESSAGE_CHARS_MAX]
