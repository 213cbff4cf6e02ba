"""A small HTTP/1.1 client: what talking to one API server takes, and nothing else."""
