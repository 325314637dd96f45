"""What the functions are told from outside: the environment's variables, read when a function is first needed.

What is built from them stands in `bootstrap`; what a cluster's entry means in `clusters`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gpureport.contract.events import RESULTS
from gpureport.contract.keys import DEFAULT_PREFIX, Keys, build_keys

CLUSTERS_BYTES_MAX = 1024 * 1024
"""A fleet of a few thousand clusters, each with an entry of 300 bytes."""


class ConfigurationError(Exception):
    """A variable is missing or wrong: no event can be served before somebody mends it."""


class Settings(NamedTuple):
    """The variables, checked; `clusters_text` is the cluster map's JSON."""

    project: str
    staging_bucket: str
    archive_bucket: str
    clusters_text: str
    keys: Keys
    results_topic: str


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the variables; `ConfigurationError` names every missing one at once."""
    needed = {
        "GOOGLE_CLOUD_PROJECT": "the project of the topics and buckets",
        "STAGING_BUCKET": "the bucket that agents fill",
        "ARCHIVE_BUCKET": "the bucket of the archive",
        "CLUSTERS": "the cluster map, JSON or @/path/of/a/file",
    }
    missing = [f"{name} ({what})" for name, what in needed.items() if not environment.get(name)]
    if missing:
        raise ConfigurationError(f"not set in the environment: {', '.join(missing)}")
    try:
        keys = build_keys(environment.get("KEY_PREFIX") or DEFAULT_PREFIX)
    except ValueError as error:
        raise ConfigurationError(f"KEY_PREFIX: {error}") from None
    return Settings(
        project=environment["GOOGLE_CLOUD_PROJECT"],
        staging_bucket=environment["STAGING_BUCKET"],
        archive_bucket=environment["ARCHIVE_BUCKET"],
        clusters_text=_read_clusters_text(environment["CLUSTERS"]),
        keys=keys,
        results_topic=environment.get("RESULTS_TOPIC") or RESULTS,
    )


def _read_clusters_text(value: str) -> str:
    if not value.startswith("@"):
        return value
    path = Path(value[1:])
    try:
        with path.open("rb") as file:
            data = file.read(CLUSTERS_BYTES_MAX + 1)
        if len(data) > CLUSTERS_BYTES_MAX:
            raise ConfigurationError(f"CLUSTERS: {path} is longer than {CLUSTERS_BYTES_MAX} bytes")
        return data.decode()
    except OSError as error:
        raise ConfigurationError(f"CLUSTERS: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"CLUSTERS: {path} is not UTF-8 text") from None
