"""Colours of the pictures of a flow: maps in which equal steps of a value look like equal steps."""

import numpy as np
from matplotlib.colors import ListedColormap

#: From dark to light, for what begins at zero.
SEQUENTIAL = "viridis"
#: Of solid cells.
SOLID = "0.62"
_BLUE, _MIDDLE, _RED = "#15529c", "#f6f4f1", "#b02a1c"

# Oklab (B. Ottosson 2020): a space of colours in which distances are those that the eye sees.
_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def oklab(colours: np.ndarray) -> np.ndarray:
    """Of colours in sRGB, 0 to 1, along the last axis."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    found: np.ndarray = np.cbrt(linear @ _TO_LMS.T) @ _TO_LAB.T
    return found


def _srgb(lab: np.ndarray) -> np.ndarray:
    linear = np.clip((lab @ np.linalg.inv(_TO_LAB).T) ** 3 @ np.linalg.inv(_TO_LMS).T, 0.0, 1.0)
    found: np.ndarray = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return found


def _colour(text: str) -> np.ndarray:
    return oklab(np.array([int(text[n : n + 2], 16) / 255 for n in (1, 3, 5)]))


def diverging(size: int = 257) -> ListedColormap:
    """Blue by way of nearly white to red, for what has a sign; both arms are as long and as steep."""
    low, middle, high = map(_colour, (_BLUE, _MIDDLE, _RED))
    arm = np.linspace(0.0, 1.0, size // 2 + 1)[:, None]
    # The same lightness at both ends, so that neither sign stands out.
    low[0] = high[0] = (low[0] + high[0]) / 2
    lab = np.concatenate([low + (middle - low) * arm, (middle + (high - middle) * arm)[1:]])
    return ListedColormap(_srgb(lab), "slipstream")
