"""What agent, functions and desk share. Importing this package imports nothing else."""
