"""Addresses and layouts of arrays of NumPy, CuPy, PyTorch, JAX and Numba, by their array protocols."""

import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from slipstream.base.core import core
from slipstream.base.errors import ArgumentError, ErrorCode, OptionError

#: Names of number formats by NumPy's kind and size in bytes. Calls that only move values also accept other formats of
#: the same size.
_FORMATS = {
    ("f", 2): "f16",
    ("f", 4): "f32",
    ("f", 8): "f64",
    ("i", 4): "i32",
    ("i", 8): "i64",
    ("u", 1): "u8",
    ("c", 8): "c64",
    ("c", 16): "c128",
}
_BY_SIZE = {1: "u8", 2: "f16", 4: "i32", 8: "i64"}
#: Letters that NumPy has for kinds of number formats, by the type codes of DLPack.
_KINDS = {0: "i", 1: "u", 2: "f", 4: "V", 5: "c", 6: "b"}
_OTHER_ORDER = ">" if sys.byteorder == "little" else "<"


@dataclass(frozen=True)
class Described:
    """Address, shape and strides of an array; strides in elements."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int  #: size of a value in bytes
    format: str
    exact: bool  #: whether values of the array have the number format `format`, and not another one of the same size
    on_host: bool
    read_only: bool

    def ends(self) -> tuple[int, int]:
        """Addresses of the first byte of the array, and of the one behind its last."""
        steps = [(n - 1) * stride * self.size for n, stride in zip(self.shape, self.strides, strict=True)]
        return self.pointer + sum(s for s in steps if s < 0), self.pointer + sum(s for s in steps if s > 0) + self.size


def describe(array: Any, name: str) -> Described:
    """Describes an array. No reference is kept: the array must outlive all uses of the address. `name`: for errors."""
    for attribute in ("__cuda_array_interface__", "__array_interface__"):
        interface = getattr(array, attribute, None)
        if interface is not None:
            return _from_interface(interface, attribute == "__array_interface__", name)
    try:
        # An object with the buffer protocol may state no strides; a memoryview of it does.
        held = array if hasattr(array, "__dlpack__") else memoryview(array)
        if isinstance(held, memoryview):
            require_own_order(held.format, name)
        facts = core().array_facts(held)
    except TypeError:
        raise OptionError(
            f"{name}: {type(array).__name__} is no array that can be used where it lies: it must offer "
            "__cuda_array_interface__, __array_interface__, DLPack or a buffer",
            argument=name,
            given=type(array).__name__,
        ) from None
    kind, size = _KINDS.get(facts["kind"], "V"), facts["bits"] // 8
    shape, strides = tuple(facts["shape"]), tuple(facts["strides"])
    how = (*_format(kind, size, name), facts["host"], facts["read_only"])
    return _aligned(Described(facts["pointer"], shape, strides, size, *how), name)


def _from_interface(interface: dict[str, Any], on_host: bool, name: str) -> Described:
    parts = re.fullmatch(r"([<>|=])([a-zA-Z])(\d+)", interface["typestr"])
    if not parts:
        raise OptionError(
            f"{name}: values of the type '{interface['typestr']}' cannot be exchanged: use numbers",
            ErrorCode.UNSUPPORTED,
            argument=name,
            given=interface["typestr"],
        )
    kind, size = parts[2], int(parts[3])
    found, exact = _format(kind, size, name)
    require_own_order(interface["typestr"], name)
    if not isinstance(interface.get("data"), tuple):
        raise OptionError(
            f"{name}: the array's interface states no address ('data'): give one that does",
            argument=name,
            needed="data",
        )
    pointer, read_only = interface["data"]
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    if strides is None:
        strides = tuple(math.prod(shape[axis + 1 :]) * size for axis in range(len(shape)))
    if any(stride % size for stride in strides):
        raise ArgumentError(
            f"{name}: strides of {strides} bytes are no multiples of the {size} bytes of a value: copy the array",
            ErrorCode.UNSUPPORTED,
            argument=name,
            given=strides,
            needed=f"multiples of {size}",
        )
    in_values = tuple(stride // size for stride in strides)
    how = (size, found, exact, on_host, bool(read_only))
    return _aligned(Described(pointer or 0, shape, in_values, *how), name)


def require_own_order(text: str, name: str) -> None:
    """Raises an error for byte-swapped values. text: a number format, which may begin with a byte order."""
    if text.startswith((_OTHER_ORDER, "!")):
        raise ArgumentError(
            f"{name}: the array's numbers ('{text}') have the other byte order than this machine's: give "
            'array.astype(dtype.newbyteorder("="))',
            ErrorCode.UNSUPPORTED,
            argument=name,
            given=text,
            needed="native byte order",
        )


def _aligned(array: Described, name: str) -> Described:
    if array.pointer % array.size:
        raise ArgumentError(
            f"{name}: the array's address is no multiple of the {array.size} bytes of a value: copy the array",
            ErrorCode.UNSUPPORTED,
            argument=name,
            given=array.pointer,
            needed=f"a multiple of {array.size}",
        )
    return array


def _format(kind: str, size: int, name: str) -> tuple[str, bool]:
    """Name of the number format in which values of an array are moved, and whether it is their own format. Otherwise it
    is another one of the same size."""
    exact = _FORMATS.get((kind, size))
    found = exact or (_BY_SIZE.get(size) if kind in "biufc" else None)
    if found is None:
        raise OptionError(
            f"{name}: values of kind '{kind}' and {size} bytes cannot be exchanged: use numbers of 1, 2, 4 or 8 bytes, "
            "or complex128",
            ErrorCode.UNSUPPORTED,
            argument=name,
            given=f"{kind}{size}",
        )
    return found, exact is not None


def require_writable(array: Described, name: str, why: str) -> None:
    if array.read_only:
        raise ArgumentError(
            f"{name}: the array is read-only, but {why}: pass a writable array",
            ErrorCode.UNSUPPORTED,
            argument=name,
            given="read-only",
            needed="writable",
        )


@contextmanager
def told_to_others(refuse: Callable[[], object]) -> Iterator[None]:
    """Context in which a rank checks the arguments of a collective call. If they are invalid, the function `refuse`
    makes the call without arguments. Other ranks, which compare their calls with it, then learn of the error."""
    try:
        yield
    except (TypeError, ValueError):
        with suppress(RuntimeError, TimeoutError):
            refuse()
        raise


def stream_pointer(stream: Any) -> int:
    """The native address of a stream: an integer, CuPy's .ptr, PyTorch's .cuda_stream, or __cuda_stream__."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for attribute in ("ptr", "cuda_stream", "handle"):
        if hasattr(stream, attribute):
            value = getattr(stream, attribute)
            return int(getattr(value, "value", value) or 0)
    raise OptionError(
        f"{type(stream).__name__} is no stream: pass its address, or a stream of CuPy, PyTorch or Numba",
        argument="stream",
        given=type(stream).__name__,
    )


