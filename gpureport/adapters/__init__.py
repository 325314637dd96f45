"""Fulfils the ports of `gpureport.ports`, one vendor to a module, each imported at its first use."""
