"""ruGPT-3 XL."""

import family_layouts as layouts
import torch
from families.gpt2 import gpt2
from family_blocks import Family, Repository

CONFIG = dict(
    architectures=["RuGPT3XLForCausalLM"], model_type="rugpt3xl", attention_dropout=0.1, bos_token_id=2, embd_dropout=0.1, eos_token_id=3,
    hidden_act="gelu_new", hidden_size=16, initializer_range=0.02, intermediate_size=64, layer_norm_eps=1e-5, max_position_embeddings=64,
    num_attention_heads=4, num_hidden_layers=2, output_dropout=0.1, tie_word_embeddings=True,
)  # fmt: skip


def shapes(tokens, count=2, head=False):
    weights = layouts.trunk(tokens, head=head) | {"model.embed_positions.weight": [64, 16]}
    found = {"model.norm.bias": [16]}

    def of(name, _):
        each = layouts.attention(name, 4, 4, 4) | layouts.mlp(f"{name}.mlp", 64, gated=False) | layouts.norms(name)
        return each | {weight.replace(".weight", ".bias"): shape[:1] for weight, shape in each.items()}

    return weights | found | layouts.layers(count, of)


FAMILY = Family(
    None,
    to_gguf={
        "rugpt3xl": Repository({}, gpt2, "gpt-2", types=["f32", "bf16"], laid_out=layouts.laid_out(CONFIG, shapes)),
        "rugpt3xl-untied": Repository(
            {}, gpt2, "gpt-2", types=["f16"],
            laid_out=layouts.laid_out(
                dict(CONFIG, num_hidden_layers=1, tie_word_embeddings=False), lambda tokens: shapes(tokens, 1, True), torch.float16
            ),
        ),
    },
    configs={
        "rugpt3xl": dict(
            CONFIG, hidden_size=2048, intermediate_size=8192, max_position_embeddings=2048, num_attention_heads=16, num_hidden_layers=24,
            sparse_block_size=16, sparse_mode="alternating", sparse_num_local_blocks=8, vocab_size=50264,
        ),
    },
    warned={"rugpt3xl": ["sparse_mode"]},
)  # fmt: skip
