"""CamemBERT, which the converter takes for BERT: it has its tokenizer's words, but RoBERTa's positions."""

from family_blocks import ENCODER, Family, Repository
from family_tokenizers import bert, by_flag, pooled

FAMILY = Family(
    "CamembertModel",
    to_gguf={
        "camembert": Repository(dict(ENCODER, type_vocab_size=1), pooled(bert, **by_flag("mean_tokens")), "default", dtype="float32", types=["auto"]),
    },
)
