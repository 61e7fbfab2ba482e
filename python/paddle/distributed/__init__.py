"""Starting the processes of a distributed training."""
