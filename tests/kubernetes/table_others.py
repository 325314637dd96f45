"""Whoever is neither an agent nor write_status is untouched by their policies."""

from tests.kubernetes.requests import (
    KEYS,
    condition,
    event,
    label,
    merge,
    note,
    notes,
    operations,
    pad,
    put_notes,
    run,
    send,
    start,
)
from tests.kubernetes.rows import Who, allowed

OTHERS = (Who.ADMIN, Who.KUBELET)
OURS = {"annotations": notes(status="x"), "labels": {KEYS.disable: "true"}}

NODES = (
    ("asks by the status", note(status="collect"), start("completed")),
    ("asks by the label", label(trigger="now"), start()),
    ("writes our annotations at will", note(status="in-progress", run=pad("", 9000), output=""), start("completed")),
    ("takes every annotation away", operations(("replace", "/metadata/annotations", {})), start(run=run("a"))),
    ("writes annotations by PUT", put_notes(status="whatever", other="z"), start("in-progress")),
    ("cordons the Node", merge(spec={"unschedulable": True})),
    ("takes the taints away", merge(spec={"taints": None})),
    ("writes conditions", condition()),
    ("writes our keys through nodes/status", merge("/status", metadata=OURS)),
    ("deletes the Node, as a dry run", send("DELETE", "?dryRun=All")),
)
ABOUT_ANOTHER = event(about="gpu-2", source={"component": "kubelet"}, message=pad("", 2000))

TABLE = (
    *(row for who in OTHERS for row in allowed(who, *NODES)),
    *(row for who in OTHERS for row in allowed(who, ("creates an Event about another Node", ABOUT_ANOTHER), want=201)),
)
