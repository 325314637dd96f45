"""Does the archive know of this run: its report staged create-only, then its event published.

Doing it twice changes nothing: the same bytes have the same name, the same run the same event id. When to do it again
is the agent's decision, by the exit code.
"""

import os
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple

from gpureport.contract.claims import Claim, describe_claim, read_claim
from gpureport.contract.events import REPORT_COLLECTED, REPORT_FAILED, Event, build_run_event
from gpureport.contract.exit_codes import EXIT_OK, EXIT_REFUSED, EXIT_UNAVAILABLE, EXIT_USAGE
from gpureport.contract.fields import ContractError, FieldReader, as_instant, as_object, as_text, load_object
from gpureport.contract.names import CLUSTER_NAME, FILE_PATH, NODE_NAME, staging_object
from gpureport.ports import ObjectUploader, Publisher, Refused, Unavailable

ORDER_BYTES_MAX = 64 * 1024
"""A claim has 4 KiB; the order around it a few hundred bytes."""
PROBLEM_CHARACTERS_MAX = 300
REPORT_CONTENT_TYPE = "application/gzip"


class Order(NamedTuple):
    """One run to deliver; `file` is where its report lies, None when it needs no staging."""

    cluster: str
    node: str
    at: datetime
    claim: Claim
    file: str | None


def deliver_run(source: BinaryIO, project: str, bucket: str, topic: str) -> tuple[int, dict[str, Any]]:
    """Read an order, stage and publish by Google's services; return the exit code and the answer for the agent."""
    try:
        order = parse_order(source.read(ORDER_BYTES_MAX + 1))
    except ContractError as problem:
        return EXIT_USAGE, _answer(problem=str(problem))
    staged = False
    published = None
    try:
        if order.file is not None and order.claim.report is not None:
            from gpureport.adapters.google_storage import GoogleBucket

            stage(order, GoogleBucket(bucket, project=project))
            staged = True
        from gpureport.adapters.google_pubsub import GooglePublisher

        with GooglePublisher(project) as publisher:
            published = publish(order, publisher, topic)
    except Unavailable as problem:
        return EXIT_UNAVAILABLE, _answer(staged=staged, problem=str(problem))
    except (Refused, FileNotFoundError) as problem:
        return EXIT_REFUSED, _answer(staged=staged, problem=str(problem))
    return EXIT_OK, _answer(staged=staged, published=published)


def parse_order(data: bytes) -> Order:
    """Read an order; `ContractError` with every fault."""
    fields = FieldReader("order", load_object("order", data, ORDER_BYTES_MAX))
    cluster = fields.take("cluster", as_text(CLUSTER_NAME))
    node = fields.take("node", as_text(NODE_NAME))
    at = fields.take("at", as_instant)
    claim = fields.take("claim", as_object)
    file = fields.find("file", as_text(FILE_PATH))
    fields.finish()
    return Order(cluster, node, at, read_claim(claim), file)


def stage(order: Order, bucket: ObjectUploader) -> None:
    """Bring the report into the staging bucket; no error when it is there already.

    `Refused` when the file is not of the size that the claim states: it is another file.
    """
    report = order.claim.report
    if report is None or order.file is None:
        raise ValueError("an order without a report")
    with open(order.file, "rb") as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes != report.size_bytes:
            raise Refused(f"the report has {size_bytes} bytes, the claim says {report.size_bytes}")
        bucket.upload(staging_object(order.claim.run_id, report.sha256), file, size_bytes, REPORT_CONTENT_TYPE)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def publish(order: Order, publisher: Publisher, topic: str) -> str:
    """Publish the run's event and return the server's message id."""
    return publisher.publish(topic, build_order_event(order))


def build_order_event(order: Order) -> Event:
    """Build `report.collected`, or `report.failed` for a run without a report; the claim is its data."""
    claim = order.claim
    return build_run_event(
        REPORT_FAILED if claim.report is None else REPORT_COLLECTED,
        cluster=order.cluster,
        node=order.node,
        run_id=claim.run_id,
        at=order.at,
        data={"run": describe_claim(claim._replace(previous=None))},
        reason=None if claim.result is None else claim.result.reason,
    )


def _answer(*, staged: bool = False, published: str | None = None, problem: str | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = {"staged": staged, "published": published}
    if problem is not None:
        answer["problem"] = problem[:PROBLEM_CHARACTERS_MAX]
    return answer
