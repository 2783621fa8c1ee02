"""Kimi Linear: layers with delta attention, and some with DeepSeek's."""

from family_blocks import Family, Repository, config, edited, say, settled
from family_tokenizers import plain_bpe
from gguf_vocabularies import LLAMA3, byte_level, split

kimi = plain_bpe([split(LLAMA3), byte_level()], "PreTrainedTokenizerFast", "[BOS]", "[EOS]", "<|im_end|>")
SIZES = dict(
    num_hidden_layers=3, num_key_value_heads=4, kv_lora_rank=10, q_lora_rank=None, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=8,
    linear_head_dim=4, linear_num_heads=4, linear_conv_kernel_dim=4, moe_intermediate_size=8, num_local_experts=3, n_shared_experts=1,
    num_experts_per_tok=2, n_group=1, topk_group=1, layer_types=["linear_attention", "linear_attention", "full_attention"],
    mlp_layer_types=["dense", "sparse", "sparse"],
)  # fmt: skip


def linear(full, delta, head, heads, kernel=4):
    return dict(full_attn_layers=full, head_dim=head, kda_layers=delta, num_heads=heads, short_conv_kernel_size=kernel)


# What published configs say, and the class does not know.
SAID = dict(
    first_k_dense_replace=1, mla_use_nope=True, moe_layer_freq=1, moe_router_activation_func="sigmoid", num_nextn_predict_layers=0,
    rope_scaling=None, rope_theta=10000.0, use_grouped_topk=True,
)  # fmt: skip

def dense(tensors, generator):
    """Gives layers without experts their published names back, which transformers saves under those of experts."""
    for name in list(tensors):
        if ".block_sparse_moe." in name and name.split(".block_sparse_moe.")[1] in ("gate_proj.weight", "up_proj.weight", "down_proj.weight"):
            tensors[name.replace(".block_sparse_moe.", ".mlp.")] = tensors.pop(name)


FAMILY = Family(
    "KimiLinear",
    to_gguf={
        "kimi_linear": Repository(
            SIZES, kimi, "dbrx", steps=[edited(settled), edited(dense), say(linear_attn_config=linear([3], [1, 2], 4, 4), **SAID)]
        ),
        # Experts in every layer, and two of them with full attention.
        "kimi_linear-full": Repository(
            dict(
                SIZES, num_hidden_layers=4, layer_types=["full_attention", "linear_attention"] * 2, mlp_layer_types=["sparse"] * 4, linear_conv_kernel_dim=3,
                n_shared_experts=2, moe_intermediate_size=4,
            ),
            kimi, "dbrx", dtype="float16", types=["f32"],
            steps=[edited(settled), edited(dense), say(linear_attn_config=linear([1, 3], [2, 4], 4, 4, 3), **SAID | dict(first_k_dense_replace=0))],
        ),
    },
    configs={
        "kimi-linear-48b": config(
            "KimiLinearForCausalLM", "kimi_linear",
            **SAID, dtype="bfloat16", head_dim=72, hidden_act="silu", hidden_size=2304, initializer_range=0.02, intermediate_size=9216,
            kv_lora_rank=512, model_max_length=1048576, moe_intermediate_size=1024, moe_renormalize=True, num_attention_heads=32, num_expert_group=1,
            num_experts=256, num_experts_per_token=8, num_hidden_layers=27, num_key_value_heads=32, num_shared_experts=1, q_lora_rank=None,
            qk_nope_head_dim=128, qk_rope_head_dim=64, rms_norm_eps=1e-5, routed_scaling_factor=2.446, tie_word_embeddings=False, topk_group=1,
            v_head_dim=128, vocab_size=163840,
            linear_attn_config=linear([4, 8, 12, 16, 20, 24, 27], [layer for layer in range(1, 27) if layer % 4], 128, 32),
        ),
    },
    warned={"kimi-linear-48b": ["rms_norm_eps"]},
)  # fmt: skip
