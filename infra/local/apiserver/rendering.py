"""How a stored object, or a list of them, looks on the wire.

Bytes are put together from the encoded objects, so that a list of thousands costs no second encoding.
"""

from typing import Any

from infra.local.apiserver.events import NEW_API, format_new_event
from infra.local.apiserver.resources import Resource
from infra.local.apiserver.store import Stored, encode


def render_object(resource: Resource, stored: Stored) -> bytes:
    """Render one object with its kind and apiVersion."""
    body = _render_bare(resource, stored)
    return b'{"kind":"%s","apiVersion":"%s",%s' % (resource.kind.encode(), resource.group_version.encode(), body[1:])


def render_list(resource: Resource, metadata: dict[str, Any], items: list[Stored]) -> bytes:
    """Render a list; its items go without kind and apiVersion, as kube-apiserver sends them."""
    return b'{"kind":"%sList","apiVersion":"%s","metadata":%s,"items":[%s]}' % (
        resource.kind.encode(),
        resource.group_version.encode(),
        encode(metadata),
        b",".join(_render_bare(resource, stored) for stored in items),
    )


def render_watch_event(event: str, rendered: bytes) -> bytes:
    """Render one line of a watch."""
    return b'{"type":"%s","object":%s}\n' % (event.encode(), rendered)


def build_document(resource: Resource, stored: Stored) -> dict[str, Any]:
    """Build the document that a patch is applied to: the object in the form of the API asked, with its kind."""
    found = stored.object
    shown = format_new_event(found) if resource.group_version == NEW_API else found
    return {"kind": resource.kind, "apiVersion": resource.group_version, **shown}


def _render_bare(resource: Resource, stored: Stored) -> bytes:
    if resource.group_version == NEW_API:
        return encode(format_new_event(stored.object))
    return stored.encoded
