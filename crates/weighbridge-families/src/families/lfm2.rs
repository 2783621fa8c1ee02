//! LFM2, most of whose layers are short convolutions.

use super::family::*;

pub(super) const LFM2: Family = Family {
    architecture: "lfm2",
    classes: &["Lfm2ForCausalLM", "LFM2ForCausalLM"],
    types: &["lfm2"],
    rows: &[SHORT_TRUNK, HEAD, SHORT_MIXERS, FEED_FORWARD],
    tied: true,
    keys: &[BASE, SHORT_KEYS, KEYS],
    refuse: tells_layers,
    rules: &[RULES, SHORT_RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [65536, 2560, 12288, 32, 32, 128_000],
        key_heads: KeyHeads::Of(8),
        epsilon: ("norm_eps", 1e-5),
        theta: 1_000_000.0,
        more: &[
            ("conv_L_cache", 3.0),
            ("block_multiple_of", 256.0),
            ("block_ffn_dim_multiplier", 1.0),
        ],
        flags: &[("block_auto_adjust_ff_dim", true)],
        ..DEFAULTS
    }),
    back: Some(Back {
        fixed: &[
            ("num_key_value_heads", key_heads_of_attention),
            ("layer_types", kinds_of_mixers),
            ("intermediate_size", |told, _| as_json(&told.own("feed_forward_length")?)),
            ("block_auto_adjust_ff_dim", |_, _| Some(false.into())),
            ("block_multiple_of", |_, _| Some(256.into())),
            ("block_ffn_dim_multiplier", |_, _| Some(1.0.into())),
        ],
        untold: &[("conv_bias", "false"), ("block_auto_adjust_ff_dim", "")],
        activation: ("", ""),
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    // What is read of older configs, and of newer ones.
    free(&["block_dim", "block_ff_dim", "block_mlp_init_scale", "block_norm_eps", "conv_dim"]),
    free(&["block_out_init_scale", "block_use_swiglu", "block_use_xavier_init", "conv_dim_out"]),
    free(&["conv_use_xavier_init", "num_heads", "tie_embedding", "intermediate_size"]),
];

const HEAD: &[Row] = &[("lm_head", &["output"], Embedding)];

const FEED_FORWARD: &[Row] = &[
    ("layers.#.feed_forward.w1", &["blk.#.ffn_gate"], Plain),
    ("layers.#.feed_forward.w3", &["blk.#.ffn_up"], Plain),
    ("layers.#.feed_forward.w2", &["blk.#.ffn_down"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["norm_eps"])),
    ("feed_forward_length", Count, Made(inner)),
];

/// The inner size: two thirds of what the config says, rounded up, unless it says otherwise.
fn inner(settings: &Settings) -> Option<Json> {
    let stated = settings.find(&["block_ff_dim", "intermediate_size"]).and_then(whole)?;
    let [adjusts, factor] = ["block_auto_adjust_ff_dim", "block_ffn_dim_multiplier"]
        .map(|key| settings.find(&[key]).cloned());
    let multiple = settings.count("block_multiple_of");
    if adjusts.is_some_and(|adjusts| adjusts == false) {
        return Some(stated.into());
    }
    let parted = stated.checked_mul(2)? / 3;
    let scaled = factor.map_or(Some(parted), |factor| part(&factor, parted))?;
    scaled
        .div_ceil(multiple.filter(|multiple| *multiple > 0)?)
        .checked_mul(multiple?)
        .map(Json::from)
}

/// Key heads of every layer: none in those with a convolution.
fn heads_by_layer(told: &Told<'_>) -> Option<Vec<u64>> {
    let Value::List(heads) = told.own("attention.head_count_kv")? else { return None };
    heads.iter().map(Value::as_u64).collect()
}

fn key_heads_of_attention(told: &Told<'_>, _: &Config) -> Option<Json> {
    heads_by_layer(told)?.into_iter().max().map(Json::from)
}

fn kinds_of_mixers(told: &Told<'_>, _: &Config) -> Option<Json> {
    let kind = |heads: u64| if heads > 0 { "full_attention" } else { "conv" };
    Some(heads_by_layer(told)?.into_iter().map(kind).collect())
}
