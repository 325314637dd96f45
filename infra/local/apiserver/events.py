"""The two Event APIs: how each shows one stored Event, and when an Event is valid.

Events are stored in the form of the core API; the form of events.k8s.io is made from it.
"""

import re
from typing import Any

from infra.local.apiserver.failures import Cause

NEW_API = "events.k8s.io/v1"
MESSAGE_BYTES_MAX = 1024
FIELD_BYTES_MAX = 128
CLUSTER_NAMESPACES = ("default", "kube-system")
"""Where Events about objects without a namespace may stand. Source: kube-apiserver 1.36, measured."""

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


def parse_new_event(event: dict[str, Any]) -> dict[str, Any]:
    """Turn the form of events.k8s.io/v1 into the stored form."""
    return _rename(event, dict(_NAMES))


def format_new_event(stored: dict[str, Any]) -> dict[str, Any]:
    """Turn the stored form into the form of events.k8s.io/v1."""
    return _rename(stored, {core: new for new, core in _NAMES})


def find_time_error(event: dict[str, Any]) -> str:
    """Say what Go's decoder says of an eventTime without exactly six decimals; empty when there is nothing to say."""
    value = event.get("eventTime")
    if value is None or (isinstance(value, str) and _MICRO_TIME.fullmatch(value)):
        return ""
    return f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'


def list_event_causes(event: dict[str, Any], group_version: str, created: bool) -> list[Cause]:
    """List what is wrong with an Event in stored form; only with an eventTime, or in the new API, much is required."""
    namespace = event["metadata"].get("namespace", "")
    involved = (event.get("involvedObject") or {}).get("namespace") or ""
    strict = bool(event.get("eventTime")) or group_version == NEW_API
    allowed = CLUSTER_NAMESPACES if strict else ("default",)
    causes = []
    if involved != namespace and not (involved == "" and namespace in allowed):
        message = f'Invalid value: "{involved}": does not match event.namespace'
        causes.append(Cause("FieldValueInvalid", "involvedObject.namespace", message))
    if strict:
        causes += _list_strict_causes(event)
    if group_version == NEW_API and created:
        causes += _list_new_api_causes(event)
    return causes


def _list_strict_causes(event: dict[str, Any]) -> list[Cause]:
    causes = []
    if not event.get("eventTime"):
        causes.append(Cause("FieldValueRequired", "eventTime", "Required value"))
    if not event.get("reportingComponent"):
        causes.append(Cause("FieldValueRequired", "reportingController", "Required value"))
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
    if event.get("type") not in ("Normal", "Warning"):
        causes.append(Cause("FieldValueInvalid", "type", 'Invalid value: "": has invalid value: '))
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(field):
            causes.append(Cause("FieldValueInvalid", field, 'Invalid value: "": needs to be unset'))
    return causes


def _too_long(field: str, bytes_max: int) -> Cause:
    return Cause("FieldValueInvalid", field, f'Invalid value: "": can have at most {bytes_max} characters')


def _rename(event: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in event.items()}
