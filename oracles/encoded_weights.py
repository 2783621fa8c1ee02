"""Weights that are hard to encode: for the goldens of the encoders."""

import torch


def fill(model, seed):
    """Fills every matrix; the rows of each are of all kinds in turn."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() >= 2:
                weight.copy_(matrix(weight.shape, generator))
    return model


def matrix(shape, generator):
    """Rows of all kinds in turn, before they are rounded to the model's type."""
    x = torch.randn(shape, generator=generator) * 0.05
    flat = x.reshape(-1, shape[-1])
    columns = shape[-1]
    whole = torch.randint(-16, 16, flat.shape, generator=generator).float()
    tails = torch.randn(flat.shape, generator=generator).abs() + 1e-3
    for row in range(flat.shape[0]):
        kind = row % 16
        if kind == 1:
            flat[row] = 0
        elif kind == 2:
            flat[row, 3] = 40.0
        elif kind == 3:
            # Multiples of a quarter of the step of some types: many lie halfway between codes.
            flat[row] = whole[row] / 4
            flat[row, 0] = 7.5
        elif kind == 4:
            flat[row] = flat[row] / tails[row] ** 2
        elif kind == 5:
            flat[row] = 0.0371
        elif kind == 6:
            flat[row] = -flat[row].abs()
        elif kind == 7:
            flat[row] = flat[row].abs() + 0.02
        elif kind == 8:
            flat[row] *= 2.0 ** -20
        elif kind == 9:
            flat[row] *= 2.0**9
        elif kind == 10:
            flat[row, : columns // 2] = 0
            flat[row, columns // 2] = -0.0
        elif kind == 11:
            flat[row] = whole[row] / 2
            flat[row, 1] = -6.0
        elif kind == 12:
            # Below the smallest normal number of half precision.
            flat[row] *= 2.0**-14
        elif kind == 13:
            flat[row] = whole[row] / 8 * 448 / 15
            flat[row, 0] = 448.0
    return x
