"""Route names that Python knows before the engine is loaded."""

from slipstream.base import routes
from slipstream.base.core import core


def test_python_knows_the_routes_of_the_engine():
    engines = core().routes("host")
    assert [route["name"] for route in engines] == list(routes.NAMES)
    assert {route["name"] for route in engines if route["needs_host"]} == routes.DRIVEN_BY_HOST
