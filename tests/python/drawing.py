"""Draws random options of exchanges, transposes, gather-scatters and transforms, and compares with NumPy.

Usage: python drawing.py FIRST LAST FOLDER, on any number of ranks: cases with seeds FIRST to LAST - 1. Each prints its
seed and options before it runs, so that the last line shows what failed or crashed. FOLDER holds tuner caches.
"""

import random
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import slipstream as slip

Options = dict[str, Any]
#: A condition, and the text of an error: if the condition holds, the error may or must occur.
Refusal = tuple[bool, str]
UNTOUCHED = 251  #: value of cells that must not change, exact in all number formats

#: Simulated nodes of one host, by number of ranks.
NODES = {1: [0], 2: [0, 0, 1]}
KNOBS: dict[str, list[Any]] = {
    "pack": ["fused", "fused", "per_direction", "memcpy3d", "zero_copy"],
    "streams": ["one", "per_direction"],
    "grouping": ["devices", "nodes"],
    "mpi": ["sends", "sends", "alltoallv", "ialltoallv", "put_fence", "put_lock"],
    "sync": [False, True],
    "teams": [0, 1, 3],
    "packet_limit": [-1, 0, 512],
    "in_place": [-1, 0, 8],
    "chunk": [0, 64, 4096],
    "ring": [1 << 28, 256, 4096],
    "poison": [False, True],
    "measure_errors": [False, False, True],
}
ROUTES: list[Any] = [
    (),
    "staged",
    ["kernel", "staged"],
    ["kernel", "direct"],
    ["kernel", "peer", "colocated"],
    ["gpu_mpi"],
    "-direct",
]
EXACT = ["float32", "float64", "int32", "int64", "uint8", "complex64", "complex128"]
MOVED = [*EXACT, "float16", "uint16", "uint32", "uint64", "int16"]
CASTS = ["cast", "cast to f16", "cast to bf16", "cast to f32"]
#: Codings by blocks that are exact for small integers, which are multiples of their units.
EXACT_BLOCKS = ["blockfloat, rate 8", "blockfloat, rate 16", "blockfloat, rate 16, max error 0.25"]
BLOCKS = [*EXACT_BLOCKS, "zfp, rate 24", "zfp, max error 0.01"]
#: Largest absolute error of values coded by zfp: its relative error is at most 0.01, and no value exceeds 4.
ZFP_ERROR = 0.04


def knobs(r: random.Random) -> Options:
    """Draws some tuning parameters of an exchange; others keep their defaults. Sometimes the tuner measures them."""
    found = {name: r.choice(values) for name, values in KNOBS.items() if r.random() < 0.3}
    return found | ({"tune": "measure"} if r.random() < 0.04 else {})


def keywords(options: Options) -> Options:
    """Tuning parameters as keyword arguments; adds the cache's folder if the tuner measures."""
    return options | ({"tuner_cache": sys.argv[3]} if "tune" in options else {})


def coding(r: random.Random, *dtypes: str, of: Sequence[str] = (*CASTS, *BLOCKS)) -> str:
    """Draws a coding, mostly one that all of the given formats support."""
    some = r.choice(of)
    fits = not any(holds for dtype in dtypes for holds, _ in coding_refusals(some, dtype))
    return some if r.random() < (0.6 if fits else 0.03) else "raw"


def coding_refusals(coding: str, dtype: str) -> list[Refusal]:
    wide = dtype in ("float64", "complex128")
    if coding in BLOCKS:
        return [(not wide and dtype not in ("float32", "complex64"), "blockfloat and zfp write f32, f64")]
    return [
        (coding != "raw" and not wide and dtype != "float32", "cast rounds f64 and c128 to f32"),
        (coding in ("cast to f16", "cast to bf16") and wide, "f64 and c128 are cast to f32"),
        (coding == "cast to f32" and dtype == "float32", "f32 is cast to f16 or bf16"),
    ]


def knob_refusals(options: Options, routes: Any, coded: bool) -> list[Refusal]:
    """Errors that an exchange with these random tuning parameters may raise. Parameters are chosen at random even where
    the routes do not support them."""
    pack, mpi = options.get("pack", "fused"), options.get("mpi", "sends")
    names = [routes] if isinstance(routes, str) else list(routes)
    by_mpi = not names or "gpu_mpi" in names or "-direct" in names
    rows = [
        (pack == "zero_copy" and by_mpi, "zero_copy"),
        (mpi != "sends" and options.get("grouping") == "nodes", "grouping"),
        (mpi.startswith("put") and by_mpi, "mpi = put"),
        (mpi != "sends" and by_mpi, "takes one buffer a rank"),
        (bool(names) and not {"staged", "gpu_mpi", "-direct"} & set(names), "no allowed route joins"),
        (pack == "memcpy3d" and coded, "choose the coding raw, or another pack"),
        (pack != "fused" and bool(options.get("measure_errors")), "choose pack = fused"),
    ]
    # The tuner omits candidates that a route refuses.
    none_left = "tune" in options and any(holds for holds, _ in rows)
    return [*rows, (none_left, "no route between the devices could be measured")]


def refused_or_right(must: Sequence[Refusal], may: Sequence[Refusal], check: Callable[[], None]) -> None:
    """Runs `check`, which compares an exchange's results. If a condition in `must` holds, the library has to refuse the
    exchange by an error. If one in `may` holds, a refusal is allowed."""
    due = [words for holds, words in must if holds]
    known = due + [words for holds, words in may if holds]
    try:
        check()
    except (ValueError, RuntimeError, TypeError) as error:
        if not any(re.search(words, str(error)) for words in known):
            raise
        say(f"  refused: {error}")
        return
    assert not due, f"not refused: {due}"


def assert_same(found: np.ndarray, wanted: np.ndarray, coding: str, what: str) -> None:
    """Compares arrays bit by bit, or with a tolerance for zfp."""
    if coding.startswith("zfp"):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=ZFP_ERROR * np.sqrt(2), err_msg=what)
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=what)


def say(text: str) -> None:
    if slip.world().rank == 0:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def room(shape: Sequence[int], dtype: str, offset: int) -> np.ndarray:
    """An array whose first element is `offset` values behind the start of its memory."""
    size = int(np.prod(shape))
    return np.full(size + offset + 1, UNTOUCHED).astype(dtype)[offset : offset + size].reshape(shape)


def small_numbers(shape: Sequence[int], dtype: str, seed: Sequence[int], op: str = "add") -> np.ndarray:
    """Small integers, whose sums and products are exact in every format and coding."""
    random_ = np.random.default_rng(list(seed))
    if op == "multiply":
        found = np.where(random_.random(shape) < 0.1, 2, random_.choice([1, -1], shape))
    else:
        found = random_.integers(-3, 4, shape)
    if "uint" in dtype:
        found = abs(found)
    if "complex" in dtype and op == "add":
        found = found + 1j * random_.integers(-3, 4, shape)
    return found.astype(dtype)


FOLDS = {"add": np.add, "min": np.minimum, "max": np.maximum, "multiply": np.multiply}


def main(first: int, last: int) -> None:
    import drawn_exchanges
    import drawn_gather_scatters
    import drawn_plans
    import drawn_transposes

    kinds = (drawn_exchanges, drawn_transposes, drawn_gather_scatters, drawn_plans)
    for seed in range(first, last):
        r = random.Random(seed)
        kind = kinds[seed % len(kinds)]
        options = kind.draw(r, slip.world().size)
        say(f"draw {seed} of {kind.__name__}: {options}")
        kind.check(options)
    sys.stdout.write(f"rank {slip.world().rank}: all are right or refused\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
