"""Which Nodes carry a label, as sets of Nodes: bit i of a mask stands for the i-th Node.

A label key is indexed when it is first asked for: Pods ask for a dozen keys, Nodes carry thousands of values.
"""

from collections.abc import Iterable, Sequence

KEYS_CACHED_MAX = 256
"""Label keys kept indexed; past it the index starts afresh (memory is keys x nodes)."""

MASKS_CACHED_MAX = 4096
"""Masks kept of single values; at 5,000 nodes one is 625 bytes."""


def build_mask(positions: Iterable[int], nodes: int) -> int:
    """Return the set of these positions among `nodes` Nodes."""
    bits = bytearray((nodes + 7) // 8)
    for position in positions:
        bits[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(bits, "little")


def iterate_mask(mask: int) -> Iterable[int]:
    """Yield the positions in a set, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class Labels:
    """The labels of all Nodes."""

    def __init__(self, names: Sequence[str], labels: Sequence[dict[str, str]]) -> None:
        self.everything = (1 << len(names)) - 1
        self._names = {name: position for position, name in enumerate(names)}
        self._labels = labels
        self._values: dict[str, dict[str, list[int]]] = {}
        self._masks: dict[tuple[str, str], int] = {}

    def having(self, key: str, value: str) -> int:
        """Return the Nodes with exactly this label."""
        mask = self._masks.get((key, value))
        if mask is None:
            if len(self._masks) >= MASKS_CACHED_MAX:
                self._masks.clear()
            mask = build_mask(self._positions(key).get(value, ()), len(self._labels))
            self._masks[key, value] = mask
        return mask

    def having_key(self, key: str) -> int:
        """Return the Nodes with this label, whatever its value."""
        return build_mask((i for positions in self._positions(key).values() for i in positions), len(self._labels))

    def values(self, key: str) -> Iterable[str]:
        """Return the values that this label has somewhere."""
        return self._positions(key).keys()

    def named(self, name: str) -> int:
        """Return the one Node of this name, as a set; empty when there is none."""
        position = self._names.get(name)
        return 0 if position is None else 1 << position

    def _positions(self, key: str) -> dict[str, list[int]]:
        values = self._values.get(key)
        if values is None:
            if len(self._values) >= KEYS_CACHED_MAX:
                self._values.clear()
            values = {}
            for position, labels in enumerate(self._labels):
                value = labels.get(key)
                if value is not None:
                    values.setdefault(value, []).append(position)
            self._values[key] = values
        return values
