"""Parts that several stand-ins share: labels in stated proportions, bits, blurred images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakmeter.runtime import UserError


def proportional_labels(rows: int, counts: Sequence[float], rng: np.random.Generator) -> np.ndarray:
    """Labels in the proportions of ``counts`` to the record (largest remainders), shuffled.

    Parameters
    ----------
    rows : how many; as many as ``sum(counts)`` gives exactly those counts.
    """
    if rows < 1:
        raise UserError(f"rows is {rows}; expected at least 1")
    share = np.asarray(counts, dtype=float) * rows / np.sum(counts)
    whole = np.floor(share).astype(int)
    order = np.argsort(-(share - whole), kind="stable")
    whole[order[: rows - whole.sum()]] += 1
    return rng.permutation(np.repeat(np.arange(len(whole)), whole))


def class_bits(
    labels: np.ndarray,
    base: np.ndarray,
    *,
    n_classes: int,
    own_share: float,
    keep: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Bits of a mixture of Bernoulli products, one prototype a class.

    A class's prototype takes each feature at random with its base frequency. A record copies
    its prototype in a share ``keep`` of the features that belong to its class (a share
    ``own_share`` of all, chosen per class) and draws the others from the base frequencies.

    Parameters
    ----------
    labels : (n,). base : (d,) frequency of a one.

    Returns
    -------
    (n, d) uint8.
    """
    d = len(base)
    prototypes = rng.random((n_classes, d)) < base
    own = rng.random((n_classes, d)) < own_share
    bits = np.empty((len(labels), d), np.uint8)
    for start in range(0, len(labels), 4096):  # bounded memory for wide sets
        part = labels[start : start + 4096]
        copied = own[part] & (rng.random((len(part), d)) < keep)
        noise = rng.random((len(part), d)) < base
        bits[start : start + len(part)] = np.where(copied, prototypes[part], noise)
    return bits


def blurred_images(
    labels: np.ndarray,
    *,
    side: int,
    channels: int,
    n_classes: int,
    variants: int,
    shift: int,
    noise: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Grey values in [0, 1], (n, side, side, channels): blurred strokes, moved and with noise.

    Parameters
    ----------
    variants : shapes a class has; a record shows one of them.
    shift : largest displacement in pixels. noise : standard deviation added to each pixel.
    """
    from scipy.ndimage import gaussian_filter

    margin = side + 2 * shift
    shapes = rng.random((n_classes, variants, margin, margin, channels)) ** 4
    blur = (0, 0, side / 12, side / 12, 0)
    shapes = gaussian_filter(shapes, blur)
    low = shapes.min(axis=(2, 3, 4), keepdims=True)
    high = shapes.max(axis=(2, 3, 4), keepdims=True)
    shapes = (shapes - low) / (high - low)
    images = np.empty((len(labels), side, side, channels))
    chosen = rng.integers(variants, size=len(labels))
    moves = rng.integers(0, 2 * shift + 1, (len(labels), 2))
    for row, (label, variant, (down, right)) in enumerate(zip(labels, chosen, moves, strict=True)):
        images[row] = shapes[label, variant, down : down + side, right : right + side]
    images += noise * rng.standard_normal(images.shape)
    return np.clip(images, 0.0, 1.0)
