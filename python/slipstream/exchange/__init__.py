"""Halos, sums over shared points and reductions of arrays that your program owns."""
