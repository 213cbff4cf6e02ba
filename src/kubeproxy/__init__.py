"""kube-proxy: the per-node service proxy of Kubernetes."""
