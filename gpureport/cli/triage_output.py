"""How a verdict is shown: text for people, JSON for programs. What it says is computed by `gpureport.triage`."""

import json
from collections.abc import Sequence
from typing import Any

from gpureport.cli.terminal import BOLD, GREEN, RED, YELLOW, format_table, paint, printable
from gpureport.triage.evidence import NodeEvidence
from gpureport.triage.explanation import Explanation, Held, explain
from gpureport.triage.verdict import Verdict, Word

NODES_IN_TEXT_MAX = 10
"""Nodes shown to a person; JSON has more."""

_COLOURS = {Word.OK: GREEN, Word.NO_REQUEST: YELLOW, Word.OTHER: YELLOW}


def format_text(verdict: Verdict, is_coloured: bool) -> str:
    """Return the word, the reason, the tables and what to do."""
    found = explain(verdict)
    cause = f" ({found.cause})" if found.cause else ""
    parts = [
        paint(found.word, _COLOURS.get(found.word, RED), is_coloured),
        printable(f"{_pod_key(verdict)}{cause}: {found.message}"),
    ]
    if found.stages:
        rows = [(count.stage, str(count.nodes), str(count.gpu_nodes)) for count in found.stages]
        parts += ["", format_table(("STAGE", "NODES LEFT", "WITH GPUS"), rows)]
    if found.nodes:
        parts += ["", _format_nodes(found)]
    if found.holders:
        rows_held = [(_key(held), held.node, _amount_text(held), _state(held)) for held in found.holders]
        parts += ["", format_table(("HELD BY", "NODE", "HOLDS", "STATE"), rows_held)]
    parts += [""] if found.notes or found.fix or found.condition else []
    parts += [printable(f"Note: {note}") for note in found.notes]
    if found.fix:
        parts.append(f"{paint('To do:', BOLD, is_coloured)} {printable(found.fix)}")
    if found.condition is not None and found.condition.status != "True":
        parts.append(f"The scheduler says ({found.condition.reason}): {printable(found.condition.message)}")
    return "\n".join(parts)


def format_json(verdicts: Sequence[Verdict], *, is_list: bool) -> str:
    """Return one object, or `{"items": [...]}`."""
    objects = [_object(verdict) for verdict in verdicts]
    return json.dumps({"items": objects} if is_list else objects[0], indent=2)


def _object(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON; what is absent is left out, never null."""
    found, meta = explain(verdict), verdict.pod.metadata
    answer: dict[str, Any] = {"namespace": meta.namespace, "pod": meta.name, "word": str(found.word)}
    optional = {
        "cause": found.cause,
        "message": found.message,
        "fix": found.fix,
        "nodeName": verdict.pod.spec.node_name,
        "requested": dict(verdict.demand),
        "stages": [{"stage": c.stage, "nodes": c.nodes, "gpuNodes": c.gpu_nodes} for c in found.stages],
        "nodes": [_node(node) for node in found.nodes],
        "nodesTotal": found.nodes_total,
        "holders": [_holder(held) for held in found.holders],
        "notes": list(found.notes),
    }
    answer.update({key: value for key, value in optional.items() if value})
    if found.condition is not None:
        answer["condition"] = {"reason": found.condition.reason, "message": found.condition.message}
    return answer


def _node(node: NodeEvidence) -> dict[str, Any]:
    amounts = [amount._asdict() for amount in node.amounts]
    found: dict[str, Any] = {"node": node.node, "detail": node.detail, "amounts": amounts}
    if node.lost_at is not None:
        found["lostAt"] = str(node.lost_at)
    return found


def _holder(held: Held) -> dict[str, Any]:
    holder = held.holder
    found: dict[str, Any] = {
        "namespace": holder.namespace, "pod": holder.name, "node": held.node, "holds": dict(holder.demand),
        "terminating": holder.terminating, "nominated": holder.nominated,
    }  # fmt: skip
    if holder.created:
        found["createdAt"] = holder.created
    return found


def _format_nodes(found: Explanation) -> str:
    shown = found.nodes[:NODES_IN_TEXT_MAX]
    rows = [(node.node, node.lost_at or "-", node.detail) for node in shown]
    table = format_table(("NEAREST NODE", "LOST AT", "WHY"), rows)
    more = found.nodes_total - len(shown)
    return f"{table}\n(and {more} more nodes)" if more > 0 else table


def _pod_key(verdict: Verdict) -> str:
    return f"{verdict.pod.metadata.namespace}/{verdict.pod.metadata.name}"


def _key(held: Held) -> str:
    return f"{held.holder.namespace}/{held.holder.name}"


def _amount_text(held: Held) -> str:
    return ", ".join(f"{amount} x {name}" for name, amount in held.holder.demand)


def _state(held: Held) -> str:
    if held.holder.terminating:
        return "terminating"
    return "nominated" if held.holder.nominated else "placed"
