"""Numbers that are made and not stored: the same here as in `tests/common/made.rs`.

Integers only, so that both sides have the same bits: splitmix64 from a seed that is FNV-1a of a name. A
number is the sum of eight 16-bit parts of two of its outputs, which is nearly normal; one in 1024 is 16
times as large. Weights are such numbers in BF16, rounded to nearest even.
"""

import numpy as np

STEP = 0x9E3779B97F4A7C15
U64 = np.uint64


def seed(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def random(name, count):
    """So many outputs of splitmix64."""
    with np.errstate(over="ignore"):
        z = U64(seed(name)) + np.arange(1, count + 1, dtype=U64) * U64(STEP)
        z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
        return z ^ (z >> U64(31))


def weights(name, shape):
    """BF16 numbers, as u16."""
    z = random(name, 2 * int(np.prod(shape)))
    parts = z.view("<u2").reshape(-1, 8).astype(np.int64)
    numbers = parts.sum(axis=1) - 8 * 32768 + 4
    numbers *= np.where(z[1::2] >> U64(54) == 0, 16, 1)
    # Exact: the sums have fewer than 24 bits.
    bits = (numbers.astype(np.float32) * np.float32(2.0**-21)).view(np.uint32).astype(np.uint64)
    bits = (bits + U64(0x7FFF) + (bits >> U64(16) & U64(1))) >> U64(16)
    return bits.astype(np.uint16).reshape(shape)


def widened(bf16):
    return (bf16.astype(np.uint32) << 16).view(np.float32)


def importance(name, count):
    """Numbers that are not negative; one in 64 is zero."""
    z = random(name, count)
    numbers = (z & U64(0xFFFF)).astype(np.float32) * np.float32(2.0**-12)
    return np.where(z >> U64(58) == 0, np.float32(0), numbers)
