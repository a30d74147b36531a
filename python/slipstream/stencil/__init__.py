"""Finite differences in time and space: the heat equation and acoustic waves."""
