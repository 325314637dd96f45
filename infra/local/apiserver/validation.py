"""Whether an object is valid: its name, its labels, its annotations.

The rules that every object shares. What is special about Events is in `events`.
"""

import re
from typing import Any

from infra.local.apiserver.failures import Cause
from infra.local.apiserver.resources import Resource

ANNOTATIONS_BYTES_MAX = 256 * 1024
"""Sum of all keys and values of one object's annotations, inclusive. Source: apimachinery objectmeta.go."""

NAME_BYTES_MAX = 253
LABEL_BYTES_MAX = 63

_LABEL_PATTERN = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_QUALIFIED_PATTERN = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL_PATTERN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_PATTERN = rf"{_DNS_LABEL_PATTERN}(\.{_DNS_LABEL_PATTERN})*"
_ALPHANUMERIC = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_LABEL_RULE = (
    f"a valid label must be an empty string or consist of {_ALPHANUMERIC} (e.g. 'MyValue',  or 'my_value',  or"
    f" '12345', regex used for validation is '{_LABEL_PATTERN}')"
)
_QUALIFIED_RULE = (
    f"name part must consist of {_ALPHANUMERIC} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    f" validation is '{_QUALIFIED_PATTERN}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start"
    f" and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_PATTERN}')"
)
_DNS_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end"
    f" with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    f" '{_DNS_LABEL_PATTERN}')"
)


_TEXTS = ("name", "generateName", "namespace", "uid", "resourceVersion")


def find_type_error(new: dict[str, Any]) -> str:
    """Name the first member of the wrong type, in the words of Go's decoder; empty when there is none.

    Looked at are metadata, and that spec and status are objects.
    """
    for member in ("metadata", "spec", "status"):
        value = new.get(member)
        if value is not None and not isinstance(value, dict):
            return f"json: cannot unmarshal {_go_type(value)} into Go struct field .{member}"
    return _find_metadata_error(new["metadata"])


def _find_metadata_error(metadata: dict[str, Any]) -> str:
    for field in _TEXTS:
        if not isinstance(metadata.get(field, ""), str | None):
            found = _go_type(metadata[field])
            return f"json: cannot unmarshal {found} into Go struct field ObjectMeta.metadata.{field} of type string"
    for field in ("labels", "annotations"):
        entries = metadata.get(field)
        if entries is None:
            continue
        values = entries.values() if isinstance(entries, dict) else [entries]
        for value in values:
            if not isinstance(value, str) and not (value is None and isinstance(entries, dict)):
                into = f"Go struct field ObjectMeta.metadata.{field} of type string"
                return f"json: cannot unmarshal {_go_type(value)} into {into}"
    return ""


def tidy_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return metadata as it is stored: a null label or annotation is the empty text, an empty map is no map."""
    tidy = dict(metadata)
    if not tidy.get("finalizers"):
        tidy.pop("finalizers", None)
    for field in ("labels", "annotations"):
        entries = tidy.pop(field, None)
        if entries:
            tidy[field] = {key: "" if value is None else value for key, value in entries.items()}
    return tidy


def list_metadata_causes(resource: Resource, metadata: dict[str, Any]) -> list[Cause]:
    """List what is wrong with the name, the labels and the annotations of an object whose types are right."""
    causes = _list_name_causes(resource, metadata["name"])
    for key, value in (metadata.get("labels") or {}).items():
        causes += [_invalid("metadata.labels", key, why) for why in list_key_problems(key)]
        causes += [_invalid("metadata.labels", value, why) for why in list_label_problems(value)]
    total_bytes = 0
    for key, value in (metadata.get("annotations") or {}).items():
        causes += [_invalid("metadata.annotations", key, why) for why in list_key_problems(key.lower())]
        total_bytes += len(key.encode()) + len(value.encode("utf-8", "replace"))
    if total_bytes > ANNOTATIONS_BYTES_MAX:
        message = f"Too long: may not be more than {ANNOTATIONS_BYTES_MAX} bytes"
        causes.append(Cause("FieldValueTooLong", "metadata.annotations", message))
    return causes


def _list_name_causes(resource: Resource, name: str) -> list[Cause]:
    if resource.name_rule == "path":
        bad = name in (".", "..") or "/" in name or "%" in name
        return [_invalid("metadata.name", name, "may not contain '/' or '%'")] if bad else []
    if resource.name_rule == "label":
        return _list_dns_causes(name, LABEL_BYTES_MAX, _DNS_LABEL_PATTERN, _DNS_LABEL_RULE)
    return _list_dns_causes(name, NAME_BYTES_MAX, _SUBDOMAIN_PATTERN, _SUBDOMAIN_RULE)


def _list_dns_causes(name: str, bytes_max: int, pattern: str, rule: str) -> list[Cause]:
    causes = []
    if len(name.encode()) > bytes_max:
        causes.append(_invalid("metadata.name", name, f"must be no more than {bytes_max} bytes"))
    if not re.fullmatch(pattern, name):
        causes.append(_invalid("metadata.name", name, rule))
    return causes


def list_key_problems(key: str) -> list[str]:
    """List what is wrong with the key of a label, or of an annotation in lower case."""
    prefix, slash, base = key.rpartition("/")
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash and (len(prefix) > NAME_BYTES_MAX or not re.fullmatch(_SUBDOMAIN_PATTERN, prefix)):
        problems.append(f"prefix part {_SUBDOMAIN_RULE}")
    if not base:
        problems.append("name part must be non-empty")
    elif len(base.encode()) > LABEL_BYTES_MAX:
        problems.append(f"name part must be no more than {LABEL_BYTES_MAX} bytes")
    if not re.fullmatch(_QUALIFIED_PATTERN, base):
        problems.append(_QUALIFIED_RULE)
    return problems


def list_label_problems(value: str) -> list[str]:
    """List what is wrong with the value of a label."""
    problems = []
    if len(value.encode("utf-8", "replace")) > LABEL_BYTES_MAX:
        problems.append(f"must be no more than {LABEL_BYTES_MAX} bytes")
    if not re.fullmatch(_LABEL_PATTERN, value):
        problems.append(_LABEL_RULE)
    return problems


def _invalid(field: str, value: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", field, f'Invalid value: "{value}": {why}')


def _go_type(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    names = {int: "number", float: "number", dict: "object", list: "array", str: "string"}
    return names.get(type(value), "null")
