"""Fleet: one script for all processes of a distributed training."""
