"""`finish deliver`: staged and published once, however often it is asked; by fakes and against real servers."""

import hashlib
import json

import pytest

from agent.finish.delivering import parse_order, publish, stage
from gpureport.contract.fields import ContractError
from gpureport.ports import Refused, Unavailable
from tests.fakes.object_store import MemoryStore
from tests.fakes.publisher import MemoryPublisher

DATA = b"report bytes"
SHA256 = hashlib.sha256(DATA).hexdigest()
NEVER_LISTENS = "127.0.0.1:9"


@pytest.fixture
def order(tmp_path, claim):
    """Build an order, for a run with a report unless told otherwise."""

    def build(*, with_report=True, **members):
        path = tmp_path / "nvidia-bug-report-20261130T091506Z-manual.log.gz"
        path.write_bytes(DATA)
        result = {
            "outcome": "complete" if with_report else "none",
            "attempts": 1,
            "durationSeconds": 6.7,
            **({} if with_report else {"reason": "timeout"}),
        }
        report = {"attempt": 1, "sha256": SHA256, "sizeBytes": len(DATA), "complete": True} if with_report else None
        whole = {
            "cluster": "prod",
            "node": "n1",
            "at": "2026-11-30T09:15:07Z",
            "claim": claim(result=result, report=report),
            "file": str(path) if with_report else None,
            **members,
        }
        return {name: value for name, value in whole.items() if value is not None}

    return build


def parsed(order):
    return parse_order(json.dumps(order).encode())


def test_report_is_staged_under_its_run_and_hash(order, run_id):
    bucket = MemoryStore().bucket("staging")
    for _ in range(2):
        stage(parsed(order()), bucket)
    assert bucket.names() == [f"{run_id}/{SHA256}.log.gz"]
    assert bucket.content(bucket.names()[0]) == DATA


def test_file_of_another_size_is_refused(order, claim):
    report = {"attempt": 1, "sha256": SHA256, "sizeBytes": 5, "complete": True}
    bucket = MemoryStore().bucket("staging")
    with pytest.raises(Refused, match="12 bytes, the claim says 5"):
        stage(parsed(order(claim=claim(report=report))), bucket)
    assert bucket.names() == []


@pytest.mark.parametrize(
    ("with_report", "event_type", "reason", "severity"),
    [
        (True, "dev.gpureport.report.collected.v1", None, "info"),
        (False, "dev.gpureport.report.failed.v1", "timeout", "warning"),
    ],
)
def test_event_says_what_became_of_the_run(with_report, event_type, reason, severity, order):
    publisher = MemoryPublisher(["reports"])
    subject = order(with_report=with_report)
    message_id = publish(parsed(subject), publisher, "reports")
    [published] = publisher.published
    event = published.event
    assert published.message_id == message_id
    assert (event.type, event.source) == (event_type, "gpureport/prod/n1")
    assert (event.extensions.get("reason"), event.extensions["severity"]) == (reason, severity)
    assert event.id.startswith(f"{event.run_id}/report.")
    assert event.data == {"run": subject["claim"]}


def test_event_of_a_second_delivery_has_the_same_id(order):
    publisher = MemoryPublisher(["reports"])
    for at in ("2026-11-30T09:15:07Z", "2026-11-30T09:25:07Z"):
        publish(parsed(order(at=at)), publisher, "reports")
    first, second = (published.event for published in publisher.published)
    assert first.id == second.id


def test_previous_run_is_no_part_of_the_event(order, claim):
    publisher = MemoryPublisher(["reports"])
    publish(parsed(order(claim=claim(previous=claim(runId="0" * 32)))), publisher, "reports")
    assert "previous" not in publisher.published[0].event.data["run"]


@pytest.mark.parametrize("failure", [Unavailable("later"), Refused("never")])
def test_failure_of_the_publisher_passes_through(failure, order):
    publisher = MemoryPublisher(["reports"])
    publisher.failure = failure
    with pytest.raises(type(failure)):
        publish(parsed(order()), publisher, "reports")


@pytest.mark.parametrize(
    "data", [b"", b"garbage", b"[]", b"{}", b'{"cluster":"prod","node":"..","at":"now","claim":{}}', b"x" * 70_000]
)
def test_order_that_is_none_is_refused_with_its_faults(data):
    with pytest.raises(ContractError):
        parse_order(data)


def test_run_is_delivered_to_the_servers_and_again_without_harm(order, deliver, storage, pubsub, run_id):
    ends = [deliver(order()) for _ in range(2)]
    messages = pubsub.take()
    assert [end.code for end in ends] == [0, 0]
    assert [end.answer["staged"] for end in ends] == [True, True]
    assert [end.answer["published"] for end in ends] == [message.message_id for message in messages]
    assert storage.names() == [f"{run_id}/{SHA256}.log.gz"]
    assert storage.content(storage.names()[0]) == DATA
    assert {message.attributes["ce-id"] for message in messages} == {f"{run_id}/report.collected"}
    assert ends[0].stderr == ""


def test_run_without_a_report_is_published_alone(order, deliver, pubsub):
    end = deliver(order(with_report=False))
    [message] = pubsub.take()
    assert (end.code, end.answer["staged"]) == (0, False)
    assert message.attributes["ce-type"] == "dev.gpureport.report.failed.v1"


def test_missing_bucket_is_refused_and_nothing_published(order, deliver, pubsub):
    end = deliver(order(), bucket="no-such-bucket")
    assert end.code == 6
    assert (end.answer["staged"], end.answer["published"]) == (False, None)
    assert end.answer["problem"]
    assert pubsub.take() == []


def test_missing_topic_is_refused_after_the_staging(order, deliver):
    end = deliver(order(), topic="no-such-topic")
    assert (end.code, end.answer["staged"], end.answer["published"]) == (6, True, None)


def test_lost_file_is_refused(order, deliver, tmp_path):
    end = deliver(order(file=str(tmp_path / "gone.log.gz")))
    assert end.code == 6
    assert "gone.log.gz" in end.answer["problem"]


@pytest.mark.long
def test_silent_storage_is_tried_again_later(order, deliver):
    end = deliver(order(), STORAGE_EMULATOR_HOST=f"http://{NEVER_LISTENS}")
    assert (end.code, end.answer["staged"]) == (5, False)
    assert end.stderr == ""


@pytest.mark.long
def test_silent_topic_is_tried_again_later(order, deliver):
    end = deliver(order(), PUBSUB_EMULATOR_HOST=NEVER_LISTENS)
    assert (end.code, end.answer["staged"], end.answer["published"]) == (5, True, None)


def test_broken_order_is_a_usage_error_and_no_traceback(deliver):
    end = deliver(b"garbage")
    assert end.code == 2
    assert end.answer["problem"].startswith("order:")
    assert end.stderr == ""
