"""Writes a model with the format's own library: large.py KIND FILE LAYERS ROWS COLUMNS.

KIND is pth (bfloat16), npz (float32, stored), npz-deflated (float32 zeros) or npy-fortran
(float32 in column-major order, one array).
"""
import sys

kind, path = sys.argv[1:3]
layers, rows, columns = map(int, sys.argv[3:])
names = [f"model.layers.{i}.mlp.up_proj.weight" for i in range(layers)]
if kind == "pth":
    import torch

    torch.manual_seed(0)
    values = torch.randn(rows, columns).to(torch.bfloat16)
    torch.save({name: values.clone() for name in names}, path)
elif kind == "npz":
    import numpy as np

    values = np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)
    np.savez(path, **{name: values for name in names})
elif kind == "npz-deflated":
    import numpy as np

    values = np.zeros((rows, columns), dtype=np.float32)
    np.savez_compressed(path, **{name: values for name in names})
elif kind == "npy-fortran":
    import numpy as np

    shape = (layers * rows, columns)
    np.lib.format.open_memmap(path, "w+", np.float32, shape, fortran_order=True).flush()
else:
    sys.exit(f"no kind is called {kind}")
