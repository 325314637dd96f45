"""The policies with one thing taken away each: a rule, a part of an expression, or some of what is matched.

A mutant is a policy of its own, for an identity of its own: all are in force side by side, beside the real ones.
"""

import copy
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import yaml

from infra.local.identities import ACCOUNTS, WRITE_STATUS
from tests.kubernetes import table_agent, table_agent_refused, table_events, table_functions
from tests.kubernetes.expressions import list_weakened
from tests.kubernetes.requests import Object
from tests.kubernetes.rows import Row

MANIFESTS = Path(__file__).resolve().parents[2] / "infra" / "kubernetes"

AGENT_USER = "system:serviceaccount:gpu-report:agent"
WRITER = ACCOUNTS[WRITE_STATUS]

OPERATIONS = {"nodes": ("CREATE", "UPDATE", "DELETE", "CONNECT"), "events": ("CREATE", "UPDATE", "DELETE")}
"""What `operations: ["*"]` is about: what the apiserver can be asked of a resource and its subresources."""

MARK = "example.com/mark"
"""An annotation that each mutant refuses, so that it shows whether the mutant is in force."""
MARKED = "the mutant is in force"


class Mutant(NamedTuple):
    """One policy with something taken away; its identity is the service account `account`, or the user `user`.

    `table` has the rows that are to notice it, the likeliest first.
    """

    title: str
    policy: Object
    table: tuple[Row, ...]
    account: str = ""
    user: str = ""

    def __str__(self) -> str:
        return self.title

    @property
    def name(self) -> str:
        return str(self.policy["metadata"]["name"])

    @property
    def is_whole(self) -> bool:
        """Whether nothing is taken away: then no row may notice it."""
        return self.title.endswith(" without nothing")


class _Change(NamedTuple):
    taken: str
    policy: Object
    hint: str = ""
    """A part of the message of rows that probably notice."""
    is_stricter: bool = False


def read_policies() -> dict[str, Object]:
    """Read every policy of the manifests, by its name."""
    documents = [one for path in sorted(MANIFESTS.rglob("*.yaml")) for one in yaml.safe_load_all(path.read_text())]
    return {one["metadata"]["name"]: one for one in documents if one["kind"] == "ValidatingAdmissionPolicy"}


def _list_changes(policy: Object) -> Iterator[_Change]:
    yield _Change("nothing", copy.deepcopy(policy))
    for index, rule in enumerate(policy["spec"]["validations"]):
        changed = copy.deepcopy(policy)
        del changed["spec"]["validations"][index]
        yield _Change(f"the rule '{rule['message']}'", changed, rule["message"])
    for part in ("variables", "validations"):
        for index, entry in enumerate(policy["spec"][part]):
            for taken, operator, expression in list_weakened(entry["expression"]):
                changed = copy.deepcopy(policy)
                changed["spec"][part][index]["expression"] = expression
                where = entry.get("name") or f"'{entry['message']}'"
                yield _Change(f"{taken} in {where}", changed, entry.get("message", ""), operator == "||")
    yield from _list_narrowed(policy)


def _list_narrowed(policy: Object) -> Iterator[_Change]:
    """Take away an operation, or the subresources.

    `nodes/*` covers `nodes` too; that one stands there for the type checking, which a test of the manifests looks at.
    """
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    resource = rules[0]["resources"][0]
    for operation in OPERATIONS[resource]:
        changed = copy.deepcopy(policy)
        for rule in changed["spec"]["matchConstraints"]["resourceRules"]:
            rule["operations"] = [other for other in OPERATIONS[resource] if other != operation]
        yield _Change(f"{operation} of {resource}", changed, f"{operation} {resource}")
    if len(rules) > 1:
        changed = copy.deepcopy(policy)
        changed["spec"]["matchConstraints"]["resourceRules"] = rules[:1]
        yield _Change(f"subresources of {resource}", changed, f"{resource}/")


def _build(policy: Object, table: tuple[Row, ...]) -> Iterator[Mutant]:
    name = policy["metadata"]["name"]
    for index, change in enumerate(_list_changes(policy)):
        account = f"{name.removeprefix('gpu-report-')}-{index}"
        user = WRITER.replace("@", f"-{index}@")
        condition = change.policy["spec"]["matchConditions"][0]
        agent = AGENT_USER.removesuffix("agent") + account
        condition["expression"] = condition["expression"].replace(WRITER, user).replace(AGENT_USER, agent)
        change.policy["metadata"]["name"] = f"{name}-{index}"
        change.policy["spec"]["validations"].insert(0, _mark())
        ordered = tuple(sorted(table, key=partial(_rank, change)))
        identity = {"user": user} if user in condition["expression"] else {"account": account}
        yield Mutant(f"{name} without {change.taken}", change.policy, ordered, **identity)


def _rank(change: _Change, row: Row) -> tuple[bool, bool]:
    """Order the rows that probably notice before the others; a test stops at the first that does."""
    is_about = row.says != "" and (row.says in change.hint or change.hint in row.says)
    return (row.want < 400) != change.is_stricter, not is_about


def _mark() -> Object:
    absent = f"object == null || object.?metadata.?annotations[?'{MARK}'].orValue('') == ''"
    return {"expression": absent, "message": MARKED}


_POLICIES = read_policies()

MUTANTS = (
    *_build(_POLICIES["gpu-report-agent"], table_agent.TABLE + table_agent_refused.TABLE),
    *_build(_POLICIES["gpu-report-agent-events"], table_events.TABLE),
    *_build(_POLICIES["gpu-report-write-status"], table_functions.TABLE),
)
