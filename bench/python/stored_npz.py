"""Writes a stored NPZ of about MEGABYTES in arrays of 10 MB: stored_npz.py FILE MEGABYTES."""
import os
import sys

import numpy as np

path, megabytes = sys.argv[1], int(sys.argv[2])
values = np.random.default_rng(0).standard_normal((1000, 2500), dtype=np.float32)
with open(path + ".partial", "wb") as out:
    np.savez(out, **{f"layer_{i}": values for i in range(megabytes // 10)})
os.rename(path + ".partial", path)
