"""Expressions in the coordinates, as a case file may give them for a velocity: `4*y*(Ly - y)/Ly^2`.

Only numbers, names, + - * / ^ and a few functions are accepted; no other Python is evaluated.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from slipstream.base.errors import ArgumentError, ErrorCode

#: Largest number of characters of an expression in a case file.
LONGEST = 500

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_UNARY: dict[type, Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
}


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression where names stand for numbers or arrays of one shape; `^` and `**` are powers.

    Raises ValueError for unknown names and functions, other syntax than arithmetic, and values that are not finite.
    """
    if len(text) > LONGEST:
        raise ArgumentError(
            f"the expression has {len(text)} characters; at most {LONGEST} are read", given=len(text), allowed=LONGEST
        )
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
        with np.errstate(all="ignore"):
            value = _value(tree.body, {"pi": np.pi, **names})
    except SyntaxError as error:
        raise ArgumentError(f"'{text}' is no expression: {error.msg}", given=text) from None
    except (RecursionError, MemoryError):
        raise ArgumentError(f"'{text}' is nested too deeply", ErrorCode.OVERFLOW, given=text) from None
    except ZeroDivisionError:
        raise ArgumentError(f"'{text}' divides by zero", ErrorCode.OVERFLOW, given=text, value="1/0") from None
    if not np.all(np.isfinite(value)):
        raise ArgumentError(f"'{text}' is not finite everywhere", ErrorCode.OVERFLOW, given=text)
    return value


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            # Numbers are floating-point, because large powers of Python integers would take all memory.
            return np.float64(number)
        case ast.Name(id=name):
            if name not in names:
                raise ArgumentError(
                    f"'{name}' is not known; there are {', '.join(sorted(names))}",
                    ErrorCode.NOT_FOUND,
                    name=name,
                    allowed=", ".join(sorted(names)),
                )
            return names[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand, names))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            if name not in _FUNCTIONS:
                raise ArgumentError(
                    f"there is no function '{name}'; there are {', '.join(sorted(_FUNCTIONS))}",
                    ErrorCode.NOT_FOUND,
                    function=name,
                    allowed=", ".join(sorted(_FUNCTIONS)),
                )
            wanted = 2 if name in ("min", "max") else 1
            if len(arguments) != wanted:
                raise ArgumentError(
                    f"{name} takes {wanted} value{'s'[: wanted - 1]}, not {len(arguments)}",
                    function=name,
                    given=len(arguments),
                    needed=wanted,
                )
            return _FUNCTIONS[name](*(_value(argument, names) for argument in arguments))
    raise ArgumentError(
        f"'{ast.unparse(node)}' is no arithmetic: numbers, names, + - * / ^, brackets and functions are",
        ErrorCode.UNSUPPORTED,
        given=ast.unparse(node),
    )
