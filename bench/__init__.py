"""The budgets of the pipeline as measurements: `python -m bench`."""
