"""What every room may use: the compiled module, errors, TOML text, tables of keys and of the terminal."""
