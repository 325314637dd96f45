"""What each rule of the agents' policy refuses them, in the order of the rules."""

from tests.kubernetes.requests import (
    KEYS,
    NODES,
    STRATEGIC,
    Object,
    Request,
    Start,
    add,
    apply,
    condition,
    create,
    delete,
    label,
    merge,
    note,
    notes,
    operations,
    output,
    owner,
    pad,
    pointer,
    put,
    put_metadata,
    put_notes,
    remove,
    run,
    send,
    start,
    swap,
)
from tests.kubernetes.rows import Who, refused
from tests.kubernetes.table_agent import ASKED, CLAIM, DONE, EVIDENCE, FAILURE, IN_PROGRESS, OWNED, REFUSAL

AGENT = Who.AGENT

ONLY_UPDATE = "the gpu-report agent may only update the Node itself, not "
OTHER_NODE = 'the gpu-report agent of node "gpu-2" may not write Node "gpu-1"'
NO_NODE = 'the gpu-report agent of node "" may not write Node "gpu-1"'
RECREATED = "the Node was recreated after this gpu-report agent's token was issued"
SPEC = "the gpu-report agent may not change spec"
OWNERS = "the gpu-report agent may not change ownerReferences, finalizers or generateName"
MANAGERS = "the gpu-report agent may not take other managers out of managedFields"
LABELS = "the gpu-report agent may change no label"
OTHER_KEYS = "the gpu-report agent may only change the annotations cloud.google.com/gpu-report-{status,run,output}"
TOO_LONG = "the gpu-report agent may not write a gpu-report annotation that is too long"
OTHER_RUN = "the gpu-report agent may name another run only by a claim or by a refusal"
OUTPUT = "the gpu-report agent may change gpu-report-output only together with a failure of the same run"
STATUS = "the gpu-report agent may not change gpu-report-status from "
STATUS_WITHOUT_VALUES = "the gpu-report agent may not make this change of gpu-report-status"

TERMINAL = ("completed", "failed: timeout")
ENDED_ALREADY = IN_PROGRESS._replace(annotations=notes(status="in-progress", run=run("a"), output=output("a")))


def forget_manager(node: Object) -> Request:
    entries = [entry for entry in node["metadata"]["managedFields"] if entry["manager"] != "gitops"]
    return operations(("replace", "/metadata/managedFields", entries))(node)


def empty_manager(node: Object) -> Request:
    fields: Object = {"fieldsV1": {"f:metadata": {"f:labels": {"f:keep": {}}}}}
    entries = node["metadata"]["managedFields"]
    changed = [entry | fields if entry["manager"] == "gitops" else entry for entry in entries]
    return operations(("replace", "/metadata/managedFields", changed))(node)


NODE_ITSELF = (
    *refused(
        AGENT,
        ONLY_UPDATE + "UPDATE nodes/status",
        ("writes a condition", condition()),
        ("writes its annotations through nodes/status", merge("/status", metadata={"annotations": notes(**CLAIM)})),
        ("PUTs nodes/status", put(lambda node: node["metadata"]["labels"].update(x="y"), "/status")),
    ),
    *refused(
        AGENT,
        ONLY_UPDATE + "DELETE nodes/",
        ("deletes its Node", send("DELETE")),
        ("deletes all Nodes with a label", delete(f"{NODES}?labelSelector=keep")),
    ),
    *refused(
        AGENT,
        ONLY_UPDATE + "CREATE nodes/",
        ("creates a Node", create(NODES, {"metadata": {"name": "new"}})),
        ("creates a Node by server-side apply", apply({}, name="new")),
    ),
    *refused(AGENT, ONLY_UPDATE + "CONNECT nodes/proxy", ("reaches the kubelet", send("GET", "/proxy/pods"))),
)

