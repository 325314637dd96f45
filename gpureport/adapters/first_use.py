"""How are the vendors' libraries imported at their first use, by whichever thread comes first? One thread at a time.

Python lets one of two threads that import each other's modules go on with a half-made one instead of waiting for ever,
and an import that failed so can leave the process unable to import it again. Our adapters share this lock.
"""

import threading

LOADING = threading.RLock()
"""Held while an adapter imports its library and opens its client; about half a second, once a process."""
