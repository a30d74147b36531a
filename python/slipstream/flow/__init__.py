"""What a flow starts from, what is measured of it, and what is published of such flows."""
