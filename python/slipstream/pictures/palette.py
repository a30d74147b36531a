"""Colours of the pictures of a flow: perceptually uniform colour maps."""

import numpy as np
from matplotlib.colors import ListedColormap

#: Colour map from dark to light, for quantities that are never negative.
SEQUENTIAL = "viridis"
#: Grey level of solid cells in pictures, as Matplotlib takes it.
SOLID = "0.62"
_BLUE, _MIDDLE, _RED = "#15529c", "#f6f4f1", "#b02a1c"

# Matrices of Oklab (B. Ottosson 2020), a perceptually uniform colour space.
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
    """Converts sRGB colours, 0 to 1 along the last axis, to Oklab."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    found: np.ndarray = np.cbrt(linear @ _TO_LMS.T) @ _TO_LAB.T
    return found


def _srgb(lab: np.ndarray) -> np.ndarray:
    linear = np.clip((lab @ np.linalg.inv(_TO_LAB).T) ** 3 @ np.linalg.inv(_TO_LMS).T, 0.0, 1.0)
    found: np.ndarray = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return found


def _colour(text: str) -> np.ndarray:
    return oklab(np.array([int(text[n : n + 2], 16) / 255 for n in (1, 3, 5)]))


def diverging() -> ListedColormap:
    """Diverging colour map from blue over nearly white to red; both halves are perceptually equal."""
    low, middle, high = map(_colour, (_BLUE, _MIDDLE, _RED))
    arm = np.linspace(0.0, 1.0, 129)[:, None]
    # Both ends of the colour map have the same lightness, so that neither sign stands out.
    low[0] = high[0] = (low[0] + high[0]) / 2
    lab = np.concatenate([low + (middle - low) * arm, (middle + (high - middle) * arm)[1:]])
    return ListedColormap(_srgb(lab), "slipstream")
