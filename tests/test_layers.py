"""What import-linter cannot say: which of Google's libraries an adapter knows; all are one package, `google`."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ADAPTERS = ROOT / "gpureport" / "adapters"
FOREIGN = {
    "google_storage.py": ("google.cloud.pubsub", "google.pubsub"),
    "google_storage_client.py": ("google.cloud.pubsub", "google.pubsub"),
    "google_pubsub.py": ("google.cloud.storage",),
}


@pytest.mark.parametrize("adapter", FOREIGN)
def test_adapter_knows_one_of_googles_services(adapter: str) -> None:
    tree = ast.parse((ADAPTERS / adapter).read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}

    assert any(name.startswith("google.") for name in imported)
    assert [name for name in imported if name.startswith(FOREIGN[adapter])] == []


def test_every_module_of_the_agent_is_in_its_layer() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = next(one["source_modules"] for one in contracts if one["name"].startswith("the agent beside"))
    rooms = {
        path.stem for path in (ROOT / "agent").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }

    assert set(listed) == {f"agent.{room}" for room in rooms - {"__init__", "finish"}}
