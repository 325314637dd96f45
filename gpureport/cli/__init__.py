"""The desk: a file per command, and the edges (terminal, exit codes, where objects come from) that they share."""
