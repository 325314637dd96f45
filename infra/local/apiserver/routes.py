"""What a request speaks of: which resource, which namespace, which object, which subresource.

Parsing of the path and the query; nothing is looked up.
"""

from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from infra.local.apiserver.failures import build_bad_request, build_no_page, build_unknown_path
from infra.local.apiserver.resources import Resource, find_resource, is_served


class Target(NamedTuple):
    """What a request speaks of; `name` is empty for a collection, `namespace` is None for all of them."""

    resource: Resource
    namespace: str | None
    name: str
    subresource: str
    query: dict[str, str]

    @property
    def key(self) -> tuple[str, str]:
        """The key of the object in the store."""
        return (self.namespace or "", self.name)

    @property
    def is_watch(self) -> bool:
        """Tell whether the request is a watch; any value but false and 0 counts, and only on a collection."""
        return not self.name and self.query.get("watch", "false").lower() not in ("false", "0")

    def asks(self, parameter: str) -> bool:
        """Tell whether a yes-or-no parameter of the query says yes."""
        return self.query.get(parameter, "false").lower() not in ("false", "0")


def parse_query(url: str) -> dict[str, str]:
    """Parse the query of a URL; the first of several equal parameters counts."""
    query: dict[str, str] = {}
    for name, value in parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=100):
        query.setdefault(name, value)
    return query


def parse_target(url: str) -> Target:
    """Parse the URL of a request for objects; raises 404 when no such resource is served.

    An escaped slash parts the path like any other: a name can't have one.
    """
    parts = unquote(urlsplit(url).path).strip("/").split("/")
    match parts:
        case ["api", "v1", *rest]:
            group_version = "v1"
        case ["apis", group, version, *rest] if is_served(f"{group}/{version}"):
            group_version = f"{group}/{version}"
        case ["api", *_]:
            raise build_unknown_path()
        case _:
            raise build_no_page()
    query = parse_query(url)
    by_path = rest[:1] == ["watch"]
    if by_path:
        rest = rest[1:]
        query["watch"] = "true"
    namespace: str | None = None
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] != "status":
        namespace, rest = rest[1], rest[2:]
    target = _build_target(group_version, namespace, rest, query)
    if by_path and target.name:
        return target._replace(name="", query={**query, "fieldSelector": f"metadata.name={target.name}"})
    return target


def _build_target(group_version: str, namespace: str | None, rest: list[str], query: dict[str, str]) -> Target:
    if not 1 <= len(rest) <= 3:
        raise build_unknown_path()
    plural, name, subresource = (*rest, "", "")[:3]
    resource = find_resource(group_version, plural)
    if resource is None or (subresource and subresource not in resource.subresources):
        raise build_unknown_path()
    if not resource.namespaced and namespace is not None:
        raise build_unknown_path()
    if resource.namespaced and name and namespace is None:
        raise build_unknown_path()
    return Target(resource, namespace, name, subresource, query)


def parse_version(text: str) -> int:
    """Parse a resourceVersion, 0 when absent; raises `ValueError` in the words of Go when it is no number."""
    if not text:
        return 0
    if text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    raise ValueError(f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax')


def parse_whole_number(query: dict[str, str], parameter: str) -> int:
    """Parse a whole number of the query, 0 when absent; raises 400."""
    text = query.get(parameter, "")
    digits = text.removeprefix("-")
    if not text:
        return 0
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise build_bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)
