"""Keys of cases that have new names. A case may still have the old ones; one line then says so."""

from collections.abc import Iterable
from typing import Any

from slipstream.base import toml_text

#: Keys that were renamed, by table and old name, each with its present name.
RENAMED: dict[tuple[str, ...], str] = {("physics", "lid_speed"): "reference_velocity"}


def rename(data: dict[str, Any]) -> list[str]:
    """Renames old keys in the tables of a case, and returns the old ones. If a case has both names, both stay, and the
    old one is then unknown.
    """
    found = []
    for (*tables, old), new in RENAMED.items():
        table: Any = data
        for name in tables:
            table = table.get(name) if isinstance(table, dict) else None
        if isinstance(table, dict) and old in table and new not in table:
            # The new key takes the position of the old one.
            entries = [(new if key == old else key, value) for key, value in table.items()]
            table.clear()
            table.update(entries)
            found.append(".".join((*tables, old)))
    return found


def current(override: str) -> str:
    """An override such as a.b=c, with the present name of its key if the key was renamed."""
    key, _ = toml_text.parse_override(override)
    new = RENAMED.get(key)
    return override if new is None else ".".join((*key[:-1], new)) + "=" + override.partition("=")[2]


def told(old: Iterable[str]) -> str:
    """A line about keys that were given by their old names; empty for none."""
    by_name = {".".join(key): ".".join((*key[:-1], new)) for key, new in RENAMED.items()}
    found = [f"{key} is called {by_name[key]} now" for key in dict.fromkeys(old)]
    return f"{', '.join(found)}; the old name still works" if found else ""
