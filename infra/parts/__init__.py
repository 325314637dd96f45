"""Real counterparts for tests and for the local pipeline: brought into a cache once, each usable alone."""
