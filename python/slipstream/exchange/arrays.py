"""Arrays of other libraries as addresses: NumPy, CuPy, PyTorch, JAX, Numba, by the protocols that they speak."""

import math
from dataclasses import dataclass
from typing import Any

from slipstream.base.core import core

#: Number formats by NumPy's kind and size in bytes. What only moves values may let formats of one size stand for each
#: other.
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
#: DLPack's type codes as NumPy's kinds.
_KINDS = {0: "i", 1: "u", 2: "f", 4: "V", 5: "c", 6: "b"}


@dataclass(frozen=True)
class Described:
    """Where an array lies and how; strides in elements."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    format: str
    exact: bool  #: whether the values are numbers of this format, and not others of its size
    on_host: bool


def describe(array: Any) -> Described:
    """Takes no reference: the array must outlive what is done with the address."""
    for attribute in ("__cuda_array_interface__", "__array_interface__"):
        interface = getattr(array, attribute, None)
        if interface is not None:
            return _from_interface(interface, on_host=attribute == "__array_interface__")
    try:
        facts = core().array_facts(array)
    except TypeError:
        raise TypeError(
            f"{type(array).__name__} is no array that can be written where it lies: it must offer "
            "__cuda_array_interface__, __array_interface__ or DLPack, and not be read-only"
        ) from None
    kind = _KINDS.get(facts["kind"], "V")
    return Described(
        facts["pointer"],
        tuple(facts["shape"]),
        tuple(facts["strides"]),
        *_format(kind, facts["bits"] // 8),
        facts["host"],
    )


def _from_interface(interface: dict[str, Any], on_host: bool) -> Described:
    pointer, read_only = interface["data"]
    if read_only:
        raise ValueError("the array is read-only, but an exchange writes its ghost cells: pass a writable array")
    kind, size = interface["typestr"][1], int(interface["typestr"][2:])
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        packed = [1]
        for extent in shape[:0:-1]:
            packed.insert(0, packed[0] * extent)
        return Described(pointer, shape, tuple(packed[: len(shape)]), *_format(kind, size), on_host)
    if any(stride % size for stride in strides):
        raise ValueError(f"strides of {strides} bytes are no multiples of the {size} bytes of a value: copy the array")
    return Described(pointer, shape, tuple(s // size for s in strides), *_format(kind, size), on_host)


def _format(kind: str, size: int) -> tuple[str, bool]:
    """The format that stands for the numbers, and whether they are of it."""
    exact = _FORMATS.get((kind, size))
    found = exact or (_BY_SIZE.get(size) if kind in "biufc" else None)
    if found is None:
        raise TypeError(
            f"values of kind '{kind}' and {size} bytes cannot be exchanged: use numbers of 1, 2, 4 or 8 bytes, "
            "or complex128"
        )
    return found, exact is not None


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
    raise TypeError(f"{type(stream).__name__} is no stream: pass its address, or a stream of CuPy, PyTorch or Numba")


def one_each(given: Any, devices: int) -> list[Any]:
    """An array for each device of a rank, from a list, or from the array alone where there is one device."""
    found = list(given) if isinstance(given, list | tuple) else [given]
    if len(found) != devices:
        raise ValueError(f"{len(found)} arrays for the {devices} devices of this rank: give one for each")
    return found


def packed(array: Any, values: int, dtype: str, backend: str, done: str, components: int = 1) -> int:
    """The address of an array of so many values, side by side, where the backend's kernels reach them. `done`: what
    becomes of them, in the error. Several components are the first axis of an array of more axes than one."""
    found = describe(array)
    size = math.prod(found.shape)
    if size != values or found.format != dtype or not found.exact:
        kind = found.format if found.exact else "another format"
        raise ValueError(f"an array holds {size} values of {kind}, but {values} of {dtype} are {done}")
    if components > 1 and len(found.shape) > 1 and found.shape[0] != components:
        raise ValueError(
            f"an array has the shape {found.shape}, but its first axis must be that of the {components} components: "
            "move it there and copy the array (numpy.moveaxis, numpy.ascontiguousarray)"
        )
    if found.on_host != (backend == "host"):
        here = "host" if found.on_host else "GPU"
        raise ValueError(f"an array lies in {here} memory, but the grid's backend is {backend}")
    expected = 1
    for extent, stride in zip(reversed(found.shape), reversed(found.strides), strict=True):
        if extent > 1 and stride != expected:
            raise ValueError(f"an array has the strides {found.strides}: its values must lie side by side")
        expected *= extent
    return found.pointer
