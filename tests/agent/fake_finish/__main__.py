"""A finish child for the agent's tests: judges by a word in the file, and writes down what it was told to deliver.

Lies in a folder of its own beside `orders` (what was delivered) and `exit-code` (how the next delivery ends).
"""

import hashlib
import json
import sys
import time
from pathlib import Path

FOLDER = Path(sys.argv[0]).resolve()
FOLDER = FOLDER if FOLDER.is_dir() else FOLDER.parent


def judge(file: Path) -> int:
    data = file.read_bytes()
    outcome, reason = "complete", None
    if not data:
        outcome, reason = "none", "no-report"
    elif b"PARTIAL" in data:
        outcome, reason = "partial", "incomplete"
    elif b"CORRUPT" in data:
        outcome, reason = "corrupt", "corrupt"
    verdict = {"outcome": outcome, "sha256": hashlib.sha256(data).hexdigest(), "sizeBytes": len(data)}
    sys.stdout.write(json.dumps(verdict | ({"reason": reason} if reason else {})) + "\n")
    return 0


def deliver() -> int:
    order = json.load(sys.stdin)
    hang = FOLDER / "hang"
    if hang.exists():
        time.sleep(float(hang.read_text()))
    code_file = FOLDER / "exit-code"
    code = int(code_file.read_text()) if code_file.exists() else 0
    with (FOLDER / "orders").open("a") as orders:
        orders.write(json.dumps({"code": code, **order}) + "\n")
    answer = {"staged": code == 0, "published": "1" if code == 0 else None, "problem": "told to" if code else ""}
    sys.stdout.write(json.dumps(answer) + "\n")
    return code


command = sys.argv[2]
sys.exit(judge(Path(sys.argv[4])) if command == "judge" else deliver())
