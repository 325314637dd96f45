"""What stands in a report that is measured with: the kinds of text that NVIDIA's script gathers, in their usual shares.

How well text deflates, and how fast it inflates, depends on its kind: kernel and service logs are full of numbers,
tables and register dumps repeat themselves, dumps in base64 hardly deflate. Every word of it is invented.
"""

import base64
import random
from collections.abc import Callable
from typing import NamedTuple

_DAEMONS = ("kubelet", "containerd", "systemd", "kernel", "nv-hostengine", "dockerd")
_FIELDS = ("Product Name", "Bus Id", "Max Clocks", "Graphics", "SM", "Memory", "Pending", "Retired Pages", "Free")
_VALUES = ("N/A", "0", "No", "Enabled", "Requested functionality has been deprecated")


class Kind(NamedTuple):
    """One kind of text, its share in a report, and what writes a few hundred bytes of it."""

    name: str
    share: float
    write: Callable[[random.Random], str]


def build_text(source: random.Random, kind: Kind, size_bytes: int) -> bytes:
    """Write text of one kind, exactly that long."""
    pieces: list[str] = []
    written = 0
    while written < size_bytes:
        pieces.append(kind.write(source))
        written += len(pieces[-1])
    return "".join(pieces).encode("ascii")[:size_bytes]


def write_kernel_lines(source: random.Random) -> str:
    """Write lines of dmesg."""
    at = source.random() * 1e6
    address, pid = source.getrandbits(24), source.randrange(400000)
    return source.choice(
        (
            f"[{at:14.6f}] NVRM: Xid (PCI:0000:{address % 256:02x}:00): 31, pid={pid}, Ch {address:08x}\n",
            f"[{at:14.6f}] mlx5_core 0000:{address % 256:02x}:00.0: command {address:#x} failed, bad parameter\n",
            f"[{at:14.6f}] cni0: port {pid % 110}(veth{source.getrandbits(32):08x}) entered forwarding state\n",
            f"[{at:14.6f}] NVRM: GPU{pid % 8} call timed out (0x{address:08X}) @ rpc.c:{pid % 9999}\n",
            f'[{at:14.6f}] audit: type=1400 audit({pid}.{pid % 999:03d}): apparmor="STATUS" pid={pid}\n',
        )
    )


def write_journal_line(source: random.Random) -> str:
    """Write a line of a service's log."""
    pid, uid = source.randrange(400000), source.getrandbits(128)
    day, second = source.randrange(1, 31), source.randrange(86400)
    clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    text = source.choice(
        (
            f'I1130 {clock}.{pid:06d} {pid:7d} reconciler.go:224] "operation started for volume" UID="{uid:032x}"',
            f'time="2026-11-{day:02d}T{clock}Z" level=info msg="StopPodSandbox for {uid:032x}"',
            f"Started cri-containerd-{uid:032x}.scope - libcontainer container",
            "loading kernel module of the driver, version 580.00.00, for x86_64",
        )
    )
    return f"Nov {day:02d} {clock} gpu-node-{pid % 7} {source.choice(_DAEMONS)}[{pid}]: {text}\n"


def write_registers(source: random.Random) -> str:
    """Write some rows of a register dump; most are zero."""
    rows = []
    for offset in range(0, 4096, 16):
        row = bytes(16) if source.random() < 0.8 else source.randbytes(16)
        rows.append(f"{offset:03x}: {row.hex(' ')}\n")
    return "".join(rows)


def write_query(source: random.Random) -> str:
    """Write a section of a table of settings."""
    rows = [f"    {source.choice(_FIELDS):<37} : {_write_value(source)}\n" for _ in range(12)]
    return f"GPU 00000000:{source.randrange(256):02X}:00.0\n{''.join(rows)}"


def _write_value(source: random.Random) -> str:
    number = source.randrange(81559)
    return source.choice(
        (*_VALUES, f"{number} MiB", f"{number % 90} C", f"{number % 2000} MHz", f"{number / 117:.2f} W")
    )


def write_dump(source: random.Random) -> str:
    """Write a binary dump in base64."""
    return base64.encodebytes(source.randbytes(4 * 57)).decode()


def write_packed_log(source: random.Random) -> str:
    """Write log lines in base64, as NVML's log stands there."""
    lines = "".join(
        f"DEBUG: [tid {source.randrange(400000)}] [{source.randrange(10**6):06d}s - entry_points.h:{number}] entering\n"
        for number in source.choices(range(2000), k=6)
    )
    return base64.encodebytes(lines.encode()).decode()


KINDS = (
    Kind("journal", 0.30, write_journal_line),
    Kind("kernel", 0.28, write_kernel_lines),
    Kind("query", 0.16, write_query),
    Kind("dump", 0.12, write_dump),
    Kind("registers", 0.08, write_registers),
    Kind("packed log", 0.06, write_packed_log),
)
"""The shares are an estimate from what the script gathers: logs are cut at megabytes, the rest is small."""
