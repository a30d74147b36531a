"""Expressions in case files: values and errors."""

import numpy as np
import pytest
from errors import raises
from slipstream.case.expression import evaluate

Y = np.linspace(0.0, 4.0, 9)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2*3", 7),
        ("2^3^2", 512),
        ("-2^2", -4),
        ("4*0.05*y*(H-y)/H^2", 0.2 * Y * (4 - Y) / 16),
        ("sin(pi*y) + max(y, 2) - min(1, y)", np.sin(np.pi * Y) + np.maximum(Y, 2) - np.minimum(1, Y)),
        ("sqrt(abs(y - 3)) * tanh(y) * exp(-y)", np.sqrt(np.abs(Y - 3)) * np.tanh(Y) * np.exp(-Y)),
    ],
)
def test_value_is_that_of_the_arithmetic(text: str, value: object) -> None:
    np.testing.assert_allclose(evaluate(text, {"y": Y, "H": 4.0}), value, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(
    ("text", "code", "facts"),
    [
        ("4*y*", "invalid_argument", {"given": "4*y*"}),
        ("h*y", "not_found", {"name": "h", "allowed": "H, pi, y"}),
        ("erf(y)", "not_found", {"function": "erf"}),
        ("sin(y, y)", "invalid_argument", {"function": "sin", "given": 2, "needed": 1}),
        ("min(y)", "invalid_argument", {"function": "min", "given": 1, "needed": 2}),
        ("1/y", "overflow", {"given": "1/y"}),
        ("log(y - 9)", "overflow", {"given": "log(y - 9)"}),
        ("9^9^9^9", "overflow", {"given": "9^9^9^9"}),
        ("True", "unsupported", {"given": "True"}),
        ("'a'*3", "unsupported", {"given": "'a'"}),
        ("y.T", "unsupported", {"given": "y.T"}),
        ("[y]", "unsupported", {"given": "[y]"}),
        ("__import__('os')", "not_found", {"function": "__import__"}),
        ("(lambda: 1)()", "unsupported", {"given": "(lambda: 1)()"}),
        ("y if y else 1", "unsupported", {"given": "y if y else 1"}),
        ("y" + "+y" * 300, "invalid_argument", {"given": 601, "allowed": 500}),
        ("(" * 240 + "y" + ")" * 240, "invalid_argument", {"given": "(" * 240 + "y" + ")" * 240}),
    ],
)
def test_what_is_no_arithmetic_is_refused(text: str, code: str, facts: dict[str, object]) -> None:
    with raises(ValueError, code, **facts):
        evaluate(text, {"y": Y, "H": 4.0})
