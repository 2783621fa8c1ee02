"""Granite 4: with state spaces, and without them."""

from families.granitemoe import SCALES
from family_blocks import Family, Repository, config, edited, say, settled
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level, split
from gguf_vocabularies import LLAMA3
from settings_rows import KV, TIED, Cases

cl100k = plain_bpe([split(LLAMA3), byte_level()], "GPT2Tokenizer", "<|end_of_text|>", "<|end_of_text|>", "<|pad|>")
# Rows for as many tokens as the converter makes.
ROWS = 6
KINDS = dict(m="linear_attention", a="full_attention")
SAID = dict(m="mamba", a="attention")


def mixed(letters, **more):
    kinds = dict(layer_types=[KINDS[letter] for letter in letters], num_hidden_layers=len(letters))
    return {**SCALES, **dict(mamba_n_heads=4, mamba_d_state=4, mamba_d_head=8), **kinds, **more}


def steps(letters):
    return [edited(settled), say(layer_types=[SAID[letter] for letter in letters])]


MOST = dict(num_local_experts=3, num_experts_per_tok=2, shared_intermediate_size=12)
DENSE = dict(num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=20)
PUBLISHED = dict(
    attention_bias=False, attention_dropout=0.0, attention_multiplier=0.0078125, bos_token_id=100257, embedding_multiplier=12, eos_token_id=100257,
    hidden_act="silu", init_method="mup", initializer_range=0.1, logits_scaling=6, mamba_chunk_size=256, mamba_conv_bias=True, mamba_d_conv=4,
    mamba_d_head=64, mamba_d_state=128, mamba_expand=2, mamba_n_groups=1, mamba_n_heads=48, mamba_proj_bias=False,
    normalization_function="rmsnorm", output_router_logits=False, pad_token_id=100256, residual_multiplier=0.22, rms_norm_eps=1e-5,
    rope_scaling=None, rope_theta=10000, router_aux_loss_coef=0.0, tie_word_embeddings=True,
)  # fmt: skip

FAMILY = Family(
    "GraniteMoeHybrid",
    to_gguf={
        "granitehybrid": Repository(mixed("mam", **MOST, mamba_n_groups=2), cl100k, "dbrx", types=["f32", "bf16"], steps=steps("mam"), spare=ROWS),
        "granitehybrid-dense": Repository(
            mixed("ma", **DENSE, tie_word_embeddings=True), cl100k, "dbrx", dtype="float32", types=["f32"], steps=steps("ma"), spare=ROWS
        ),
        "granitehybrid-attention": Repository(
            mixed("aa", **DENSE, position_embedding_type="rope"), cl100k, "dbrx", steps=steps("aa"), spare=1
        ),
        "granitehybrid-experts": Repository(
            mixed("a", **MOST, position_embedding_type="rope", attention_bias=True), cl100k, "dbrx", steps=steps("a")
        ),
    },
    settings={
        "granitehybrid": Cases(
            "granitehybrid",
            mixed("mamm", **dict(MOST, num_local_experts=6, shared_intermediate_size=32), mamba_n_heads=8, mamba_d_head=16, vocab_size=296),
            [*TIED, *KV], steps=steps("mamm"),
        ),
    },
    configs={
        "granite-4.0-h-tiny": config(
            "GraniteMoeHybridForCausalLM", "granitemoehybrid", 1536, 512, 40, 12, 4, 100352, 131072, **PUBLISHED, num_local_experts=64,
            num_experts_per_tok=6, shared_intermediate_size=1024, position_embedding_type="nope",
            layer_types=(["mamba"] * 5 + ["attention"] + ["mamba"] * 4) * 4,
        ),
        "granite-4.0-micro": config(
            "GraniteMoeHybridForCausalLM", "granitemoehybrid", 2560, 8192, 40, 40, 8, 100352, 131072, **PUBLISHED, num_local_experts=0,
            num_experts_per_tok=0, shared_intermediate_size=8192, position_embedding_type="rope", layer_types=["attention"] * 40,
        ),
        "granite-4-rope": config(
            "GraniteMoeHybridForCausalLM", "granitemoehybrid", 1536, 512, 2, 12, 4, 100352, 131072, **PUBLISHED, num_local_experts=0,
            num_experts_per_tok=0, shared_intermediate_size=1024, position_embedding_type="rope", layer_types=["mamba", "attention"],
        ),
    },
    warned={"granite-4-rope": ["position_embedding_type"]},
)  # fmt: skip
