"""The agent: one small process per GPU node that serves its Node's report requests with the standard library alone."""

__version__ = "0.1.0"
