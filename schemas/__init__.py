"""What objects may look like: pure functions over plain JSON values, no I/O."""
