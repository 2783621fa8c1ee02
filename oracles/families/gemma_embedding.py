"""EmbeddingGemma."""

from family_blocks import Family, Repository
from family_tokenizers import by_flag, google, pooled
from settings_rows import WINDOW, Cases, by_layer, kinds

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
    settings={
        "gemma_embedding": Cases(
            "gemma_embedding",
            dict(
                head_dim=16, num_hidden_layers=6, layer_types=kinds("sssssf"), sliding_window=WINDOW, query_pre_attn_scalar=16,
                use_bidirectional_attention=True, **by_layer(dict(rope_theta=10000.0), dict(rope_theta=1000000.0)),
            ),
            [], less_one=True, embed=True,
        ),
    },
)  # fmt: skip
