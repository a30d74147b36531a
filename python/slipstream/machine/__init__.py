"""Nodes, ranks, devices and links: those that are there, those that a machine file describes, and how ranks start."""
