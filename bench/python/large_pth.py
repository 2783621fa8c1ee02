"""Writes a state dict of about MEGABYTES in tensors of 10 MB: large_pth.py FILE MEGABYTES."""
import os
import sys

import torch

path, megabytes = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
state = {f"layers.{i}.weight": torch.randn(1000, 2500) for i in range(megabytes // 10)}
torch.save(state, path + ".partial")
os.rename(path + ".partial", path)
