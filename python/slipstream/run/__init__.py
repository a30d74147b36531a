"""A case from its plan to its last step: the loop over time, checkpoints, fields, and what is said of them."""
