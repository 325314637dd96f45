"""Runs the host's bug-report script, in bounds, and keeps what it wrote: no verdict on it, no Kubernetes."""
