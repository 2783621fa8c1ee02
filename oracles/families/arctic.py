"""Arctic, of which transformers has no class any more."""

import family_layouts as layouts
import gguf_vocabularies as vocabularies
import torch
from family_blocks import Family, Repository
from family_tokenizers import META, decoder, settings


def arctic(folder):
    """Two pieces are special tokens instead, and one that is none stands behind the pieces."""
    found = vocabularies.pieces(META, vocabularies.WORDS[:6])
    vocabularies.sentencepiece_model(folder, found)
    last = len(found)
    more = decoder((0, "<unk>"), (1, "<s>"), (2, "</s>"), (last - 2, "<|im_start|>"), (last - 1, "<|im_end|>"), (last, "\u2581own", False))
    said = settings("LlamaTokenizer", bos_token="<|im_start|>", eos_token="<|im_end|>", unk_token="<unk>", added_tokens_decoder=more, add_bos_token=True)
    vocabularies.write_json(folder, "tokenizer_config.json", said, indent=2)
    return dict(bos_token_id=last - 2, eos_token_id=last - 1)


CONFIG = dict(
    architectures=["ArcticForCausalLM"], model_type="arctic", attention_dropout=0, enable_expert_tensor_parallelism=False, enc_index=[0, 1],
    hidden_act="silu", hidden_size=16, intermediate_size=8, max_position_embeddings=64, max_sequence_length=64, moe_eval_capacity_factor=1,
    moe_layer_frequency=1, moe_min_capacity=0, moe_token_dropping=False, moe_train_capacity_factor=1, num_attention_heads=4, num_experts_per_tok=2,
    num_hidden_layers=2, num_key_value_heads=2, num_local_experts=3, parallel_attn_mlp_res=True, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10000,
    router_aux_loss_coef=0.001, sliding_window=None, tie_word_embeddings=False, use_residual=True,
)  # fmt: skip


def shapes(tokens, keys=2, count=3):
    def of(name, number):
        found = layouts.attention(name, 4, keys, 4) | layouts.norms(name) | {f"{name}.residual_layernorm.weight": [16]}
        found |= layouts.inside(f"{name}.residual_mlp", dict(w1=[16, 16], w3=[16, 16], w2=[16, 16])) | {f"{name}.block_sparse_moe.gate.weight": [count, 16]}
        for expert in range(count):
            found |= layouts.inside(f"{name}.block_sparse_moe.experts.{expert}", dict(w1=[8, 16], w3=[8, 16], w2=[16, 8]))
        return found

    return layouts.trunk(tokens) | layouts.layers(2, of)


FAMILY = Family(
    None,
    to_gguf={
        "arctic": Repository({}, arctic, None, laid_out=layouts.laid_out(CONFIG, shapes)),
        "arctic-more": Repository(
            {}, arctic, None, types=["f32"],
            laid_out=layouts.laid_out(dict(CONFIG, num_key_value_heads=4, num_local_experts=4), lambda tokens: shapes(tokens, 4, 4), torch.float16),
        ),
    },
    configs={
        "snowflake-arctic": dict(
            CONFIG, enc_index=list(range(35)), hidden_size=7168, intermediate_size=4864, max_position_embeddings=4096, max_sequence_length=4096,
            num_attention_heads=56, num_hidden_layers=35, num_key_value_heads=8, num_local_experts=128, vocab_size=32000,
        ),
    },
    skipped={"arctic": "transformers has no such class"},
)  # fmt: skip
