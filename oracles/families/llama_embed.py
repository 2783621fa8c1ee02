"""Llama as an encoder."""

import transformers
from family_blocks import LLAMA3, Family, Repository, say
from family_tokenizers import by_flag, llama3, pooled


def named(folder):
    """The class and the type of a published config."""
    said = dict(architectures=["LlamaBidirectionalModel"], model_type="llama_bidirec", pooling="avg", temperature=0.02)
    say(**said)(folder)


FAMILY = Family(
    "LlamaModel",
    to_gguf={
        "llama_embed": Repository(dict(num_hidden_layers=2), pooled(llama3, **by_flag("mean_tokens")), "llama-bpe", types=["f32", "bf16"], steps=[named]),
        "llama_embed-scaled": Repository(
            dict(max_position_embeddings=16384, hidden_size=32, intermediate_size=32, head_dim=16, rope_parameters=LLAMA3, attention_bias=True), llama3, "llama-bpe",
            dtype="float32", types=["auto"], steps=[named],
        ),
    },
)  # fmt: skip
