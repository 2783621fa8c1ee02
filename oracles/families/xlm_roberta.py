"""XLM-RoBERTa, of which many multilingual encoders are made."""

from family_blocks import ENCODER, SMALL_ENCODER, Family, Repository, Tiny
from family_tokenizers import by_flag, pooled, unigram

FAMILY = Family(
    "XLMRobertaModel",
    names={
        # Positions begin behind the padding's.
        "xlm-roberta": Tiny(dict(SMALL_ENCODER, pad_token_id=1, num_labels=1), model="XLMRobertaForSequenceClassification"),
    },
    to_gguf={
        "xlm-roberta": Repository(ENCODER, pooled(unigram(True), **by_flag("mean_tokens")), None, dtype="float32", types=["f32", "auto"]),
        "xlm-roberta-classes": Repository(dict(ENCODER, num_labels=1), unigram(False), None, model="XLMRobertaForSequenceClassification"),
    },
    configs={
        "bge-m3": dict(
            architectures=["XLMRobertaModel"], model_type="xlm-roberta", hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16,
            layer_norm_eps=1e-5, max_position_embeddings=8194, pad_token_id=1, type_vocab_size=1, vocab_size=250002,
        ),
        "xlm-roberta-bare": dict(architectures=["XLMRobertaModel"], model_type="xlm-roberta"),
        "xlm-roberta-unpadded": dict(architectures=["XLMRobertaModel"], model_type="xlm-roberta", pad_token_id=None),
    },
)
