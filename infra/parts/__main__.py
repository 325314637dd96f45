"""Bring real counterparts into the cache: `python -m infra.parts [NAME...]`, all of them without a name.

Exit code 0: all there; 1: some could not be had, each named with the reason; 2: no such part; 130: Ctrl-C.
"""

import argparse
import time
from collections.abc import Sequence

from gpureport.contract.exit_codes import EXIT_INTERRUPTED, EXIT_OK
from infra.parts.catalogue import PARTS, bring, find
from infra.parts.commands import CannotBring

EXIT_MISSING = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring the parts one after the other; one that can't be had does not keep the others away."""
    parser = argparse.ArgumentParser(
        prog="python -m infra.parts",
        description=__doc__,
        epilog="\n".join(f"  {part.name:<16} {part.what}" for part in PARTS.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a part; all of them without one")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    missing = 0
    try:
        for name in options.names or PARTS:
            missing += not _bring(name)
    except KeyboardInterrupt:
        print("stopped; what is done by now is kept")
        return EXIT_INTERRUPTED
    return EXIT_MISSING if missing else EXIT_OK


def _bring(name: str) -> bool:
    began = time.monotonic()
    if find(name) is None:
        print(f"{name}: bringing {PARTS[name].what}", flush=True)
    try:
        folder = bring(name)
    except (CannotBring, OSError) as error:
        print(f"{name}: NOT HAD: {error}", flush=True)
        return False
    took_s = time.monotonic() - began
    print(f"{name}: {folder} ({took_s:.0f} s)", flush=True)
    return True


if __name__ == "__main__":
    raise SystemExit(main())
