"""EuroBERT: Llama looking ahead, too."""

from family_blocks import Family, Repository, change
from family_tokenizers import by_flag, llama3, pooled
from settings_rows import KV, Cases, theta


def jina(folder):
    """The class of Jina's embeddings, version 5, which have the same weights."""
    change(folder, lambda config: dict(config, architectures=["JinaEmbeddingsV5Model"], task_names=["retrieval"]))


FAMILY = Family(
    "EuroBertModel",
    to_gguf={
        "eurobert": Repository(dict(num_hidden_layers=2, classifier_pooling="mean", mask_token_id=290), pooled(llama3, **by_flag("mean_tokens")), "llama-bpe", types=["f32", "bf16"]),
        "eurobert-heads": Repository(
            dict(num_key_value_heads=4, classifier_pooling="cls", mask_token_id=290, rope_parameters=dict(rope_type="default", rope_theta=250000.0)), llama3, "llama-bpe", dtype="float32", types=["auto"]
        ),
        "eurobert-jina": Repository(dict(num_key_value_heads=1, classifier_pooling="mean", mask_token_id=290), pooled(llama3, pooling_mode="lasttoken"), "llama-bpe", steps=[jina]),
    },
    settings={
        "eurobert": Cases("eurobert", dict(classifier_pooling="mean", mask_token_id=290), [*theta(500.0), *KV], embed=True),
    },
    configs={
        "eurobert-210m": dict(
            architectures=["EuroBertModel"], model_type="eurobert", attention_bias=False, attention_dropout=0.0, bos_token="<|begin_of_text|>",
            bos_token_id=128000, clf_pooling="late", classifier_pooling="mean", eos_token="<|end_of_text|>", eos_token_id=128001, head_dim=64, hidden_act="silu", hidden_dropout=0.0,
            hidden_size=768, initializer_range=0.02, intermediate_size=3072, is_causal=False, mask_token="<|mask|>", mask_token_id=128002,
            max_position_embeddings=8192, mlp_bias=False, num_attention_heads=12, num_hidden_layers=12, num_key_value_heads=12, pad_token="<|end_of_text|>",
            pad_token_id=128001, pretraining_tp=1, rms_norm_eps=1e-05, rope_scaling=None, rope_theta=250000, tie_word_embeddings=False, use_cache=False,
            vocab_size=128256,
        ),
        "eurobert-bare": dict(architectures=["EuroBertModel"], model_type="eurobert", classifier_pooling="cls"),
    },
    back="eurobert",
)  # fmt: skip
