"""The entry points that functions-framework serves: one name per function, nothing else.

At the root of the bundle stands a copy of this file, beside the packages that it imports.
"""

from flask import Request

from functions import bootstrap
from functions.entry import Reply, serve


def archive_report(request: Request) -> Reply:
    """Take the events of the topic `reports`."""
    return serve(request, bootstrap.ARCHIVE_REPORT)


def write_status(request: Request) -> Reply:
    """Take the events of the topic `results`."""
    return serve(request, bootstrap.WRITE_STATUS)
