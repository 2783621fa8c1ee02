"""Loads weights of any model into a torch module, without a temporary file or a second copy.

    python torch_module.py [MODEL [PREFIX]]

PREFIX names a gated MLP with the projections gate_proj, up_proj and down_proj, as in most Hugging
Face language models.
"""

import sys

import torch
from torch import nn

import weighbridge as wb

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
    # Decodes on all cores, directly into the memory of the tensors.
    tensors = model.state_dict(names=names, dtype="bf16")

# On the "meta" device a module has shapes but no memory. `assign` makes it adopt the tensors.
with torch.device("meta"):
    mlp = Mlp(hidden, inner)
state = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
print(mlp.load_state_dict(state, assign=True))
print({name: (tuple(one.shape), one.dtype) for name, one in mlp.named_parameters()})
with torch.no_grad():
    print(mlp(torch.ones(1, hidden, dtype=torch.bfloat16))[0, :4])
