"""Every event may come again, at once, or after a step that failed: the end is the same, and reached once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from functions.outcomes import Outcome
from gpureport.contract.events import REPORT_ARCHIVED, REPORT_FINISHED
from gpureport.ports import Refused, Unavailable
from tests.functions.world import MANIFEST, REPORT, World, build_claim, build_report

STEPS_MAX = 40
DELIVERIES = 8


class Flaky:
    """Counts the calls of everything it wraps, and fails one of them before or after it is made."""

    def __init__(self, fail_at: int, *, after: bool) -> None:
        self.left = fail_at
        self.after = after
        self.failed = False

    def wrap(self, port):
        return _FlakyPort(self, port)

    def call(self, method, *arguments):
        self.left -= 1
        is_due = self.left == 0
        if is_due and not self.after:
            self.failed = True
            raise Unavailable("told to fail before")
        answer = method(*arguments)
        if is_due:
            self.failed = True
            raise Unavailable("told to fail after")
        return answer


class _FlakyPort:
    def __init__(self, flaky, port) -> None:
        self._flaky = flaky
        self._port = port

    def __getattr__(self, name):
        member = getattr(self._port, name)
        return (lambda *arguments: self._flaky.call(member, *arguments)) if callable(member) else member


def _build_world() -> World:
    world = World()
    world.put_node(build_claim(build_report()))
    world.stage(build_report())
    return world


def _deliver(world: World) -> Outcome:
    """Deliver until somebody acknowledges, as a subscription does: both functions, one after the other."""
    for deliver in (world.archive_report, world.write_status):
        for _ in range(3):
            try:
                answer = deliver()
            except Unavailable:
                continue
            break
    return answer.outcome


@pytest.mark.parametrize("after", [False, True], ids=["before the call", "after the call, its answer lost"])
def test_any_single_failure_is_healed_by_redelivery(after):
    reference = _build_world()
    _deliver(reference)
    failures = 0
    for step in range(1, STEPS_MAX):
        world = _build_world()
        flaky = Flaky(step, after=after)
        world.staging, world.archive, world.nodes, world.publisher = (
            flaky.wrap(port) for port in (world.staging, world.archive, world.nodes, world.publisher)
        )
        _deliver(world)
        failures += flaky.failed
        flaky.left = 0
        assert world.archive.names() == [MANIFEST, REPORT], step
        assert world.archive.content(REPORT) == build_report(), step
        assert world.staging.names() == [], step
        assert world.status == "completed", step
        assert world.published(REPORT_ARCHIVED), step
        assert world.published(REPORT_FINISHED), step
        assert world.output._replace(archived=None) == reference.output._replace(archived=None), step
    assert 10 < failures < STEPS_MAX - 1


def test_deliveries_at_once_archive_and_write_once():
    world = _build_world()
    with ThreadPoolExecutor(DELIVERIES) as threads:
        answers = [future.result() for future in [threads.submit(world.archive_report) for _ in range(DELIVERIES)]]
        endings = [future.result() for future in [threads.submit(world.write_status) for _ in range(DELIVERIES)]]

    assert [answer.outcome for answer in answers].count(Outcome.DONE) == 1
    assert [answer.outcome for answer in endings].count(Outcome.DONE) == 1
    assert {answer.outcome for answer in answers + endings} == {Outcome.DONE, Outcome.DUPLICATE}
    assert world.archive.names() == [MANIFEST, REPORT]
    assert world.status == "completed"
    assert len(world.nodes.patches) == 1


def test_report_archived_by_another_delivery_while_this_one_reads_is_a_duplicate(world, report):
    world.put_node(build_claim(report))
    world.stage(report)
    staging = world.staging

    class Overtaken:
        """The staging bucket of a delivery that another one overtakes between its stat and its read."""

        def __getattr__(self, name):
            return getattr(staging, name)

        def read(self, stored):
            world.staging = staging
            world.archive_report()
            return staging.read(stored)

    world.staging = Overtaken()

    assert world.archive_report().outcome is Outcome.DUPLICATE
    assert len(world.published(REPORT_ARCHIVED)) == 2


def test_refusal_without_a_record_is_passed_on(world, report):
    world.put_node(build_claim(report))
    world.stage(report)
    refused = Refused("403")
    staging = world.staging

    class Forbidden:
        def __getattr__(self, name):
            return getattr(staging, name)

        def read(self, _stored):
            raise refused

    world.staging = Forbidden()

    with pytest.raises(Refused) as caught:
        world.archive_report()

    assert caught.value is refused
    assert world.archive.names() == []


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
def test_events_in_any_order_three_times_change_nothing_after_the_end(world, report, order):
    world.put_node(build_claim(report))
    world.stage(report)
    world.archive_report()
    world.write_status()
    want = world.snapshot()
    events = [
        world.archive_report,
        lambda: world.archive_report(world.event("dev.gpureport.report.failed.v1")),
        world.write_status,
    ]

    outcomes = {events[number]().outcome for number in order * 3}

    assert outcomes == {Outcome.DUPLICATE}
    assert world.snapshot() == want
