"""The documentation, and the programs that belong to it."""
