"""What stands on a Node, in events and in buckets, as values that parse and format: the standard library alone.

Readers keep what they do not know; writers write only what stands here; absent means absent, never null.
"""
