"""Baichuan and Baichuan 2."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import meta

CONFIG = dict(
    architectures=["BaichuanForCausalLM"], model_type="baichuan", hidden_act="silu", hidden_size=16, initializer_range=0.02, intermediate_size=24,
    max_position_embeddings=64, num_attention_heads=4, num_hidden_layers=2, rms_norm_eps=1e-6, tie_word_embeddings=False, bos_token_id=1,
    eos_token_id=2, pad_token_id=0,
)  # fmt: skip


def shapes(tokens, count=2):
    def of(name, _):
        attention = layouts.inside(f"{name}.self_attn", dict(W_pack=[48, 16], o_proj=[16, 16]))
        return attention | layouts.mlp(f"{name}.mlp", 24) | layouts.norms(name)

    return layouts.trunk(tokens) | layouts.layers(count, of)


def ending(converter):
    """The converter hands tensors that it does not change to itself, forever."""
    method, own = converter.modify_tensors, converter.__mro__[1]

    def modify_tensors(self, tensor, name, layer):
        if "W_pack" in name:
            yield from method(self, tensor, name, layer)
        else:
            yield from super(own, self).modify_tensors(tensor, name, layer)

    converter.modify_tensors = modify_tensors


FAMILY = Family(
    None,
    to_gguf={
        "baichuan": Repository({}, meta, None, types=["f32", "bf16"], mend=ending, laid_out=layouts.laid_out(CONFIG, shapes)),
        # The first and the largest, whose class is spelled in another way, with more positions than usual.
        "baichuan-first": Repository(
            {}, meta, None, types=["f16"], mend=ending,
            laid_out=layouts.laid_out(
                dict(
                    {key: value for key, value in CONFIG.items() if key != "max_position_embeddings"},
                    architectures=["BaiChuanForCausalLM"], num_hidden_layers=1, num_attention_heads=2, model_max_length=128,
                ),
                lambda tokens: shapes(tokens, 1), torch.float16,
            ),
        ),
    },
    configs={
        "baichuan-7b": dict(
            CONFIG, architectures=["BaiChuanForCausalLM"], hidden_size=4096, intermediate_size=11008, max_position_embeddings=4096,
            model_max_length=4096, num_attention_heads=32, num_hidden_layers=32, vocab_size=64000,
        ),
        "baichuan2-7b": dict(
            CONFIG, hidden_size=4096, intermediate_size=11008, max_position_embeddings=4096, model_max_length=4096, num_attention_heads=32,
            num_hidden_layers=32, vocab_size=125696, z_loss_weight=0,
        ),
        "baichuan-13b": dict(
            CONFIG, hidden_size=5120, intermediate_size=13696, max_position_embeddings=4096, model_max_length=4096, num_attention_heads=40,
            num_hidden_layers=40, vocab_size=64000, gradient_checkpointing=False,
        ),
    },
    warned={"baichuan2-7b": ["z_loss_weight"]},
)  # fmt: skip