OWN_NODE = (
    *refused(Who.OTHER_AGENT, OTHER_NODE, ("claims", note(**CLAIM), ASKED), ("patches nothing", operations())),
    *refused(Who.UNBOUND, NO_NODE, ("claims", note(**CLAIM), ASKED)),
    *refused(Who.STALE_AGENT, RECREATED, ("claims", note(**CLAIM), ASKED)),
)

REST_OF_NODE = (
    *refused(
        AGENT,
        SPEC,
        ("cordons its Node", merge(content_type=STRATEGIC, spec={"unschedulable": True})),
        ("takes the taints away", merge(spec={"taints": None})),
        ("adds a taint", operations(("add", "/spec/taints/-", {"key": "x", "effect": "NoExecute"}))),
        ("PUTs an empty spec", put(lambda node: node.update(spec={}))),
        (
            "claims, and cordons in the same patch",
            swap("collect", add("status", "in-progress"), add("run", run("b")), ("add", "/spec/unschedulable", True)),
        ),
    ),
    *refused(
        AGENT,
        OWNERS,
        ("takes a finalizer away", merge(metadata={"finalizers": None})),
        ("adds a finalizer", operations(("add", "/metadata/finalizers/-", "example.com/mine"))),
        ("adds an owner", owner()),
        ("sets generateName", merge(metadata={"generateName": "x"})),
    ),
    *refused(
        AGENT,
        MANAGERS,
        ("PUTs managedFields: []", put_metadata(managedFields=[]), OWNED),
        ("PUTs managedFields: [{}]", put_metadata(managedFields=[{}]), OWNED),
        ("forgets another manager", forget_manager, OWNED),
        ("empties another manager's entry", empty_manager, OWNED),
    ),
)

KEYS_OF_OTHERS = (
    *refused(
        AGENT,
        LABELS,
        ("adds a label", label(x="y")),
        ("adds a label by PUT", put(lambda node: node["metadata"]["labels"].update(x="y"))),
        ("changes a label", label(keep="you")),
        ("removes somebody else's label", label(keep=None)),
        ("removes all labels", operations(("remove", "/metadata/labels"))),
        ("changes the trigger label", label(trigger="false")),
        ("adds the trigger label", label(trigger="x"), start("completed")),
        ("adds the trigger label to a Node without labels", label(trigger=""), Start(None, {})),
        ("empties the trigger label by server-side apply", apply({"labels": {KEYS.trigger: None}})),
        ("switches the opt-out on", label(disable="true")),
    ),
    *refused(
        AGENT,
        OTHER_KEYS,
        ("adds an annotation", note(x="y")),
        ("adds an annotation where there is none", note(x="y"), Start(None, None)),
        ("changes an annotation", note(other="z")),
        ("changes an annotation by server-side apply", apply({"annotations": {"other": "z"}})),
        ("changes an annotation by PUT", put_notes(other="z")),
        ("removes an annotation", note(other=None)),
        ("removes all annotations", operations(("remove", "/metadata/annotations")), start()),
        (
            "moves an annotation",
            operations(
                ("move", pointer("metadata", "annotations", "other"), pointer("metadata", "annotations", KEYS.run))
            ),
        ),
        ("writes its key in capitals", note(**{KEYS.status.upper(): "x"})),
        ("writes a key that begins like its own", note(**{f"{KEYS.status}2": "x"})),
        ("writes an annotation with the trigger label's key", note(trigger="x")),
    ),
    *refused(
        AGENT,
        "the gpu-report agent may not change ",
        ("PUTs a bare Node", put(lambda node: [node.pop("spec"), node.update(metadata={"name": "gpu-1"})])),
    ),
    *refused(
        AGENT,
        TOO_LONG,
        ("writes a run of 4097 bytes", note(run=pad(EVIDENCE, 4097)), IN_PROGRESS),
        ("writes a run of 4096 characters in more bytes", note(run=pad(EVIDENCE, 4096, "é")), IN_PROGRESS),
        ("writes an output of 8193 bytes", note(**FAILURE | {"output": pad(output("a"), 8193)}), IN_PROGRESS),
        ("writes a status of 81 bytes", note(**FAILURE | {"status": pad("failed: ", 81)}), IN_PROGRESS),
    ),
)

