"""The agent is the interpreter, the standard library, itself and the contract: asserted on the process after a run."""

import os
import signal
import sys

from tests.agent.agent_world import AgentWorld, wait_until

HEAVY = {"zlib", "hashlib", "shutil", "tempfile", "secrets", "logging", "dataclasses", "asyncio", "subprocess"}
HEAVY |= {"urllib.request", "importlib.metadata"}
OURS = ("agent", "gpureport")
IDLE_ANONYMOUS_KIB_MAX = 12 * 1024


def after_a_run(world: AgentWorld) -> int:
    process = world.start()
    world.apiserver.request()
    claim = wait_until(world.apiserver.evidence, "evidence")
    wait_until(lambda: world.orders, "a delivery")
    world.apiserver.archive(claim.run_id)
    wait_until(lambda: not world.outbox, "an empty outbox")
    return process.pid


def test_agent_has_loaded_the_standard_library_and_itself_alone(world: AgentWorld) -> None:
    os.kill(after_a_run(world), signal.SIGUSR1)
    modules = wait_until(lambda: world.events("modules"), "the list of modules")[0]["modules"]
    strangers = [
        name for name in modules if name.partition(".")[0] not in {*sys.stdlib_module_names, *OURS, "__main__"}
    ]
    assert strangers == []
    assert HEAVY & set(modules) == set()
    ours = {name for name in modules if name.startswith("gpureport.")}
    assert {name for name in ours if not f"{name}.".startswith("gpureport.contract.")} == set()
    assert [name for name in modules if name.startswith("agent.finish")] == []


def test_agent_maps_the_interpreter_and_system_libraries_alone(world: AgentWorld) -> None:
    pid = after_a_run(world)
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        files = {line.split(maxsplit=5)[5].strip() for line in maps if len(line.split(maxsplit=5)) == 6}
    libraries = {path for path in files if ".so" in path}
    assert [path for path in libraries if "site-packages" in path or "dist-packages" in path] == []
    extensions = {os.path.basename(os.path.dirname(path)) for path in libraries if ".cpython-" in path}
    assert extensions == {"lib-dynload"}


def test_idle_agent_keeps_its_anonymous_memory_budget(world: AgentWorld) -> None:
    pid = after_a_run(world)
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        lines = dict(line.split(":", 1) for line in status)
    assert int(lines["RssAnon"].split()[0]) <= IDLE_ANONYMOUS_KIB_MAX
