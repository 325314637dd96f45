"""Remembers the run and the outbox across the agent's own death: versioned, atomic files and one lock."""
