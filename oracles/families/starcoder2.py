"""StarCoder 2."""

from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import digits

starcoder = plain_bpe(digits(), "GPT2Tokenizer", "<|endoftext|>", "<|endoftext|>", "<fim_prefix>", spelled=True)
FAMILY = Family(
    "Starcoder2",
    names={
        "starcoder2": Tiny(dict(tie_word_embeddings=True)),
    },
    to_gguf={
        "starcoder2": Repository({}, starcoder, "starcoder", dtype="float32", types=["auto", "f32"]),
    },
    configs={
        "starcoder2": config(
            "Starcoder2ForCausalLM", "starcoder2", 3072, 12288, 30, 24, 2, 49152, 16384,
            norm_epsilon=1e-5, rope_theta=999999.4420358813, sliding_window=4096,
        ),
        "starcoder2-bare": dict(architectures=["Starcoder2ForCausalLM"], model_type="starcoder2"),
    },
    warned={"starcoder2": ["sliding_window"]},
)