RUNS = (
    *refused(
        AGENT,
        OTHER_RUN,
        ("names another run while one is in progress", note(run=run("b")), IN_PROGRESS),
        ("claims while a run is in progress", note(**CLAIM), IN_PROGRESS),
        ("names another run when nobody asks", note(run=run("b")), DONE),
        ("names another run beside a request", note(run=run("b")), ASKED),
        ("takes the run away", note(run=None), IN_PROGRESS),
        ("fails another run than the one in progress", note(**REFUSAL), IN_PROGRESS),
    ),
    *refused(
        AGENT,
        OUTPUT,
        ("writes an output while its run goes on", note(output=output("a")), IN_PROGRESS),
        ("writes an output beside its claim", note(**CLAIM, output=output("b")), ASKED),
        ("writes an output after the end", note(output=output("b")), DONE),
        ("takes the output away", note(output=None), DONE),
        ("fails its run with another run's output", note(**FAILURE | {"output": output("b")}), IN_PROGRESS),
        ("fails its run without a result", note(**FAILURE | {"run": run("a")}), IN_PROGRESS),
        ("fails a run without an id", note(**FAILURE | {"run": '{"result":{}}'}), start("in-progress", run="{}")),
    ),
)

TRANSITIONS = (
    *(
        row
        for now, froms in (
            ("completed", ("collect", "in-progress", "failed: timeout", "", "another tool's")),
            ("collect", ("in-progress", *TERMINAL, "", "another tool's")),
            ("in-progress", (*TERMINAL, "", "another tool's")),
            ("failed: disk", (*TERMINAL, "", "another tool's")),
            ("", ("collect", "in-progress", *TERMINAL, "another tool's")),
        )
        for was in froms
        for row in refused(
            AGENT,
            f'{STATUS}"{was}" to "{now}"',
            (f"changes {was!r} to {now!r}", note(status=now), start(was, run=EVIDENCE, output=output("a"))),
        )
    ),
    *refused(
        AGENT,
        STATUS,
        ("claims from a label that says false", note(**CLAIM | {"run": "x"}), start("completed", label="false")),
        ("claims without a claim", note(status="in-progress"), ASKED),
        ("claims the run that was there before", note(status="in-progress", run=EVIDENCE), ASKED),
        ("claims without a run id", note(status="in-progress", run="{}"), start("collect")),
        ("fails its run without an output", note(status="failed: timeout", run=EVIDENCE), IN_PROGRESS),
        ("fails its run without anything", note(status="failed: timeout"), IN_PROGRESS),
        ("takes the status away by JSON patch", operations(remove("annotations", "status"))),
        ("takes the status of a run away", note(status=None), IN_PROGRESS),
        ("completes by PUT", put_notes(status="completed"), ASKED),
        ("completes by strategic patch", note(STRATEGIC, status="completed"), IN_PROGRESS),
        ("completes by server-side apply", apply({"annotations": notes(status="completed")}), IN_PROGRESS),
    ),
    *refused(
        AGENT,
        STATUS,
        *(
            (f"writes {text!r}", note(run=EVIDENCE, status=text), ENDED_ALREADY)
            for text in (
                *("failed", "failed:", "failed: ", "failed: Free text!", "failed: a--b", "failed: 7"),
                *("xfailed: timeout", "in-progress "),
            )
        ),
    ),
    *refused(
        AGENT,
        STATUS_WITHOUT_VALUES,
        *(
            (f"writes {text!r}", note(run=EVIDENCE, status=text), ENDED_ALREADY)
            for text in ("failed: timeout\n", "failed: a\nb")
        ),
    ),
)

TABLE = NODE_ITSELF + OWN_NODE + REST_OF_NODE + KEYS_OF_OTHERS + RUNS + TRANSITIONS
