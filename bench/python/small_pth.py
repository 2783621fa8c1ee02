"""Writes COUNT small state dicts of 2 to 8 KiB into FOLDER: small_pth.py FOLDER COUNT."""
import os
import sys

import torch

folder, count = sys.argv[1], int(sys.argv[2])
partial = folder + ".partial"
os.makedirs(partial, exist_ok=True)
torch.manual_seed(0)
for i in range(count):
    hidden = 4 + i % 12
    layers = [torch.nn.Linear(8, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 4)]
    if i % 3 == 0:
        layers += [torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)]
    torch.save(torch.nn.Sequential(*layers).state_dict(), os.path.join(partial, f"{i:05}.pth"))
os.rename(partial, folder)
