"""Decodes a weight to a jax array without a copy.

    python jax_arrays.py [MODEL [NAME]]
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import weighbridge as wb

source = sys.argv[1] if len(sys.argv) > 1 else "samples/tiny-llama-gptq"

with wb.open(source) as model:
    name = sys.argv[2] if len(sys.argv) > 2 else next(n for n in model if model[n].ndim == 2)
    tensor = model[name].tensor("bf16")

array = jax.dlpack.from_dlpack(tensor)
print(name, array.shape, array.dtype)

# jax has the same address as the decoded bytes, so nothing was copied.
decoded_at = np.frombuffer(tensor, np.uint8).ctypes.data
print("copied:", array.unsafe_buffer_pointer() != decoded_at)
print("norm:", jnp.linalg.norm(array.astype(jnp.float32)))
