"""ModernBERT."""

from family_blocks import ABSENT, Family, Repository, change, say
from family_tokenizers import by_flag, modern, pooled
from settings_rows import Cases, each

SMALL = dict(num_hidden_layers=2, num_key_value_heads=ABSENT, local_attention=16, hidden_activation="gelu")
# Published configs have the epsilon under two names, and the rotary bases beside each other.
OLD = dict(
    global_attn_every_n_layers=3, layer_norm_eps=1e-5, global_rope_theta=160000.0, local_rope_theta=20000.0, position_embedding_type="absolute",
    reference_compile=None, repad_logits_with_grad=False, gradient_checkpointing=False,
)  # fmt: skip


def old(folder):
    """A config as transformers 4 wrote it."""
    gone = ["rope_parameters", "layer_types"]
    change(folder, lambda config: dict({key: value for key, value in config.items() if key not in gone}, **OLD))


def without_decoder(kind):
    """the masked-word head is left out"""
    before = kind.filter_tensors.__func__
    kind.filter_tensors = classmethod(lambda cls, item: None if item[0].startswith("decoder.") else before(cls, item))


FAMILY = Family(
    "ModernBertModel",
    to_gguf={
        "modern_bert": Repository(SMALL, pooled(modern(), **by_flag("cls_token")), "modern-bert", dtype="float32", types=["f32", "auto"], steps=[old]),
        "modern_bert-masked": Repository(dict(SMALL), modern(None), "modern-bert", model="ModernBertForMaskedLM", steps=[say(layer_norm_eps=1e-5)], mend=without_decoder),
        "modern_bert-classes": Repository(
            dict(SMALL, num_labels=1, hidden_activation="silu", classifier_pooling="mean"), modern(), "modern-bert", model="ModernBertForSequenceClassification", steps=[old]
        ),
        "modern_bert-named": Repository(
            dict(SMALL, num_labels=3, num_hidden_layers=4), modern(), "modern-bert", model="ModernBertForSequenceClassification",
            steps=[say(layer_norm_eps=1e-5)],
        ),
    },
    settings={
        "modern_bert": Cases(
            "modern_bert", dict(SMALL, num_hidden_layers=4, rope_parameters=ABSENT), [*each("local_attention", 128)], embed=True,
        ),
    },
    configs={
        "modern-bert-base": dict(
            architectures=["ModernBertForMaskedLM"], model_type="modernbert", attention_bias=False, attention_dropout=0.0, bos_token_id=50281,
            classifier_activation="gelu", classifier_bias=False, classifier_dropout=0.0, classifier_pooling="mean", cls_token_id=50281, decoder_bias=True,
            deterministic_flash_attn=False, embedding_dropout=0.0, eos_token_id=50282, global_attn_every_n_layers=3, global_rope_theta=160000.0,
            gradient_checkpointing=False, hidden_activation="gelu", hidden_size=768, initializer_cutoff_factor=2.0, initializer_range=0.02,
            intermediate_size=1152, layer_norm_eps=1e-05, local_attention=128, local_rope_theta=10000.0, max_position_embeddings=8192, mlp_bias=False,
            mlp_dropout=0.0, norm_bias=False, norm_eps=1e-05, num_attention_heads=12, num_hidden_layers=22, pad_token_id=50283,
            position_embedding_type="absolute", reference_compile=None, sep_token_id=50282, sparse_pred_ignore_index=-100, sparse_prediction=False,
            vocab_size=50368,
        ),
        "modern-bert-bare": dict(architectures=["ModernBertModel"], model_type="modernbert"),
    },
    warned={"modern-bert-bare": ["layer_norm_eps"]},
    back="modernbert",
)  # fmt: skip
