"""What the transpiler attaches to programs, and how executors run these."""
