"""One file per measurement: each fulfils `Measurement` and returns rows."""
