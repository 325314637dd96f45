"""The judge that a function uses: isal's inflater, twice as fast as zlib, and the thread's own CPU clock."""

import time
from typing import cast

from isal import isal_zlib

from gpureport.report.judge import Decompressor, Judge

DAMAGE = cast("type[Exception]", isal_zlib.error)
"""What isal raises for bad data; its stubs call the class an instance."""


def build_judge() -> Judge:
    """Build the judge of one report."""
    return Judge(new_isal_inflater, damage=DAMAGE, cpu_clock=time.thread_time)


def new_isal_inflater() -> Decompressor:
    """Return isal's inflater for one gzip member."""
    return isal_zlib.decompressobj(31)
