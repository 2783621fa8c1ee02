"""SmolLM 3."""

import gguf_vocabularies as vocabularies
from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level, split

smollm3 = plain_bpe([split(vocabularies.LLAMA3), byte_level()], "PreTrainedTokenizerFast", "<|begin_of_text|>", "<|im_end|>")
FAMILY = Family(
    "SmolLM3",
    names={
        # The second layer has no rotary embedding; its heads are permuted all the same.
        "smollm3": Tiny(dict(num_hidden_layers=2, no_rope_layers=[1, 0])),
    },
    to_gguf={
        "smollm3": Repository({}, smollm3, "smaug-bpe"),
    },
    configs={
        "smollm3": config("SmolLM3ForCausalLM", "smollm3", 2048, 11008, 36, 16, 4, 128256, 65536, rope_theta=5000000.0),
        "smollm3-bare": dict(architectures=["SmolLM3ForCausalLM"], model_type="smollm3"),
    },
)
