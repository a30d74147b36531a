"""Bodies in the flow, from meshes and numbers, and the box round them."""
