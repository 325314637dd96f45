"""What import-linter cannot say: which of Google's libraries an adapter knows; all are one package, `google`."""

import ast
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).parent.parent / "gpureport" / "adapters"
FOREIGN = {
    "google_storage.py": ("google.cloud.pubsub", "google.pubsub"),
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
