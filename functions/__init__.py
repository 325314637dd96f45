"""What runs in the cloud: HTTP entry points behind Pub/Sub push, each a decision over ports."""
