"""Seeded test values: ordinary numbers with the awkward ones mixed in."""

import numpy as np

SPECIALS = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 1e-7, -6.5e4]


def generator(seed):
    return np.random.default_rng(seed)


def values(rng, dtype, shape):
    """An array of `dtype` and `shape`. Floats of nine elements or more open with SPECIALS."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    name = dtype.name
    if name == "bool":
        flat = rng.integers(0, 2, count).astype(bool)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        flat = rng.integers(info.min, info.max, count, dtype=dtype.newbyteorder("="), endpoint=True)
        if count >= 2:
            flat[0], flat[1] = info.min, info.max
        flat = flat.astype(dtype)
    elif dtype.kind == "c":
        flat = (rng.standard_normal(count) + 1j * rng.standard_normal(count)).astype(dtype)
        if count >= 9:
            flat[0] = complex(np.nan, 1.0)
            flat[1] = complex(-np.inf, np.inf)
            flat[2] = complex(-0.0, 0.0)
    else:
        wide = rng.standard_normal(count)
        if count >= 9:
            wide[: len(SPECIALS)] = SPECIALS
        with np.errstate(over="ignore", invalid="ignore"):
            flat = wide.astype(np.float32).astype(dtype) if dtype.itemsize <= 4 else wide.astype(dtype)
    return flat.reshape(shape)


def noise(rng, count):
    """Bytes in which every bit pattern may occur."""
    return rng.integers(0, 256, count, dtype=np.uint8)
