"""WavTokenizer's decoder, as llama.cpp's own script lays it out for the converter."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import nothing

CONFIG = dict(
    architectures=["WavTokenizerDec"], hidden_size=12, n_embd_features=10, n_ff=24, vocab_size=20, n_head=1, layer_norm_epsilon=1e-6, group_norm_epsilon=1e-6,
    group_norm_groups=4, max_position_embeddings=64, n_layer=6, posnet=dict(n_embd=16, n_layer=6), convnext=dict(n_embd=16, n_layer=2),
)  # fmt: skip


def shapes(tokens, width=16, inner=24, layers=2):
    found = {"backbone.embedding": [tokens, 10], "backbone.embed": [width, 10, 7], "backbone.norm": [width], "backbone.final_layer_norm": [width]}
    found = {f"{name}.weight": shape for name, shape in found.items()}
    found |= {"backbone.embed.bias": [width, 1], "backbone.norm.bias": [width], "backbone.final_layer_norm.bias": [width]}
    found |= {"head.out.weight": [12, width], "head.out.bias": [12], "quantizer.codebook.cluster_size": [tokens], "quantizer.codebook.inited": [1]}
    for layer in range(6):
        name = f"backbone.posnet.{layer}"
        if layer == 2:
            modules = {part: [width, width, 1] for part in ("q", "k", "v", "proj_out")} | {"norm": [width, 1]}
        elif layer == 5:
            modules = {"norm": [width, 1]}
        else:
            modules = {"conv1": [width, width, 3], "conv2": [width, width, 3], "norm1": [width, 1], "norm2": [width, 1]}
        found |= {f"{name}.{module}.weight": shape for module, shape in modules.items()}
        found |= {f"{name}.{module}.bias": [width, 1] for module in modules}
    for layer in range(layers):
        name = f"backbone.convnext.{layer}"
        found |= {f"{name}.dwconv.weight": [width, 1, 7], f"{name}.dwconv.bias": [width, 1], f"{name}.gamma.weight": [width]}
        found |= {f"{name}.norm.weight": [width], f"{name}.norm.bias": [width], f"{name}.pwconv1.weight": [inner, width], f"{name}.pwconv1.bias": [inner]}
        found |= {f"{name}.pwconv2.weight": [width, inner], f"{name}.pwconv2.bias": [width]}
    return found


FAMILY = Family(
    None,
    to_gguf={
        "wavtokenizer_dec": Repository({}, nothing, None, types=["f32", "f16"], spare=20, laid_out=layouts.laid_out(CONFIG, shapes, torch.float32)),
        "wavtokenizer_dec-more": Repository(
            {}, nothing, None, spare=24, types=["auto"],
            laid_out=layouts.laid_out(
                dict(CONFIG, n_ff=32, n_layer=7, convnext=dict(n_embd=16, n_layer=3)), lambda tokens: shapes(tokens, 16, 32, 3), torch.float16
            ),
        ),
    },
    configs={"wavtokenizer-large": dict(CONFIG, hidden_size=1282, n_embd_features=512, n_ff=2304, vocab_size=4096, group_norm_groups=32, n_layer=12)},
)  # fmt: skip
