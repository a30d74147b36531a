"""Writes frames as a film: .gif, .mp4 where imageio-ffmpeg is installed, else a folder of numbered pictures."""

import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from slipstream.base.files import replaced

Array = np.ndarray


def pixels(figure: Figure) -> Array:
    """Pixels of a figure as [row][column][red, green, blue]. Closes the figure."""
    import matplotlib.pyplot as plt

    figure.canvas.draw()
    image = np.asarray(figure.canvas.buffer_rgba())[..., :3].copy()  # type: ignore[attr-defined]
    plt.close(figure)
    return image


def _even(frames: Iterable[Array]) -> Iterator[Array]:
    """Pads the frames of a film to even numbers of rows and columns, as video codecs need."""
    for frame in frames:
        rows, columns = frame.shape[0] % 2, frame.shape[1] % 2
        yield np.pad(frame, ((0, rows), (0, columns), (0, 0)), mode="edge")


def _has_ffmpeg() -> bool:
    return importlib.util.find_spec("imageio_ffmpeg") is not None


def write(path: Path, frames: Iterable[Array], per_second: float) -> tuple[Path, str]:
    """Writes a film frame by frame, with one frame in memory at a time. Returns the path, and a sentence if the format
    is not the requested one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".gif":
        _write_gif(path, frames, per_second)
        return path, ""
    if _has_ffmpeg():
        _write_mp4(path, frames, per_second)
        return path, ""
    folder = path.with_suffix("")
    count = _write_pictures(folder, frames)
    return folder, (
        f"{path}: no film, because imageio-ffmpeg is not installed (pip install imageio-ffmpeg); its {count} "
        f"frames are pictures in {folder} instead. A film that ends in .gif needs nothing else"
    )


def _write_gif(path: Path, frames: Iterable[Array], per_second: float) -> None:
    images = (Image.fromarray(frame).quantize(256, method=Image.Quantize.MEDIANCUT) for frame in frames)
    first = next(images)
    how = {"duration": round(1000 / per_second), "loop": 0, "optimize": False}
    with replaced(path) as new:
        first.save(new, "GIF", save_all=True, append_images=images, **how)


def _write_mp4(path: Path, frames: Iterable[Array], per_second: float) -> None:
    from imageio_ffmpeg import write_frames

    even = _even(frames)
    first = next(even)
    rows, columns = first.shape[:2]
    how = {"fps": per_second, "codec": "libx264", "quality": 8, "macro_block_size": 2, "output_params": ["-f", "mp4"]}
    with replaced(path) as new, closing(write_frames(str(new), (columns, rows), **how)) as writer:
        writer.send(None)
        for frame in chain([first], even):
            writer.send(np.ascontiguousarray(frame))


def _write_pictures(folder: Path, frames: Iterable[Array]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("frame_*.png"):
        left.unlink()
    count = 0
    for frame in frames:
        Image.fromarray(frame).save(folder / f"frame_{count:05d}.png")
        count += 1
    return count
