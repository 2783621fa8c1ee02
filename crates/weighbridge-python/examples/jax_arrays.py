"""A weight as an array of jax that lies where it was decoded to.

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

# The bytes of the tensor, to see where they are: jax has the same address, so nothing was copied.
decoded_at = np.frombuffer(tensor, np.uint8).ctypes.data
print("copied:", array.unsafe_buffer_pointer() != decoded_at)
print("norm:", jnp.linalg.norm(array.astype(jnp.float32)))
