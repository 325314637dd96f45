"""Who else writes the status during a run keeps what they wrote; the report is archived all the same."""

from gpureport.contract.outputs import Output
from infra.local.demo_objects import SICK_NODE
from infra.local.identities import WRITE_STATUS
from tests.e2e.world import KEYS, World, wait_until


def test_status_that_another_writer_takes_during_the_run_is_not_overwritten(world: World) -> None:
    before, theirs = world.output(SICK_NODE), "failed: taken-over"

    with world.script_held(SICK_NODE):
        world.annotate(SICK_NODE, {KEYS.status: theirs})

    claim = wait_until(lambda: world.new_evidence(SICK_NODE, before), "evidence on the Node")

    def archived() -> Output | None:
        output = world.output(SICK_NODE)
        return output if output is not None and output.run_id == claim.run_id and output.archived else None

    output: Output = wait_until(archived, "an archived run")
    world.wait_quiet()
    assert world.status(SICK_NODE) == theirs
    assert output.complete
    assert [entry["outcome"] for entry in world.outcomes(WRITE_STATUS)][-1] == "done"
