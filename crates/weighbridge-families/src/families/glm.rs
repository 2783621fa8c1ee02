//! GLM-4 as transformers has it, which GGUF calls ChatGLM.

use super::family::*;

pub(super) const GLM: Family = Family {
    architecture: "chatglm",
    shown: Some("glm"),
    classes: &["GlmForCausalLM"],
    types: &["glm"],
    rows: &[TRUNK, ATTENTION, FUSED_MLP, TWO_NORMS],
    keys: &[KEYS],
    rules: &[RULES, ROPE],
    scalings: &[],
    defaults: Some(Defaults {
        sizes: [151552, 4096, 13696, 40, 32, 131072],
        key_heads: KeyHeads::Of(2),
        head: Head::Of(128),
        epsilon: ("rms_norm_eps", 1.5625e-7),
        rotated: Some(0.5),
        ..DEFAULTS
    }),
    // No file calls them special.
    tokenizer: Tokenizer::BytePairs(ENDS),
    ..DECODER
};

pub(super) const ENDS: &[(&str, &str)] =
    &[("eos", "<|endoftext|>"), ("eot", "<|user|>"), ("unk", "<|endoftext|>")];

const RULES: &[Rule] = &[
    SILU,
    fails(
        &["head_dim"],
        |case, width| width.is_null() || width.as_u64() == case.settings.head_share(),
        "heads of this family are hidden_size / num_attention_heads wide",
    ),
    free(&["attention_bias"]),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Needed(&["seq_length", "hidden_size"])),
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.head_count", Count, Needed(&["num_attention_heads"])),
    ("attention.head_count_kv", Count, Needed(&["num_key_value_heads"])),
    // The converter knows another name of it only, and takes 1e-5.
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["rms_norm_eps"])),
    FILE_TYPE,
    ("rope.dimension_count", Count, Made(rotated)),
    ("tokenizer.ggml.add_bos_token", Flag, Made(|_| Some(false.into()))),
    // And 10000 for this.
    ("rope.freq_base", Number, Rope(&["rope_theta"])),
];

fn rotated(settings: &Settings) -> Option<Json> {
    part(settings.rope(&["partial_rotary_factor"])?, settings.head_share()?).map(Json::from)
}
