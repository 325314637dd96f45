"""Reaches the apiserver for one thing: reading, watching and patching the agent's own Node."""
