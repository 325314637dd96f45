"""What an agent asks of a Node and must be able to do; what each rule of its policy refuses stands beside it."""

from tests.kubernetes.requests import (
    KEYS,
    STRATEGIC,
    Start,
    add,
    apply,
    label,
    merge,
    note,
    notes,
    operations,
    output,
    pad,
    put,
    put_notes,
    remove,
    run,
    start,
    swap,
)
from tests.kubernetes.rows import Who, allowed

AGENT = Who.AGENT

IN_PROGRESS = start("in-progress", label="now", run=run("a"))
ASKED = start("collect", run=run("a"), output=output("a"))
LABELLED = start(label="now")
DONE = start("completed", run=run("a"), output=output("a"))

CLAIM = {"status": "in-progress", "run": run("b")}
EVIDENCE = run("a", result=True)
FAILURE = {"status": "failed: timeout", "run": EVIDENCE, "output": output("a")}
REFUSAL = {"status": "failed: disabled", "run": run("b", result=True), "output": output("b")}

OWNED = ASKED._replace(applied=(("gitops", {"gitops": "x"}, {}),))
APPLIED_KEYS = start()._replace(applied=(("x", {}, notes(status="collect")), ("y", {KEYS.trigger: "now"}, {})))

CLAIMS = (
    *allowed(
        AGENT,
        ("claims from collect, by JSON patch", swap("collect", add("status", "in-progress"), add("run", run("b")))),
        ("claims from collect, by merge patch", note(**CLAIM), ASKED),
        ("claims from collect, by strategic patch", note(STRATEGIC, **CLAIM), ASKED),
        ("claims from collect, by PUT", put_notes(**CLAIM), ASKED),
        ("claims from collect, by server-side apply", apply({"annotations": notes(**CLAIM)}), ASKED),
        ("claims from the label alone", note(**CLAIM), LABELLED),
        ("claims from a label without a value", note(**CLAIM), start(label="")),
        ("claims on a Node without annotations", note(**CLAIM), Start({KEYS.trigger: "now"}, None)),
        ("claims beside what another tool has applied", note(**CLAIM), OWNED),
        (
            "takes over what was applied to its own keys",
            merge(metadata={"annotations": notes(**CLAIM), "labels": {KEYS.trigger: None}}),
            APPLIED_KEYS,
        ),
        *(
            (f"claims from the label, status {was!r}", note(**CLAIM), start(was, label="now", run=run("a")))
            for was in ("completed", "failed: timeout", "", "what another tool wrote")
        ),
    ),
    *allowed(Who.NODE_BOUND, ("claims from collect", note(**CLAIM), ASKED)),
    *allowed(Who.RENEWED_AGENT, ("claims from collect", note(**CLAIM), ASKED)),
)

ENDS = allowed(
    AGENT,
    ("gives evidence", note(run=EVIDENCE), IN_PROGRESS),
    (
        "gives evidence and removes the label in one patch",
        operations(add("run", EVIDENCE), remove("labels", "trigger")),
        IN_PROGRESS,
    ),
    ("gives evidence whatever the status says", note(run=EVIDENCE), ASKED),
    ("writes a run without an id where there is none", note(run="{}"), start("completed")),
    ("writes a run of 4096 bytes", note(run=pad(EVIDENCE, 4096)), IN_PROGRESS),
    ("fails its run", note(**FAILURE), IN_PROGRESS),
    ("fails a run of an automatic request", note(**FAILURE), start("in-progress", run=run("a"))),
    (
        "fails its run and removes the label in one patch",
        merge(metadata={"annotations": notes(**FAILURE), "labels": {KEYS.trigger: None}}),
        IN_PROGRESS,
    ),
    ("fails its run with an output of 8192 bytes", note(**FAILURE | {"output": pad(output("a"), 8192)}), IN_PROGRESS),
    ("refuses collect in one write", note(**REFUSAL), start("collect", run=run("a"))),
    ("refuses the label in one write", note(**REFUSAL), start("completed", label="now", run=run("a"))),
    (
        "refuses the label again for the same reason",
        note(**REFUSAL),
        start("failed: disabled", label="x", run=run("a"), output=output("a")),
    ),
)

SMALL_THINGS = allowed(
    AGENT,
    ("removes the label by merge patch", label(trigger=None)),
    ("removes the only label", operations(remove("labels", "trigger")), Start({KEYS.trigger: "now"}, {})),
    ("removes a label with the value false", label(trigger=None), start(label="false")),
    ("patches nothing", operations()),
    ("sends a status stanza, which the apiserver drops", merge(status={"phase": "Running"})),
    (
        "PUTs without managedFields, which are kept",
        put(lambda node: node["metadata"].pop("managedFields")),
        OWNED,
    ),
)

TABLE = CLAIMS + ENDS + SMALL_THINGS
