"""What importing the contract brings along: the agent carries all of it, for as long as it lives."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
MODULES = sorted(path.stem for path in (ROOT / "gpureport" / "contract").glob("*.py"))

HEAVY = {
    "asyncio",
    "dataclasses",
    "email",
    "hashlib",
    "logging",
    "random",
    "secrets",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "urllib",
    "zlib",
}

PROGRAM = """
import sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    __import__(f"gpureport.contract.{name}" if name != "__init__" else "gpureport.contract")
loaded = sorted(set(sys.modules) - before)
import json
print(json.dumps(loaded))
"""


def import_contract() -> set[str]:
    """Import every module of the contract in an interpreter of its own, the agent's way; return what that loaded."""
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(ROOT), *MODULES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    return set(json.loads(done.stdout))


def test_contract_loads_the_standard_library_and_itself_alone() -> None:
    roots = {name.partition(".")[0] for name in import_contract()}

    assert "gpureport" in roots
    assert roots - {"gpureport"} <= sys.stdlib_module_names


def test_contract_loads_nothing_of_this_project_but_itself() -> None:
    ours = {name for name in import_contract() if name.startswith("gpureport")}

    want = {"gpureport", "gpureport.contract"} | {f"gpureport.contract.{name}" for name in MODULES}
    assert ours == want - {"gpureport.contract.__init__"}


def test_contract_loads_nothing_heavy() -> None:
    roots = {name.partition(".")[0] for name in import_contract()}

    assert sorted(roots & HEAVY) == []
