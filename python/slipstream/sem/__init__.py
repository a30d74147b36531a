"""Spectral elements: Poisson's, Helmholtz's and the diffusion equation."""
