"""Is this report file whole, and what does it say: values in, verdict out."""
