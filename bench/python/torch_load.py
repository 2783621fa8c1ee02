"""Loads every file of FOLDER and prints the seconds it took, imports not counted."""
import os
import sys
import time

import torch

paths = [os.path.join(sys.argv[1], name) for name in sorted(os.listdir(sys.argv[1]))]
torch.load(paths[0], weights_only=True)
start = time.perf_counter()
for path in paths:
    torch.load(path, weights_only=True)
print(time.perf_counter() - start)
