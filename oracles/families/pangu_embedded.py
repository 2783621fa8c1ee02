"""openPangu-Embedded: Llama with biases of attention, of which transformers has no class."""

import json
import os

from family_blocks import Family, Repository, as_old, change, config, say
from family_tokenizers import meta


def spaced(folder):
    """Whether a space stands before a text is said beside the pieces."""
    ids = meta(folder)
    path = os.path.join(folder, "tokenizer_config.json")
    said = json.load(open(path))
    json.dump(dict(said, add_prefix_space=False), open(path, "w"), indent=2)
    return ids


NAMED = say(architectures=["PanguEmbeddedForCausalLM"], model_type="PanguEmbedded", bias=True)
BIASED = dict(attention_bias=True)


def unsaid(folder):
    ours = ["attention_bias", "mlp_bias", "head_dim", "pretraining_tp"]
    change(folder, lambda said: {key: value for key, value in said.items() if key not in ours})


FAMILY = Family(
    "Llama",
    to_gguf={
        "pangu_embedded": Repository(dict(BIASED, num_hidden_layers=2), spaced, None, types=["bf16"], steps=[as_old, unsaid, NAMED]),
        "pangu_embedded-tied": Repository(
            dict(BIASED, head_dim=8, tie_word_embeddings=True), meta, None, dtype="float32", types=["f32"], steps=[as_old, NAMED]
        ),
    },
    configs={
        "openpangu-7b": config(
            "PanguEmbeddedForCausalLM", "PanguEmbedded", 4096, 12800, 34, 32, 8, 153376, 32768,
            attention_dropout=0.0, bias=True, bos_token_id=1, eos_token_id=45892, pad_token_id=0, hidden_act="silu", rms_norm_eps=1e-5,
            rope_theta=16000000.0, tie_word_embeddings=False,
        ),
        "openpangu-1b": config(
            "PanguEmbeddedForCausalLM", "PanguEmbedded", 1536, 6144, 26, 12, 6, 153376, 32768,
            bias=True, rms_norm_eps=1e-5, rope_theta=4000000.0, head_dim=128, tie_word_embeddings=True,
        ),
    },
    skipped={"pangu_embedded": "transformers has no such class"},
)  # fmt: skip
