"""Why a GPU Pod does not run: Kubernetes objects in, verdict out. Pure: nothing is read, asked or timed here."""
