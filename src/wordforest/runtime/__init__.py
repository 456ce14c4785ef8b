"""What computing stands on: threads, the GPU, the cluster, memory, signals, progress."""
