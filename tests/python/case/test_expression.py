"""Expressions of a case file: their values, and what is refused."""

import numpy as np
import pytest
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
    ("text", "says"),
    [
        ("4*y*", "is no expression"),
        ("h*y", "'h' is not known; there are H, pi, y"),
        ("erf(y)", "there is no function 'erf'"),
        ("sin(y, y)", "sin takes 1 value, not 2"),
        ("min(y)", "min takes 2 values, not 1"),
        ("1/y", "is not finite everywhere"),
        ("log(y - 9)", "is not finite everywhere"),
        ("9^9^9^9", "is not finite everywhere"),
        ("True", "'True' is no arithmetic"),
        ("'a'*3", "is no arithmetic"),
        ("y.T", "'y.T' is no arithmetic"),
        ("[y]", "is no arithmetic"),
        ("__import__('os')", "there is no function '__import__'"),
        ("(lambda: 1)()", "is no arithmetic"),
        ("y if y else 1", "is no arithmetic"),
        ("y" + "+y" * 300, "at most 500 are read"),
        ("(" * 240 + "y" + ")" * 240, ""),
    ],
)
def test_what_is_no_arithmetic_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=".") as error:
        evaluate(text, {"y": Y, "H": 4.0})
    assert says in str(error.value)
