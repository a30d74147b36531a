"""The case file: its tables, its keys, its variants, and what follows from them."""
