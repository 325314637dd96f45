"""A Pub/Sub for one machine: a small broker of ours, or Google's emulator."""
