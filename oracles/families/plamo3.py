"""PLaMo 3."""

import family_layouts as layouts
import torch
from families.plamo2 import attention, common, plamo
from family_blocks import Family, Repository
from gguf_vocabularies import CHAT

CONFIG = dict(
    architectures=["Plamo3ForCausalLM"], model_type="plamo3", bos_token_id=1, eos_token_id=2, head_dim=8, hidden_size=16, intermediate_size=24,
    max_position_embeddings=64, num_attention_heads=4, num_hidden_layers=2, num_key_value_heads=2, pad_token_id=3, rms_norm_eps=1e-6,
    rope_local_theta=10000, rope_theta=1000000, sliding_window_pattern=8, tie_word_embeddings=True, tokenizer_class="Plamo3Tokenizer",
    use_cache=True, window_size=16,
)  # fmt: skip


def shapes(tokens, count=2, keys=2, head=False):
    found = layouts.trunk(tokens, head=head)
    for layer in range(count):
        name = f"model.layers.layers.{layer}"
        norms = {"q_norm.weight": [8], "k_norm.weight": [8]}
        found |= common(name) | attention(name, keys, norms)
    return found


FAMILY = Family(
    None,
    to_gguf={
        "plamo3": Repository({}, plamo(CHAT), None, laid_out=layouts.laid_out(CONFIG, shapes)),
        # No windows.
        "plamo3-wide": Repository(
            {}, plamo(), None, types=["f32"],
            laid_out=layouts.laid_out(
                dict({key: value for key, value in CONFIG.items() if not key.startswith(("window", "sliding", "rope_local"))},
                    architectures=["PLaMo3ForCausalLM"], num_hidden_layers=1, num_key_value_heads=4, tie_word_embeddings=False),
                lambda tokens: shapes(tokens, 1, 4, True), torch.float32,
            ),
        ),
    },
    configs={
        "plamo-3-nict-2b": dict(
            CONFIG, head_dim=128, hidden_size=2048, intermediate_size=8192, max_position_embeddings=4096, num_attention_heads=16,
            num_hidden_layers=24, num_key_value_heads=4, vocab_size=107520, window_size=2048,
        ),
    },
)  # fmt: skip
