"""Arrays of callers as the fields of an exchange: checked, described, and agreed on by all ranks."""

import json
from typing import Any

from slipstream.base.errors import ArgumentError, ErrorCode
from slipstream.exchange import apart, arrays
from slipstream.exchange.grid import Grid
from slipstream.machine.told import Triple

#: Keys of the description of a field that follow from its arrays.
KIND = ("type", "components")


def item(
    grid: Grid,
    name: str,
    value: Any,
    widths: dict[str, Triple],
    layout: str,
    how: dict[str, str | None],
    *,
    written: str = "",
    places: list[apart.Place] | None = None,
) -> dict[str, Any]:
    """Describes one field of an exchange for the compiled module. written: reason why the call writes it, if it does.
    places: list to which the memory ranges of its arrays are added."""
    copies = value if isinstance(value, tuple) else (value,)
    lists = [copy if isinstance(copy, list) else [copy] for copy in copies]
    for given in lists:
        if len(given) != len(grid.local):
            raise ArgumentError(
                f"field '{name}': {len(given)} arrays for the {len(grid.local)} blocks of this rank",
                ErrorCode.MISMATCH,
                field=name,
                given=len(given),
                needed=len(grid.local),
            )
    found = []
    for block in range(len(grid.local)):
        for given in lists:
            array = arrays.describe(given[block], f"field '{name}'")
            if written:
                arrays.require_writable(array, f"field '{name}'", written)
            if places is not None:
                places.append(apart.place_of(array, _place_name(name, block, len(grid.local)), bool(written)))
            if how.get("combine") and not array.exact:
                raise ArgumentError(
                    f"field '{name}' is to be combined by '{how['combine']}', but its values are not of f32, f64, i32, "
                    "i64, u8, c64 or c128: exchanges compute with these only",
                    ErrorCode.UNSUPPORTED,
                    field=name,
                    argument="combine",
                    given=how["combine"],
                )
            components = _check(grid, name, block, array, widths, layout)
            found.append((array, components))
    if len({(array.format, components) for array, components in found}) > 1:
        raise ArgumentError(
            f"field '{name}': its arrays differ in number format or components", ErrorCode.MISMATCH, field=name
        )
    return {
        "name": name,
        # A rank without blocks has no array; agree() gets the number format and components from other ranks.
        "type": found[0][0].format if found else "f32",
        "components": (found[0][1] or 1) if found else 1,
        "copies": len(copies),
        **widths,
        "layout": layout,
        **{key: chosen for key, chosen in how.items() if chosen is not None},
        "arrays": [_placed(grid, array, components, layout) for array, components in found],
    }


def _place_name(name: str, block: int, blocks: int) -> str:
    return f"field '{name}'" + (f", block {block} of this rank," if blocks > 1 else "")


def _check(
    grid: Grid, name: str, block: int, array: arrays.Described, widths: dict[str, Triple], layout: str
) -> int | None:
    """Checks the shape of a block's array, and returns its number of components; None if it has no axis of
    components."""
    components = None
    if len(array.shape) == grid.axes + 1:
        components = array.shape[-1 if layout == "aos" else 0]
    # Padding, elements without values, may lie behind the cells of the array or belong to its shape.
    ghost, padding = (widths[key][: grid.axes] for key in ("ghost", "padding"))
    shapes = [grid.array_shape(ghost, components, block=block, layout=layout, padding=extra) for extra in (0, padding)]
    if array.shape not in shapes:
        raise ArgumentError(
            f"field '{name}', block {block} of this rank: the array has the shape {array.shape}, but must have "
            f"{shapes[0]}" + (f" or, with its padding, {shapes[1]}" if shapes[0] != shapes[1] else ""),
            ErrorCode.MISMATCH,
            field=name,
            block=block,
            given=array.shape,
            needed=shapes[0],
        )
    if array.on_host != (grid.backend == "host"):
        here, there = ("host", "GPU") if array.on_host else ("GPU", "host")
        raise ArgumentError(
            f"field '{name}': the array lies in {here} memory, but the grid's backend is {grid.backend}; "
            f"allocate it in {there} memory, or make the grid with another backend",
            ErrorCode.MISMATCH,
            field=name,
            given=here,
            needed=there,
        )
    if components == 0:
        raise ArgumentError(
            f"field '{name}': the array has no components: leave the axis out, or give one or more",
            field=name,
            components=0,
        )
    if any(stride == 0 for n, stride in zip(array.shape, array.strides, strict=True) if n > 1):
        raise ArgumentError(
            f"field '{name}': the array has one value for all places along an axis: copy it",
            ErrorCode.UNSUPPORTED,
            field=name,
            given=array.strides,
        )
    return components


def _placed(grid: Grid, array: arrays.Described, components: int | None, layout: str) -> dict[str, Any]:
    """Address and strides of an array, x first. Strides are 0 along axes of one cell, whose strides NumPy leaves
    arbitrary."""
    strides = [stride if n > 1 else 0 for n, stride in zip(array.shape, array.strides, strict=True)]
    component = 0
    if components is not None:
        component = strides.pop(-1 if layout == "aos" else 0)
    x_first = (*(strides if layout == "soa_z" else strides[::-1]), 0)[:3]
    return {"pointer": array.pointer, "stride": x_first, "component_stride": component}


def strides_of(item: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Strides of each array of a field, as the compiled module expects them: x, y, z, component."""
    return [(*array["stride"], array["component_stride"]) for array in item["arrays"]]


def agree(comm: Any, items: list[dict[str, Any]]) -> None:
    """Checks that all ranks have the same fields. Ranks without blocks get number formats and components from other
    ranks. Collective."""
    kinds = [[item[key] for key in KIND] if item["arrays"] else None for item in items]
    mine = {"names": [item["name"] for item in items], "kinds": kinds}
    everyone = [json.loads(text) for text in comm.all_gather(json.dumps(mine))]
    for rank, theirs in enumerate(everyone):
        if theirs["names"] != everyone[0]["names"]:
            both = [", ".join(each["names"]) for each in (everyone[0], theirs)]
            raise ArgumentError(
                f"rank 0 exchanges the fields {both[0]}, rank {rank} {both[1]}: give the same",
                ErrorCode.MISMATCH,
                rank=rank,
                given=both[1],
                needed=both[0],
            )
    for index, item in enumerate(items):
        known = next((each["kinds"][index] for each in everyone if each["kinds"][index]), None)
        if not item["arrays"] and known:
            item.update(zip(KIND, known, strict=True))
