"""The keys on a Node: two labels that ask, three annotations that answer. Their prefix is one setting."""

import re
from typing import NamedTuple

DEFAULT_PREFIX = "cloud.google.com/"

STATUS_BYTES_MAX = 80
RUN_BYTES_MAX = 4096
OUTPUT_BYTES_MAX = 8192
"""The admission policies refuse longer values of the three annotations, whoever writes them."""

READ_BYTES_MAX = 256 * 1024
"""All annotations of one object together (kube-apiserver, objectmeta.go): nothing longer can be there to read."""

_PREFIX = re.compile(r"(?=.{1,253}/$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/")


class Keys(NamedTuple):
    """The five keys under one prefix: `trigger` and `disable` are labels, the others annotations."""

    trigger: str
    disable: str
    status: str
    run: str
    output: str


def build_keys(prefix: str = DEFAULT_PREFIX) -> Keys:
    """Put the prefix before each key; `ValueError` when it is not a DNS-1123 subdomain and a slash."""
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f"the key prefix {prefix!r} is not a DNS name followed by one slash, like {DEFAULT_PREFIX!r}")
    return Keys(
        trigger=prefix + "trigger-gpu-report",
        disable=prefix + "disable-gpu-report",
        status=prefix + "gpu-report-status",
        run=prefix + "gpu-report-run",
        output=prefix + "gpu-report-output",
    )


def is_on(label_value: str | None) -> bool:
    """Say whether a label of ours asks for something: any value but exactly `false`, the empty one included."""
    return label_value is not None and label_value != "false"
