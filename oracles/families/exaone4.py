"""EXAONE 4: norms behind attention and feed-forward, and windows in the larger one."""

from family_blocks import LLAMA3, SCALED_LLAMA3, Family, Repository, config, edited, numbers, say
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level
from settings_rows import ACT, EPS, KV, NOTHING, ROTARY, TIED, WINDOW, Cases, each, kinds, row

exaone = plain_bpe([byte_level(use_regex=True)], "PreTrainedTokenizerFast", "[BOS]", "[|endofturn|]", "[PAD]")
KINDS = ["sliding_attention"] * 3 + ["full_attention"]


def predicting(tensors, generator):
    """A layer that predicts one more token, beside the model."""
    layers = [name for name in tensors if "layers.0." in name]
    for name in layers:
        tensors["mtp.layers.0." + name.split("layers.0.")[1]] = numbers(tensors[name].shape, generator).bfloat16()
    width = tensors["lm_head.weight"].shape[1]
    tensors["mtp.fc.weight"] = numbers([width, 2 * width], generator).bfloat16()
    for norm in ["pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"]:
        tensors[f"mtp.{norm}.weight"] = numbers([width], generator).bfloat16()


FAMILY = Family(
    "Exaone4",
    to_gguf={
        "exaone4": Repository(
            dict(num_hidden_layers=2, sliding_window=None, layer_types=["full_attention"] * 2, tie_word_embeddings=True, rope_parameters=LLAMA3),
            exaone, "exaone4", types=["bf16"],
        ),
        "exaone4-windows": Repository(
            dict(num_hidden_layers=4, intermediate_size=8, sliding_window=16, head_dim=8), exaone, "exaone4", dtype="float16", types=["f16"]
        ),
        "exaone4-next": Repository(
            dict(num_hidden_layers=2, intermediate_size=8), exaone, "exaone4", types=["bf16"],
            steps=[edited(predicting), say(architectures=["Exaone4_5_ForConditionalGeneration"], num_nextn_predict_layers=1)],
        ),
    },
    configs={
        "exaone-4.0-32b": config(
            "Exaone4ForCausalLM", "exaone4", 5120, 27392, 64, 40, 8, 102400, 131072,
            attention_dropout=0.0, head_dim=128, hidden_act="silu", layer_types=KINDS * 16, rms_norm_eps=1e-5,
            rope_scaling=dict(SCALED_LLAMA3, factor=16.0, rope_type="llama3"), rope_theta=1000000, sliding_window=4096,
            sliding_window_pattern="LLLG", tie_word_embeddings=False,
        ),
        "exaone-4.0-1.2b": config(
            "Exaone4ForCausalLM", "exaone4", 2048, 4096, 30, 32, 8, 102400, 65536,
            head_dim=64, layer_types=["full_attention"] * 30, rope_scaling=dict(SCALED_LLAMA3, factor=16.0, rope_type="llama3"),
            rope_theta=1000000, sliding_window=None, sliding_window_pattern=None, tie_word_embeddings=True,
        ),
        "exaone-4.5-33b": dict(
            architectures=["Exaone4_5_ForConditionalGeneration"], model_type="exaone4_5", image_token_id=67, video_token_id=68,
            text_config=config(
                "Exaone4ForCausalLM", "exaone4", 5120, 27392, 64, 40, 8, 153600, 262144,
                layer_types=KINDS * 16, num_nextn_predict_layers=1, sliding_window=4096, rope_theta=1000000,
            ),
            vision_config=dict(model_type="exaone4_5_vision"),
        ),
        "exaone4-bare": dict(architectures=["Exaone4ForCausalLM"], model_type="exaone4"),
    },
    warned={"exaone4-bare": ["sliding_window"]},
    settings={
        "exaone4": Cases(
            "exaone4",
            dict(head_dim=16, sliding_window=None, layer_types=kinds("ffff")),
            [
                row("sliding_window", "8", sliding_window=WINDOW, layer_types=kinds("sssf")),
                row("sliding_window", "8, 64 layers", sliding_window=WINDOW, layer_types=kinds("sssf" * 16), num_hidden_layers=64),
                row("sliding_window", "8, 64 layers, sfsf", sliding_window=WINDOW, layer_types=kinds("sfsf" * 16), num_hidden_layers=64),
                row("sliding_window", "None, 64 layers", layer_types=kinds("ffff" * 16), num_hidden_layers=64),
                *[*ROTARY, *TIED, *each("head_dim", 24), *ACT, *EPS, *KV, *NOTHING],
            ],
            steps=[],
        ),
    },
    back="exaone4",
)  # fmt: skip
