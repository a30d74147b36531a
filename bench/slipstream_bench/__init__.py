"""Benchmarks: each is a module that measures, prints a table and keeps its rows."""
