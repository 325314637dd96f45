"""Cloud Storage on one machine: fake-gcs-server behind a proxy that keeps the generation conditions it ignores.

Idempotency of the pipeline rests on those conditions. What neither keeps (retention, holds, lifecycle, IAM,
metageneration: it stays 1) is not promised here. No code of the pipeline imports this package.
"""
