"""What the pipeline runs on."""
