"""Keys of cases that have new names. A case may still have the old ones; one line then says so."""

from collections.abc import Iterable
from typing import Any

from slipstream.base import toml_text

#: Old key, and the name that its table has for it now.
RENAMED: dict[tuple[str, ...], str] = {("physics", "lid_speed"): "reference_velocity"}


def rename(data: dict[str, Any]) -> list[str]:
    """Gives old keys in tables of a case their new names, and returns the old ones. A case with both keeps both: the
    old one is then unknown."""
    found = []
    for (*tables, old), new in RENAMED.items():
        table: Any = data
        for name in tables:
            table = table.get(name) if isinstance(table, dict) else None
        if isinstance(table, dict) and old in table and new not in table:
            # In the place of the old one.
            entries = [(new if key == old else key, value) for key, value in table.items()]
            table.clear()
            table.update(entries)
            found.append(".".join((*tables, old)))
    return found


def current(override: str) -> str:
    """An override by the new name of its key."""
    key, _ = toml_text.parse_override(override)
    new = RENAMED.get(key)
    return override if new is None else ".".join((*key[:-1], new)) + "=" + override.partition("=")[2]


def told(old: Iterable[str]) -> str:
    """One line for the keys that were given by their old names; empty for none."""
    by_name = {".".join(key): ".".join((*key[:-1], new)) for key, new in RENAMED.items()}
    found = [f"{key} is called {by_name[key]} now" for key in dict.fromkeys(old)]
    return f"{', '.join(found)}; the old name still works" if found else ""
