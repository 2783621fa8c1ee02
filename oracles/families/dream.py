"""Dream: Qwen 2 that sees the whole text, of which transformers has no class."""

from family_blocks import Family, Repository, as_old, change, config
from family_tokenizers import pooled, qwen2



def named(folder):
    said = dict(architectures=["DreamModel"], model_type="Dream", use_mrope=False, sliding_window=None, layer_types=None)
    change(folder, lambda config: dict(config, **said, mask_token_id=config["bos_token_id"]))


FAMILY = Family(
    "Qwen2",
    to_gguf={
        "dream": Repository(dict(num_hidden_layers=2), qwen2, "qwen2", types=["bf16"], steps=[as_old, named]),
        "dream-tied": Repository(
            dict(tie_word_embeddings=True), pooled(qwen2, pooling_mode="mean"), "qwen2", dtype="float32", types=["f32"], steps=[as_old, named]
        ),
    },
    configs={
        "dream-7b": config(
            "DreamModel", "Dream", 3584, 18944, 28, 28, 4, 152064, 131072,
            attention_dropout=0.0, bos_token_id=151643, eos_token_id=151643, hidden_act="silu", mask_token_id=151666, max_window_layers=28,
            pad_token_id=151643, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=1000000.0, sliding_window=None, tie_word_embeddings=False,
            use_mrope=False, use_sliding_window=False,
        ),
        "dream-unmasked": config("DreamModel", "Dream", 512, 1024, 4, 8, 2, 1000, 4096, rms_norm_eps=1e-6),
    },
    skipped={"dream": "transformers has no such class"},
)  # fmt: skip