def one_each(given: Any, devices: int) -> list[Any]:
    """Arrays by device of a rank, from a list, or from a single array where there is one device."""
    found = list(given) if isinstance(given, list | tuple) else [given]
    if len(found) != devices:
        raise ArgumentError(
            f"{len(found)} arrays for the {devices} devices of this rank: give one for each",
            given=len(found),
            needed=devices,
        )
    return found


def packed(array: Any, values: int, dtype: str, backend: str, done: str, components: int = 1) -> Described:
    """Describes an array of `values` contiguous values, in memory that the backend's kernels reach. `done`: a
    participle for error messages that states what happens to the values, such as "reduced". Several components are the
    first axis if the array has several axes."""
    found = describe(array, f"an array of values that are {done}")
    size = math.prod(found.shape)
    if size != values or found.format != dtype or not found.exact:
        kind = found.format if found.exact else "another format"
        raise ArgumentError(
            f"an array holds {size} values of {kind}, but {values} of {dtype} are {done}",
            ErrorCode.MISMATCH,
            given=f"{size} x {kind}",
            needed=f"{values} x {dtype}",
        )
    if components > 1 and len(found.shape) > 1 and found.shape[0] != components:
        raise ArgumentError(
            f"an array has the shape {found.shape}, but its first axis must be that of the {components} components: "
            "move it there and copy the array (numpy.moveaxis, numpy.ascontiguousarray)",
            ErrorCode.MISMATCH,
            given=found.shape,
            needed=components,
        )
    if found.on_host != (backend == "host"):
        here = "host" if found.on_host else "GPU"
        raise ArgumentError(
            f"an array lies in {here} memory, but the grid's backend is {backend}",
            ErrorCode.MISMATCH,
            given=here,
            needed=backend,
        )
    expected = 1
    for extent, stride in zip(reversed(found.shape), reversed(found.strides), strict=True):
        if extent > 1 and stride != expected and size:
            raise ArgumentError(
                f"an array has the strides {found.strides}: its values must lie side by side",
                ErrorCode.UNSUPPORTED,
                given=found.strides,
            )
        expected *= extent
    return found
