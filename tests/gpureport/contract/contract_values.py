"""Hypothesis strategies for every value of the contract: what any legal writer could write, and no more."""

from datetime import UTC
from string import ascii_letters, digits
from typing import Any

from hypothesis import strategies as st

from gpureport.contract.claims import EXECUTORS, MODES, OUTCOMES, TRIGGERS, Claim, ReportEvidence, RunResult
from gpureport.contract.events import EXTENSIONS, TYPES_BY_TOPIC, Event
from gpureport.contract.fields import DURATION_S_MAX, INTEGER_MAX
from gpureport.contract.manifests import ArchivedReport, Manifest, Origin
from gpureport.contract.names import FILE_PATH_BYTES_MAX
from gpureport.contract.outputs import Archived, Output
from gpureport.contract.reasons import REASONS
from gpureport.contract.statuses import COLLECT, COMPLETED, FAILED, IN_PROGRESS, Status

HEX = "0123456789abcdef"
LOWER = "abcdefghijklmnopqrstuvwxyz"


def hexadecimal(length: int) -> st.SearchStrategy[str]:
    return st.text(HEX, min_size=length, max_size=length)


run_ids = hexadecimal(32)
sha256s = hexadecimal(64)
uuids = st.uuids().map(str)
instants = st.datetimes(timezones=st.just(UTC)).map(lambda at: at.replace(microsecond=0))
versions = st.builds(str.__add__, st.sampled_from(digits), st.text(ascii_letters + digits + "-+.", max_size=63))
integers = st.integers(0, INTEGER_MAX)
durations_s = st.integers(0, DURATION_S_MAX * 1000).map(lambda milliseconds: round(milliseconds / 1000, 3))
reasons = st.sampled_from(sorted(REASONS))
foreign_reasons = st.sampled_from(["gpu-on-fire", "x", "out of luck (code 7)", "z" * 72])
read_reasons = reasons | foreign_reasons
triggers = st.sampled_from(TRIGGERS)
clusters = st.builds(str.__add__, st.sampled_from(LOWER), st.text(LOWER + digits, max_size=62))
nodes = st.lists(clusters, min_size=1, max_size=3).map(".".join)
file_paths = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"\\\x7f' + "".join(map(chr, range(32)))))
    .map(lambda text: "/" + text)
    .filter(lambda path: len(path.encode()) <= FILE_PATH_BYTES_MAX)
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-INTEGER_MAX, INTEGER_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
unknown_members: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.text(LOWER, max_size=6).map(lambda text: "x-" + text),
    json_values.filter(lambda value: value is not None),
    max_size=2,
)
"""What a newer writer might add: names that the contract will never have."""


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def results(unknown: st.SearchStrategy[dict[str, Any]] = unknown_members) -> st.SearchStrategy[RunResult]:
    return st.builds(
        RunResult,
        outcome=st.sampled_from(OUTCOMES),
        attempts=st.integers(0, 2),
        duration_s=durations_s,
        reason=optional(read_reasons),
        mode=optional(st.sampled_from(MODES)),
        file_path=optional(file_paths),
        collected_at=optional(instants),
        unknown=unknown,
    )


def reports(unknown: st.SearchStrategy[dict[str, Any]] = unknown_members) -> st.SearchStrategy[ReportEvidence]:
    return st.builds(
        ReportEvidence,
        attempt=st.integers(0, 2),
        sha256=sha256s,
        size_bytes=integers,
        complete=st.booleans(),
        unknown=unknown,
    )


def claims_with(
    previous: st.SearchStrategy[Claim | None], unknown: st.SearchStrategy[dict[str, Any]] = unknown_members
) -> st.SearchStrategy[Claim]:
    return st.builds(
        Claim,
        run_id=run_ids,
        trigger=triggers,
        executor=st.sampled_from(EXECUTORS),
        node_uid=uuids,
        boot_id=uuids,
        started_at=instants,
        deadline_at=instants,
        agent_version=versions,
        result=optional(results(unknown)),
        report=optional(reports(unknown)),
        previous=previous,
        unknown=unknown,
    )


single_claims = claims_with(st.none())
claims = claims_with(optional(single_claims))

archive_uris = st.builds(
    lambda bucket, name: f"gs://{bucket}/{name}",
    st.text(LOWER + digits, min_size=3, max_size=60),
    st.text(ascii_letters + digits + "-_./", min_size=1, max_size=400),
)
generations = st.integers(1, 10**20 - 1).map(str)
archived = instants.map(Archived) | st.builds(
    Archived, archived_at=instants, archive_uri=archive_uris, archive_generation=generations
)


def outputs_with(
    previous: st.SearchStrategy[Output | None], unknown: st.SearchStrategy[dict[str, Any]] = unknown_members
) -> st.SearchStrategy[Output]:
    def build(status: str, reason: str, **members: Any) -> Output:
        return Output(status=status, reason=reason if status == FAILED else None, **members)

    return st.builds(
        build,
        status=st.sampled_from((COMPLETED, FAILED)),
        reason=read_reasons,
        trigger=triggers,
        complete=st.booleans(),
        file_path=optional(file_paths),
        file_size_bytes=optional(integers),
        duration_s=optional(durations_s),
        collected_at=optional(instants),
        run_id=optional(run_ids),
        mode=optional(st.sampled_from(MODES)),
        sha256=optional(sha256s),
        archived=optional(archived),
        late=st.booleans(),
        previous=previous,
        unknown=unknown,
    )


single_outputs = outputs_with(st.none())
outputs = outputs_with(optional(single_outputs))

endings = st.just(Status(COMPLETED)) | reasons.map(lambda reason: Status(FAILED, reason))
statuses = st.sampled_from([Status(COLLECT), Status(IN_PROGRESS)]) | endings

events = st.builds(
    Event,
    type=st.sampled_from([one for types in TYPES_BY_TOPIC.values() for one in types]),
    id=st.text(HEX + "/.", min_size=1, max_size=60),
    source=st.builds("gpureport/{}/{}".format, clusters, nodes),
    data=st.dictionaries(texts, json_values, max_size=4),
    time=optional(instants),
    extensions=st.dictionaries(st.sampled_from(EXTENSIONS), texts),
)

origin_texts = st.text(LOWER + digits + "-", max_size=40)
manifests = st.builds(
    Manifest,
    origin=st.builds(
        Origin, cluster=clusters, node=nodes, project=origin_texts, location=origin_texts, cluster_uid=uuids
    ),
    claim=single_claims,
    ending=endings,
    report=optional(
        st.builds(
            ArchivedReport,
            bucket=st.text(LOWER + digits, min_size=3, max_size=60),
            name=st.text(ascii_letters + digits + "-_./", min_size=1, max_size=400),
            generation=generations,
            size_bytes=integers,
            sha256=sha256s,
            crc32c=st.just("yZRlqg=="),
            outcome=st.sampled_from(OUTCOMES),
            members=integers,
            raw_bytes=integers,
            facts=st.dictionaries(texts, json_values, max_size=4),
        )
    ),
)

key_values = optional(st.text(st.characters(exclude_categories=["Cs"]), max_size=10))
