"""The two Event APIs: how each shows one stored Event, and when an Event is valid.

Events are stored in the form of the core API; the form of events.k8s.io is made from it.
"""

import re
from datetime import UTC, datetime
from typing import Any

from infra.local.apiserver.failures import Cause
from infra.local.apiserver.validation import list_key_problems

NEW_API = "events.k8s.io/v1"
MESSAGE_BYTES_MAX = 1024
FIELD_BYTES_MAX = 128
CLUSTER_NAMESPACES = ("default", "kube-system")
"""Where Events about objects without a namespace may stand. Source: kube-apiserver 1.36, measured."""

SERIES_COUNT_MIN = 2

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_NAMES = (
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
)
_TIMES = ("firstTimestamp", "lastTimestamp", "deprecatedFirstTimestamp", "deprecatedLastTimestamp")
_OBJECTS = ("involvedObject", "regarding", "related", "source", "deprecatedSource", "series")
_WHO = ("reportingComponent", "reportingController", "reportingInstance")
_TEXTS = ("reason", "message", "note", "type", "action", "eventTime", *_WHO, *_TIMES)
_GO_TYPES: dict[str, tuple[type, str]] = {
    **dict.fromkeys(_OBJECTS, (dict, "object")),
    **dict.fromkeys(_TEXTS, (str, "string")),
    **dict.fromkeys(("count", "deprecatedCount"), (int, "int32")),
}
_IMMUTABLE = (
    *("involvedObject", "related", "reason", "message", "type", "action", "reportingComponent", "reportingInstance"),
    *("eventTime", "firstTimestamp", "lastTimestamp", "count", "source"),
)


def parse_new_event(event: dict[str, Any]) -> dict[str, Any]:
    """Turn the form of events.k8s.io/v1 into the stored form."""
    return _rename(event, dict(_NAMES))


def format_new_event(stored: dict[str, Any]) -> dict[str, Any]:
    """Turn the stored form into the form of events.k8s.io/v1."""
    return _rename(stored, {core: new for new, core in _NAMES})


def find_event_type_error(event: dict[str, Any]) -> str:
    """Say what Go's decoder says of a member of the wrong type, or of an instant; empty when there is nothing to say.

    The Event is in the form of either API. An eventTime has exactly six decimals, the others any RFC 3339 with a zone.
    """
    for name, value in event.items():
        wanted = _GO_TYPES.get(name)
        if value is not None and wanted is not None and (isinstance(value, bool) or not isinstance(value, wanted[0])):
            return f"json: cannot unmarshal into Go struct field Event.{name} of type {wanted[1]}"
    micro = event.get("eventTime")
    if micro is not None and not _MICRO_TIME.fullmatch(micro):
        return f'parsing time "{micro}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'
    for name in _TIMES:
        instant = event.get(name)
        if instant is not None and not _TIME.fullmatch(instant):
            return f'parsing time "{instant}" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"'
    return ""


def tidy_event_times(event: dict[str, Any]) -> dict[str, Any]:
    """Return an Event as it is stored: instants that are not to the microsecond are in UTC, without decimals."""
    return {
        name: _cut_decimals(value) if name in _TIMES and value is not None else value for name, value in event.items()
    }


def list_event_causes(event: dict[str, Any], group_version: str, current: dict[str, Any] | None) -> list[Cause]:
    """List what is wrong with an Event in stored form that takes the place of `current`, None for a new one.

    With an eventTime much is required; in the new API an eventTime is, and only `series` can change.
    """
    causes = _list_strict_causes(event, group_version) if event.get("eventTime") else _list_namespace_causes(event)
    if group_version != NEW_API:
        return causes
    if current is None:
        causes += _list_new_api_causes(event)
    else:
        causes += [
            Cause("FieldValueInvalid", field, f'Invalid value: "{event.get(field)}": field is immutable')
            for field in _IMMUTABLE
            if (event.get(field) or None) != (current.get(field) or None)
        ]
    if event.get("series") and int(event["series"].get("count") or 0) < SERIES_COUNT_MIN:
        causes.append(Cause("FieldValueInvalid", "series.count", 'Invalid value: "": should be at least 2'))
    return causes


def _list_namespace_causes(event: dict[str, Any], may_differ: bool = False) -> list[Cause]:
    namespace = event["metadata"].get("namespace", "")
    involved = (event.get("involvedObject") or {}).get("namespace") or ""
    of_cluster = involved == "" and namespace in (CLUSTER_NAMESPACES if may_differ else ("default",))
    if involved == namespace or of_cluster or (involved and may_differ):
        return []
    message = f'Invalid value: "{involved}": does not match event.namespace'
    return [Cause("FieldValueInvalid", "involvedObject.namespace", message)]


def _list_strict_causes(event: dict[str, Any], group_version: str) -> list[Cause]:
    causes = _list_namespace_causes(event, may_differ=True)
    controller = event.get("reportingComponent") or ""
    shown = "reportingController" if group_version == NEW_API else "reportingComponent"
    if not controller:
        causes.append(Cause("FieldValueRequired", shown, "Required value"))
    causes += [
        Cause("FieldValueInvalid", shown, f'Invalid value: "{controller}": {problem}')
        for problem in list_key_problems(controller)
    ]
    for field in ("reportingInstance", "action", "reason"):
        value = event.get(field) or ""
        if not value:
            causes.append(Cause("FieldValueRequired", field, "Required value"))
        elif len(value.encode()) > FIELD_BYTES_MAX:
            causes.append(_too_long(field, FIELD_BYTES_MAX))
    if len((event.get("message") or "").encode()) > MESSAGE_BYTES_MAX:
        causes.append(_too_long("message", MESSAGE_BYTES_MAX))
    return causes


def _list_new_api_causes(event: dict[str, Any]) -> list[Cause]:
    causes = []
    if not event.get("eventTime"):
        causes.append(Cause("FieldValueRequired", "eventTime", "Required value"))
    if event.get("type") not in ("Normal", "Warning"):
        causes.append(Cause("FieldValueInvalid", "type", 'Invalid value: "": has invalid value: '))
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(field):
            causes.append(Cause("FieldValueInvalid", field, 'Invalid value: "": needs to be unset'))
    if str(event["metadata"].get("generateName", "")).endswith("."):
        causes.append(Cause("FieldValueInvalid", "metadata.generateName", "Invalid value: a name can't end in a dot"))
    return causes


def _cut_decimals(instant: str) -> str:
    return datetime.fromisoformat(instant).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _too_long(field: str, bytes_max: int) -> Cause:
    return Cause("FieldValueInvalid", field, f'Invalid value: "": can have at most {bytes_max} characters')


def _rename(event: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in event.items()}
