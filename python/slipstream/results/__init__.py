"""The folder that a run leaves."""
