"""Pseudo-spectral simulation of turbulence in a periodic box."""
