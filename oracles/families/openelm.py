"""OpenELM, which transformers does not know. Published repositories lack the tokenizer, which is Llama 2's."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import meta

CONFIG = dict(
    activation_fn_name="swish", architectures=["OpenELMForCausalLM"], bos_token_id=1, eos_token_id=2, ffn_dim_divisor=8, ffn_multipliers=[0.5, 1.0, 1.6],
    ffn_with_glu=True, head_dim=4, initializer_range=0.02, max_context_length=64, model_dim=16, model_type="openelm",
    normalization_layer_name="rms_norm", normalize_qk_projections=True, num_gqa_groups=2, num_kv_heads=[1, 2, 2], num_query_heads=[2, 4, 4],
    num_transformer_layers=3, qkv_multipliers=[0.5, 1.0], rope_freq_constant=10000, rope_max_length=128, share_input_output_layers=True,
    torch_dtype="bfloat16", use_cache=True,
)  # fmt: skip


def layer(name, heads, keys, inner, head, width=16):
    found = layouts.inside(f"{name}.attn", dict(qkv_proj=[(heads + 2 * keys) * head, width], out_proj=[width, heads * head], q_norm=[head], k_norm=[head]))
    found |= layouts.inside(f"{name}.ffn", dict(proj_1=[2 * inner, width], proj_2=[width, inner]))
    return found | layouts.inside(name, dict(attn_norm=[width], ffn_norm=[width]))


def shapes(tokens, sizes=((2, 1, 8), (4, 2, 16), (4, 2, 24)), head=4, width=16):
    found = {"transformer.token_embeddings.weight": [tokens, width], "transformer.norm.weight": [width]}
    for number, (heads, keys, inner) in enumerate(sizes):
        found |= layer(f"transformer.layers.{number}", heads, keys, inner, head, width)
    return found


OTHER = dict(
    ffn_dim_divisor=16, ffn_multipliers=[0.6, 2.7], head_dim=8, model_dim=24, num_kv_heads=[3, 1], num_query_heads=[3, 5], num_transformer_layers=2,
    rope_freq_constant=500000,
)  # fmt: skip

FAMILY = Family(
    None,
    to_gguf={
        "openelm": Repository({}, meta, None, laid_out=layouts.laid_out(CONFIG, shapes)),
        "openelm-wide": Repository(
            {}, meta, None, types=["f32"],
            laid_out=layouts.laid_out(CONFIG | OTHER, lambda tokens: shapes(tokens, ((3, 3, 16), (5, 1, 64)), 8, 24), torch.float16),
        ),
    },
)  # fmt: skip
