"""Loads every file of FOLDER; prints [the seconds of each, the tensors in all], imports not counted."""
import json
import os
import sys
import time

import torch

paths = [os.path.join(sys.argv[1], name) for name in sorted(os.listdir(sys.argv[1]))]
torch.load(paths[0], weights_only=True)
times, tensors = [], 0
for path in paths:
    start = time.perf_counter()
    state = torch.load(path, weights_only=True)
    times.append(time.perf_counter() - start)
    tensors += len(state)
print(json.dumps([times, tensors]))
