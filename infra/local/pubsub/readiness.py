"""How a Pub/Sub of ours tells that it serves: one line on stdout, and a file if asked for."""

import os
from pathlib import Path


def announce(address: str, ready_file: Path | None) -> None:
    """Print `ready HOST:PORT` and write `HOST:PORT` to the file, which appears whole or not at all."""
    print(f"ready {address}", flush=True)
    if ready_file is not None:
        draft = ready_file.with_name(f".{ready_file.name}.{os.getpid()}")
        draft.write_text(f"{address}\n", encoding="ascii")
        draft.replace(ready_file)
