"""LLaDA: Llama under other names that sees the whole text, of which transformers has no class."""

from family_blocks import Family, Repository, change, edited
from family_tokenizers import plain_bpe
from gguf_vocabularies import LLAMA3, byte_level, split

llada = plain_bpe([split(LLAMA3), byte_level()], "PreTrainedTokenizerFast", "<|startoftext|>", "<|endoftext|>", "<|mdm_mask|>")
NAMES = {
    "model.embed_tokens": "wte",
    "model.norm": "ln_f",
    "lm_head": "ff_out",
    "model.layers.": "blocks.",
    "self_attn.o_proj": "attn_out",
    "self_attn.": "",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ff_norm",
    "mlp.gate_proj": "ff_proj",
    "mlp.up_proj": "up_proj",
    "mlp.down_proj": "ff_out",
}


def renamed(tensors, generator):
    for name in list(tensors):
        new = name
        for old, other in NAMES.items():
            new = new.replace(old, other)
        tensors["model.transformer." + new] = tensors.pop(name)


def published(width, inner, layers, heads, keys, vocabulary, context):
    sizes = dict(d_model=width, mlp_hidden_size=inner, n_layers=layers, n_heads=heads, n_kv_heads=keys, vocab_size=vocabulary)
    return dict(
        sizes, activation_type="silu", alibi=False, alibi_bias_max=8.0, architectures=["LLaDAModelLM"], attention_dropout=0.0,
        attention_layer_norm=False, attention_layer_norm_with_affine=True, bias_for_layer_norm=False, block_group_size=1, block_type="llama",
        embedding_dropout=0.0, embedding_size=vocabulary, flash_attention=False, include_bias=False, include_qkv_bias=False,
        init_cutoff_factor=None, init_device="meta", init_fn="mitchell", init_std=0.02, input_emb_norm=False, layer_norm_type="rms",
        layer_norm_with_affine=True, max_sequence_length=context, mlp_ratio=4, model_type="llada", multi_query_attention=None,
        precision="amp_bf16", residual_dropout=0.0, rms_norm_eps=1e-5, rope=True, rope_full_precision=True, rope_theta=500000.0,
        scale_logits=False, use_cache=False, weight_tying=False,
    )  # fmt: skip


def as_published(folder):
    def edit(said):
        keys = "hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads vocab_size max_position_embeddings"
        ids = {key: said[key] for key in ("eos_token_id", "bos_token_id", "pad_token_id")}
        return dict(published(*(said[key] for key in keys.split())), **ids, mask_token_id=said["eos_token_id"] + 1)

    change(folder, edit)


STEPS = [edited(renamed), as_published]
FAMILY = Family(
    "Llama",
    to_gguf={
        "llada": Repository(dict(num_hidden_layers=2, num_key_value_heads=4), llada, "dbrx", types=["bf16"], steps=STEPS),
        "llada-keys": Repository(dict(num_key_value_heads=2, max_position_embeddings=128), llada, "dbrx", dtype="float32", types=["f32"], steps=STEPS),
    },
    configs={
        "llada-8b": dict(published(4096, 12288, 32, 32, 32, 126464, 4096), mask_token_id=126336),
        "llada-logits": dict(published(1024, 4096, 8, 8, 8, 126464, 4096), scale_logits=True),
    },
    warned={"llada-logits": ["scale_logits"]},
    skipped={"llada": "transformers has no such class"},
)
