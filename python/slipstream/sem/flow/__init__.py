"""Incompressible flow on spectral elements."""
