"""Control characters written out, so that a terminal does not obey them and TOML may hold them."""

import re

#: Unicode's control characters (category Cc) except tab and line feed.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    r"""Replaces each control character, except tab and line feed, by text such as \u001b."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
