"""Initial states, measurements and published references of flows."""
