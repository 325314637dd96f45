"""The exit codes of every command of this project, one meaning each. A code is never given a second meaning."""

EXIT_OK = 0
EXIT_NOT_FOUND = 1
"""The thing asked about does not exist."""
EXIT_USAGE = 2
"""The command line, a file or the configuration is wrong; argparse uses the same code."""
EXIT_PARTIAL = 3
"""A report was kept, but it is not whole."""
EXIT_NONE = 4
"""No report was collected."""
EXIT_UNAVAILABLE = 5
"""A counterpart (cluster, bucket, topic) did not answer; the same command may succeed later."""
EXIT_REFUSED = 6
"""A counterpart refused: permission, policy."""
EXIT_INTERNAL = 70
"""A fault of this program (EX_SOFTWARE of sysexits.h)."""
EXIT_INTERRUPTED = 130
"""Ended by Ctrl-C (128 + SIGINT), as shells count it."""
