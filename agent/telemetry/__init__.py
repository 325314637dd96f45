"""Says what the agent does: the log."""
