"""May this request go on, given what lives under the name now? Pure; looking it up and locking are not done here."""

from collections.abc import Mapping
from typing import NamedTuple

PRECONDITION_FAILED = 412
NOT_MODIFIED = 304
NOT_FOUND = 404


class MalformedCondition(ValueError):
    """A condition whose value is no whole number; `parameter` names it."""

    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


class Live(NamedTuple):
    """The live generation of one object."""

    generation: int
    metageneration: int
    size_bytes: int


class Conditions(NamedTuple):
    """The preconditions of one request on one object; None is no condition. `generation` pins, it doesn't compare."""

    generation: int | None = None
    generation_match: int | None = None
    generation_not_match: int | None = None
    metageneration_match: int | None = None
    metageneration_not_match: int | None = None


CONDITION_PARAMETERS = (
    "generation",
    "ifGenerationMatch",
    "ifGenerationNotMatch",
    "ifMetagenerationMatch",
    "ifMetagenerationNotMatch",
)
"""In the order of `Conditions`. Source: Cloud Storage JSON API, request preconditions."""

SOURCE_PARAMETERS = (
    "sourceGeneration",
    "ifSourceGenerationMatch",
    "ifSourceGenerationNotMatch",
    "ifSourceMetagenerationMatch",
    "ifSourceMetagenerationNotMatch",
)
"""The same for the source of a rewrite or a copy."""


def parse_conditions(parameters: Mapping[str, object], names: tuple[str, ...] = CONDITION_PARAMETERS) -> Conditions:
    """Read the conditions out of query parameters or a JSON object; `MalformedCondition` when one is no number."""
    return Conditions(*(_parse_whole(name, parameters.get(name)) for name in names))


def _parse_whole(name: str, value: object) -> int | None:
    if value is None:
        return None
    try:
        return int(str(value))
    except ValueError:
        raise MalformedCondition(name) from None


def decide_write(conditions: Conditions, live: Live | None) -> int | None:
    """Judge a request that makes a new generation: the status to refuse with, or None to go on."""
    return None if _all_hold(conditions, live) else PRECONDITION_FAILED


def decide_existing(conditions: Conditions, live: Live | None, *, reading: bool) -> int | None:
    """Judge a request on an object that must exist: the status to refuse with, or None to go on."""
    if live is None or conditions.generation not in (None, live.generation):
        return NOT_FOUND
    if _all_hold(conditions, live):
        return None
    return NOT_MODIFIED if reading and _only_unchanged(conditions, live) else PRECONDITION_FAILED


def _only_unchanged(conditions: Conditions, live: Live) -> bool:
    matches = conditions._replace(generation_not_match=None, metageneration_not_match=None)
    return _all_hold(matches, live)


def _all_hold(conditions: Conditions, live: Live | None) -> bool:
    generation = live.generation if live else 0
    metageneration = live.metageneration if live else 0
    return (
        conditions.generation_match in (None, generation)
        and conditions.generation_not_match != generation
        and conditions.metageneration_match in (None, metageneration)
        and conditions.metageneration_not_match != metageneration
    )
