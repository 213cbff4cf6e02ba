"""Kubernetes objects, spelled as the API spells them."""
