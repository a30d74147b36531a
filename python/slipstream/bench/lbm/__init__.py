"""Benchmarks of lattice Boltzmann."""
