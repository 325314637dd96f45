"""What are the functions made of? Builds each handler from the environment, once per process, when it is first needed.

The only place that knows which adapter fulfils which port.
"""

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial

from functions import archive_report, write_status
from functions.clusters import Clusters, connect, parse_clusters
from functions.entry import Function, Handler
from functions.settings import Settings, read_settings

Build = Callable[[Settings], Handler]


class Lazy:
    """Builds a handler at its first use, once however many threads ask; a failed build is tried again."""

    def __init__(self, build: Build, environment: Mapping[str, str]) -> None:
        self._build = build
        self._environment = environment
        self._handler: Handler | None = None
        self._lock = threading.Lock()

    def find(self) -> Handler:
        """Return the handler; `ConfigurationError` when the environment does not allow to build it."""
        with self._lock:
            if self._handler is None:
                self._handler = self._build(read_settings(self._environment))
            return self._handler


def build_archive_report(settings: Settings) -> Handler:
    """Build the handler of archive_report."""
    from functions.archiving import ArchivePorts
    from functions.judging import build_judge
    from gpureport.adapters.google_pubsub import GooglePublisher
    from gpureport.adapters.google_storage import GoogleBucket

    staging = GoogleBucket(settings.staging_bucket, project=settings.project)
    ports = ArchivePorts(
        staging=staging,
        archive=staging.open_beside(settings.archive_bucket),
        publisher=GooglePublisher(settings.project),
        results_topic=settings.results_topic,
        build_judge=build_judge,
    )
    clusters = Clusters(parse_clusters(settings.clusters_text), connect)
    return partial(archive_report.archive_report, find_cluster=clusters.find, keys=settings.keys, ports=ports)


def build_write_status(settings: Settings) -> Handler:
    """Build the handler of write_status."""
    from gpureport.adapters.google_pubsub import GooglePublisher
    from gpureport.adapters.google_storage import GoogleBucket

    ports = write_status.StatusPorts(
        archive=GoogleBucket(settings.archive_bucket, project=settings.project),
        publisher=GooglePublisher(settings.project),
        results_topic=settings.results_topic,
    )
    clusters = Clusters(parse_clusters(settings.clusters_text), connect)
    return partial(write_status.write_status, find_cluster=clusters.find, keys=settings.keys, ports=ports)


ARCHIVE_REPORT = Function("archive_report", archive_report.TYPES, Lazy(build_archive_report, os.environ).find)
WRITE_STATUS = Function("write_status", write_status.TYPES, Lazy(build_write_status, os.environ).find)
