"""A small cluster of network namespaces: its plan, its inhabitants, and the packets they send."""
