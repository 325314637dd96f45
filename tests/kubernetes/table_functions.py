"""What write_status asks of a Node: what it must be able to do, then what each rule of its policy refuses."""

from tests.kubernetes.requests import (
    KEYS,
    NODES,
    add,
    apply,
    condition,
    create,
    label,
    merge,
    note,
    notes,
    operations,
    output,
    owner,
    pad,
    put_metadata,
    put_notes,
    remove,
    run,
    send,
    start,
    swap,
)
from tests.kubernetes.rows import Who, allowed, refused

WRITER = Who.WRITE_STATUS

IN_PROGRESS = start("in-progress", label="now", run=run("a"))
DONE = start("completed", run=run("a"), output=output("a"))
OWNED = DONE._replace(applied=(("gitops", {"gitops": "x"}, {}),))
APPLIED_STATUS = start(run=run("a"))._replace(applied=(("x", {}, notes(status="in-progress")),))
END = {"status": "completed", "output": output("a")}

ALLOWED = allowed(
    WRITER,
    *(
        (
            f"ends a run as {ending!r}",
            swap("in-progress", add("status", ending), add("output", output("a"))),
            IN_PROGRESS,
        )
        for ending in ("completed", "failed: timeout", "failed: archive-failed")
    ),
    ("ends a run by PUT", put_notes(**END), IN_PROGRESS),
    ("ends a run by server-side apply", apply({"annotations": notes(**END)}, manager="write-status"), IN_PROGRESS),
    ("takes over what was applied to its own keys", note(**END), APPLIED_STATUS),
    *(
        (f"writes the output alone, status {was!r}", note(output=output("b")), start(was, run=run("a")))
        for was in ("completed", "failed: timeout", "collect", "in-progress", "", "another tool's")
    ),
    ("writes an output of 8192 bytes", note(output=pad("", 8192)), DONE),
    ("writes beside what another tool has applied", note(output=output("b")), OWNED),
    ("writes what it read", note(other="keep"), DONE),
    ("patches nothing", operations(), start()),
)

ONLY_UPDATE = "write_status may only update the Node itself, not "
FIXED = "write_status may not change spec, labels, ownerReferences, finalizers or generateName"
MANAGERS = "write_status may not take other managers out of managedFields"
OTHER_KEYS = "write_status may only change the annotations cloud.google.com/gpu-report-{status,output}"
TOO_LONG = "write_status may not write a gpu-report annotation that is too long"
OUTPUT = "write_status may not take gpu-report-output away"
STATUS = "write_status may not change gpu-report-status from "
STATUS_WITHOUT_VALUES = "write_status may not make this change of gpu-report-status"

REFUSED = (
    *refused(
        WRITER,
        ONLY_UPDATE + "UPDATE nodes/status",
        ("writes annotations through nodes/status", merge("/status", metadata={"annotations": notes(output="x")})),
        ("writes a condition", condition()),
    ),
    *refused(WRITER, ONLY_UPDATE + "DELETE nodes/", ("deletes the Node", send("DELETE"))),
    *refused(WRITER, ONLY_UPDATE + "CREATE nodes/", ("creates a Node", create(NODES, {"metadata": {"name": "new"}}))),
    *refused(WRITER, ONLY_UPDATE + "CONNECT nodes/proxy", ("reaches the kubelet", send("GET", "/proxy/pods"))),
    *refused(
        WRITER,
        FIXED,
        ("cordons the Node", merge(spec={"unschedulable": True})),
        ("takes the taints away", merge(spec={"taints": None})),
        ("removes the trigger label", label(trigger=None)),
        ("adds a label", label(x="y")),
        ("asks by a label", label(**{KEYS.status: "collect"})),
        ("takes a finalizer away", merge(metadata={"finalizers": None})),
        ("adds an owner", owner()),
        ("sets generateName", merge(metadata={"generateName": "x"})),
    ),
    *refused(WRITER, MANAGERS, ("PUTs managedFields: []", put_metadata(managedFields=[]), OWNED)),
    *refused(
        WRITER,
        OTHER_KEYS,
        ("changes the run", note(run=run("b")), IN_PROGRESS),
        ("takes the run away", note(run=None), IN_PROGRESS),
        ("adds an annotation", note(x="y")),
        ("changes an annotation by PUT", put_notes(other="z")),
        ("removes an annotation", operations(remove("annotations", "other"))),
    ),
    *refused(
        WRITER,
        TOO_LONG,
        ("writes an output of 8193 bytes", note(output=pad("", 8193)), DONE),
        ("writes an output of 8192 characters in more bytes", note(output=pad("", 8192, "é")), DONE),
        ("writes a status of 81 bytes", note(**END | {"status": pad("failed: ", 81)}), IN_PROGRESS),
    ),
    *refused(
        WRITER,
        OUTPUT,
        ("takes the output away", note(output=None), DONE),
        ("empties the output", note(output=""), DONE),
    ),
)

TRANSITIONS = (
    *(
        row
        for now, froms in (
            ("completed", ("collect", "failed: timeout", "", "another tool's")),
            ("failed: disk", ("collect", "completed", "failed: timeout", "", "another tool's")),
            ("in-progress", ("collect", "completed", "failed: timeout", "", "another tool's")),
            ("collect", ("in-progress", "completed", "failed: timeout", "", "another tool's")),
            ("", ("collect", "in-progress", "completed", "failed: timeout", "another tool's")),
        )
        for was in froms
        for row in refused(
            WRITER,
            f'{STATUS}"{was}" to "{now}"',
            (f"changes {was!r} to {now!r}", note(**END | {"status": now}), start(was, run=run("a"))),
        )
    ),
    *refused(
        WRITER,
        f'{STATUS}"in-progress" to ',
        *(
            (f"writes {now!r}", note(**END | {"status": now}), IN_PROGRESS)
            for now in (
                *("failed", "failed:", "failed: Free text!", "failed: a--b", "xfailed: disk"),
                *("completed ", "xcompleted"),
            )
        ),
        ("takes the status away", note(status=None), IN_PROGRESS),
        ("ends a run without an output", note(status="completed"), IN_PROGRESS),
        ("ends a run with another run's output", note(**END | {"output": output("b")}), IN_PROGRESS),
        ("ends a run that the Node does not name", note(**END), start("in-progress")),
        (
            "ends a run with the output of the run before",
            note(status="completed"),
            start("in-progress", run=run("b"), output=output("a")),
        ),
    ),
    *refused(
        WRITER, STATUS_WITHOUT_VALUES, ("writes a line break", note(**END | {"status": "completed\n"}), IN_PROGRESS)
    ),
)

TABLE = ALLOWED + REFUSED + TRANSITIONS
