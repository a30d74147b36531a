"""Basis of all other packages: compiled module, errors, TOML text, tables of keys, terminal output."""
