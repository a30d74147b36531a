"""Benchmarks: each module measures, prints a table and stores its rows."""
