"""Reads a model with numpy: its contents, one weight, some rows, and all weights at once.

    python numpy_arrays.py [MODEL]
"""

import sys

import weighbridge as wb

source = sys.argv[1] if len(sys.argv) > 1 else "samples/tiny-llama-gptq"

with wb.open(source) as model:
    print(model)

    # The weight with the most parts. Finding it reads only headers.
    weight = max(model.values(), key=lambda one: (len(one.parts), one.size))
    print(weight)
    for part in weight.parts:
        print(f"  {part.role}: {part.dtype} {list(part.shape)}, {part.nbytes} bytes")

    array = weight.numpy("f32")
    print(f"all of it: {array.shape} {array.dtype}, mean {array.mean():.6f}")
    rows = weight[2:4]
    print(f"two rows:  {rows.shape} {rows.dtype}")

    arrays = wb.load_file(model, dtype="f32")
    print(f"{len(arrays)} arrays, {sum(one.nbytes for one in arrays.values())} bytes")
