"""The encoder of T5 alone."""

from families.t5 import SMALL, only_copy
from family_blocks import Family, Repository, edited, say
from family_tokenizers import t5

import transformers


def both(tensors, generator):
    """The embedding under both of its names."""
    tensors["encoder.embed_tokens.weight"] = tensors["shared.weight"].clone()


def model(settings):
    return transformers.T5EncoderModel(transformers.T5Config(**settings))


FAMILY = Family(
    model,
    to_gguf={
        "t5_encoder": Repository(dict(SMALL, feed_forward_proj="gated-gelu"), t5(), None, types=["bf16", "f16"], steps=[edited(both)]),
        "t5_encoder-relu": Repository(
            dict(SMALL), t5("tokenizer.model", json=False), None, dtype="float32", types=["auto"], steps=[edited(only_copy), say(n_positions=1024)]
        ),
    },
    configs={
        "t5-v1_1-xxl-encoder": dict(
            architectures=["T5EncoderModel"], model_type="t5", classifier_dropout=0.0, d_ff=10240, d_kv=64, d_model=4096, decoder_start_token_id=0,
            dense_act_fn="gelu_new", dropout_rate=0.1, eos_token_id=1, feed_forward_proj="gated-gelu", initializer_factor=1.0, is_encoder_decoder=True,
            is_gated_act=True, layer_norm_epsilon=1e-06, num_decoder_layers=24, num_heads=64, num_layers=24, output_past=True, pad_token_id=0,
            relative_attention_max_distance=128, relative_attention_num_buckets=32, tie_word_embeddings=False, use_cache=True, vocab_size=32128,
        ),
        "t5-encoder-bare": dict(architectures=["T5EncoderModel"], model_type="t5"),
    },
    back="t5",
)  # fmt: skip
