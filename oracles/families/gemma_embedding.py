"""EmbeddingGemma."""

from family_blocks import Family, Repository
from family_tokenizers import by_flag, google, pooled

FAMILY = Family(
    "Gemma3TextModel",
    to_gguf={
        "gemma_embedding": Repository(
            dict(head_dim=4, sliding_window=16, use_bidirectional_attention=True), pooled(google, **by_flag("mean_tokens")), None
        ),
        "gemma_embedding-f32": Repository(
            dict(head_dim=8, sliding_window=33, use_bidirectional_attention=True, num_hidden_layers=2, query_pre_attn_scalar=8), google, None, types=["f32"]
        ),
    },
)  # fmt: skip
