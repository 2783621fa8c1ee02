"""The second Mamba, as Codestral has it."""

from families.mamba import ROWS, neox
from family_blocks import ABSENT, Family, Repository, edited, settled
from family_tokenizers import meta
from settings_rows import TIED, Cases, each

SIZES = dict(
    intermediate_size=ABSENT, num_attention_heads=ABSENT, num_key_value_heads=ABSENT, max_position_embeddings=ABSENT,
    state_size=4, conv_kernel=4, num_hidden_layers=2, num_heads=4, head_dim=8, n_groups=2,
)  # fmt: skip

STEPS = [edited(settled)]

FAMILY = Family(
    "Mamba2",
    to_gguf={
        "mamba2": Repository(SIZES, neox, "olmo", types=["f32", "bf16"], spare=ROWS + 8, steps=STEPS),
        "mamba2-tied": Repository(dict(SIZES, n_groups=1, expand=1, num_heads=2, tie_word_embeddings=True), meta, None, dtype="float16", types=["f16"], spare=15, steps=STEPS),
    },
    settings={
        "mamba2": Cases(
            "mamba2", dict(SIZES, num_heads=8, head_dim=16, num_hidden_layers=4, n_groups=1, rope_parameters=ABSENT, vocab_size=304),
            [*each("n_groups", 2), *TIED], steps=STEPS
        ),
    },
    configs={
        "mamba-codestral-7b": dict(
            architectures=["Mamba2ForCausalLM"], model_type="mamba2", bos_token_id=0, chunk_size=256, conv_kernel=4, eos_token_id=0, expand=2,
            head_dim=64, hidden_act="silu", hidden_size=4096, initializer_range=0.1, intermediate_size=8192, layer_norm_epsilon=1e-5, n_groups=8,
            norm_before_gate=True, num_heads=128, num_hidden_layers=64, pad_token_id=0, rescale_prenorm_residual=False, residual_in_fp32=True,
            rms_norm=True, state_size=128, tie_word_embeddings=False, time_step_floor=0.0001, time_step_init_scheme="random",
            time_step_limit=[0.0, None], time_step_max=0.1, time_step_min=0.001, time_step_rank=256, time_step_scale=1.0,
            use_bias=False, use_cache=True, use_conv_bias=True, vocab_size=32768,
        ),
        "mamba2-limited": dict(
            architectures=["Mamba2ForCausalLM"], model_type="mamba2", hidden_size=512, num_hidden_layers=4, num_heads=16, n_groups=1,
            time_step_limit=[0.0, 0.5], vocab_size=1024,
        ),
    },
    warned={"mamba-codestral-7b": ["n_groups"], "mamba2-limited": ["time_step_limit"]},
)  # fmt: skip
