"""DistilBERT: BERT with half of the layers, and other names."""

from family_blocks import ABSENT, Family, Repository
from family_tokenizers import bert, by_flag, pooled
from settings_rows import Cases

UNSAID = dict.fromkeys(["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"], ABSENT)
SMALL = dict(UNSAID, dim=16, hidden_dim=24, n_layers=2, n_heads=4, max_position_embeddings=20)

FAMILY = Family(
    "DistilBertModel",
    to_gguf={
        "distilbert": Repository(SMALL, pooled(bert, **by_flag("mean_tokens")), "default", dtype="float32", types=["f32", "auto"]),
        "distilbert-masked": Repository(dict(SMALL, n_layers=1, n_heads=2), bert, "default", types=["f16"], model="DistilBertForMaskedLM"),
        "distilbert-classes": Repository(dict(SMALL, num_labels=3), bert, "default", model="DistilBertForSequenceClassification"),
    },
    settings={
        "distilbert": Cases("distilbert", dict(UNSAID, num_hidden_layers=4, dim=64, hidden_dim=48, n_layers=4, n_heads=4, rope_parameters=ABSENT), [], embed=True),
    },
    configs={
        "distilbert-base": dict(
            architectures=["DistilBertForMaskedLM"], model_type="distilbert", activation="gelu", attention_dropout=0.1, dim=768, dropout=0.1, hidden_dim=3072,
            initializer_range=0.02, max_position_embeddings=512, n_heads=12, n_layers=6, pad_token_id=0, qa_dropout=0.1, seq_classif_dropout=0.2,
            sinusoidal_pos_embds=False, tie_weights_=True, vocab_size=30522,
        ),
        "distilbert-bare": dict(architectures=["DistilBertModel"], model_type="distilbert"),
    },
    back="distilbert",
)  # fmt: skip
