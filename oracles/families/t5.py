"""T5, of an encoder and a decoder, with MT5 and UMT5."""

from family_blocks import ABSENT, Family, Repository, edited, numbers, say
from family_tokenizers import t5

UNSAID = dict.fromkeys(
    ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "max_position_embeddings"], ABSENT
)
SMALL = dict(UNSAID, d_model=16, d_kv=6, d_ff=24, num_layers=2, num_heads=3, decoder_start_token_id=0, relative_attention_num_buckets=8)


def copied(tensors, generator):
    """The embedding under its other names, as older files have it, and a head of its own."""
    for part in ["encoder", "decoder"]:
        tensors[f"{part}.embed_tokens.weight"] = tensors["shared.weight"].clone()
    tensors["lm_head.weight"] = numbers(tensors["shared.weight"].shape, generator).bfloat16()


def only_copy(tensors, generator):
    tensors["encoder.embed_tokens.weight"] = tensors.pop("shared.weight")


SAID = say(n_positions=512, decoder_start_token_id=0, output_past=True, task_specific_params={})

FAMILY = Family(
    "T5ForConditionalGeneration",
    to_gguf={
        "t5": Repository(dict(SMALL), t5(), None, dtype="float32", types=["f32", "f16"], steps=[SAID]),
        # With a gate, fewer layers in the decoder, and a file of SentencePiece that says little.
        "t5-gated": Repository(
            dict(SMALL, feed_forward_proj="gated-gelu", num_decoder_layers=1),
            t5("tokenizer.model", [("<user>", 0.0, 4), ("<unused>", -3.0, 5)], json=False, more=4, kind=None, add_dummy_prefix=False,
               precompiled_charsmap=b""),
            None,
            steps=[say(decoder_start_token_id=0, tie_word_embeddings=False), edited(copied)],
        ),
        "t5-mt5": Repository(
            dict(SMALL, feed_forward_proj="gated-gelu"), t5(remove_extra_whitespaces=False), None, model="MT5ForConditionalGeneration", steps=[edited(only_copy)]
        ),
        "t5-umt5": Repository(dict(SMALL, feed_forward_proj="gated-gelu"), t5(), None, model="UMT5ForConditionalGeneration"),
        "t5-umt5-bare": Repository(dict(SMALL), t5(json=False), None, model="UMT5Model"),
    },
    configs={
        "flan-t5-base": dict(
            architectures=["T5ForConditionalGeneration"], model_type="t5", d_ff=2048, d_kv=64, d_model=768, decoder_start_token_id=0, dropout_rate=0.1,
            eos_token_id=1, feed_forward_proj="gated-gelu", initializer_factor=1.0, is_encoder_decoder=True, layer_norm_epsilon=1e-06, n_positions=512,
            num_decoder_layers=12, num_heads=12, num_layers=12, output_past=True, pad_token_id=0, relative_attention_max_distance=128,
            relative_attention_num_buckets=32, tie_word_embeddings=False, use_cache=True, vocab_size=32128,
        ),
        "t5-bare": dict(architectures=["T5WithLMHeadModel"], model_type="t5", decoder_start_token_id=0),
        "mt5-bare": dict(architectures=["MT5ForConditionalGeneration"], model_type="mt5"),
        "umt5-bare": dict(architectures=["UMT5Model"], model_type="umt5", num_decoder_layers=4),
    },
    warned={"t5-bare": ["scale_decoder_outputs"], "umt5-bare": ["tie_word_embeddings"]},
)  # fmt: skip
