"""Weights of any model in a module of torch: no file is written, and no number is copied twice.

    python torch_module.py [MODEL [PREFIX]]

PREFIX names a gated MLP with the projections gate_proj, up_proj and down_proj, as most language
models of Hugging Face have them.
"""

import sys

import torch
from torch import nn

import weighbridge as wb
import weighbridge.torch

source = sys.argv[1] if len(sys.argv) > 1 else "samples/tiny-llama-gptq"
prefix = sys.argv[2] if len(sys.argv) > 2 else "model.layers.0.mlp."


class Mlp(nn.Module):
    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


with wb.open(source) as model:
    names = [name for name in model if name.startswith(prefix)]
    hidden, inner = model[f"{prefix}down_proj.weight"].shape
    # Decoded on all cores, straight into the memory of the tensors.
    tensors = wb.torch.state_dict(model, names=names, dtype="bf16")

# On the device "meta" a module has shapes and no memory; `assign` puts the tensors in their places.
with torch.device("meta"):
    mlp = Mlp(hidden, inner)
state = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
print(mlp.load_state_dict(state, assign=True))
print({name: (tuple(one.shape), one.dtype) for name, one in mlp.named_parameters()})
with torch.no_grad():
    print(mlp(torch.ones(1, hidden, dtype=torch.bfloat16))[0, :4])
