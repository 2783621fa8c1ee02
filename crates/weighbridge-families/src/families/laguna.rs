//! Laguna, by Poolside.

use super::family::*;
use crate::tokenizer::Ends;

pub(super) const LAGUNA: Family = Family {
    architecture: "laguna",
    classes: &["LagunaForCausalLM"],
    types: &["laguna"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, EXPERTS, ROWS, SHARED_EXPERT],
    stacks: GATES_FIRST,
    keys: &[BASE, KEYS],
    refuse,
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [100352, 2048, 8192, 40, 48, 131072],
        key_heads: KeyHeads::Of(8),
        head: Head::Of(128),
        theta: 500000.0,
        more: &[
            ("sliding_window", 512.0),
            ("moe_intermediate_size", 512.0),
            ("shared_expert_intermediate_size", 512.0),
            ("num_experts_per_tok", 8.0),
            ("num_experts", 256.0),
            ("moe_routed_scaling_factor", 1.0),
        ],
        flags: &[("gating", true)],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PairsEnding(Ends::Turns),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    UNSCALED_WINDOWS,
    differs(&["moe_router_logit_softcapping"], off, "does not cap what chooses experts"),
    differs(&["moe_apply_router_weight_on_input"], off, "multiplies what experts say"),
    differs(
        &["layer_types"],
        |case, kinds| off(case, &case.value("sliding_window")) || is_usual(kinds),
        "lets the first of every four layers see the whole text, and gives the others a window",
    ),
    free(&["sliding_attention.partial_rotary_factor", "decoder_sparse_step", "mlp_only_layers"]),
    free(&["gating", "gating_types", "qkv_bias", "norm_topk_prob", "moe_router_use_sigmoid"]),
];

fn is_usual(kinds: &Json) -> bool {
    let open = |(layer, kind): (u64, &Json)| (kind == "full_attention") == layer.is_multiple_of(4);
    kinds.as_array().is_some_and(|kinds| (0..).zip(kinds).all(open))
}

const ROWS: &[Row] = &[
    ("layers.#.self_attn.g_proj", &["blk.#.attn_gate"], Plain),
    ("layers.#.mlp.experts.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain),
    // As transformers has them in memory.
    ("layers.#.mlp.gate.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain),
    ("layers.#.mlp.shared_experts.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.mlp.shared_experts.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.mlp.shared_experts.down_proj", &["blk.#.ffn_down_shexp"], Plain),
];

const KEYS: &[KeyRow] = &[
    VOCABULARY,
    ("attention.head_count", Counts, Made(heads)),
    ("attention.sliding_window", Count, Made(|settings| nonzero(settings, "sliding_window"))),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("expert_shared_feed_forward_length", Count, Needed(&["shared_expert_intermediate_size"])),
    ("expert_weights_norm", Flag, Made(|_| Some(true.into()))),
    ("expert_weights_scale", Number, Needed(&["moe_routed_scaling_factor"])),
    ("expert_gating_func", Count, Made(|_| Some(2.into()))),
    ("leading_dense_block_count", Count, Made(|settings| Some(dense(settings).into()))),
    ("rope.dimension_count", Count, Made(|settings| rotated(settings, "full_attention"))),
    ("rope.dimension_count_swa", Count, Made(|settings| rotated(settings, "sliding_attention"))),
];

/// The heads of each layer.
fn heads(settings: &Settings) -> Option<Json> {
    let stated = settings.find(&["num_attention_heads_per_layer"]);
    if let Some(stated) = stated.filter(|list| list.as_array().is_none_or(|list| !list.is_empty()))
    {
        return Some(stated.clone());
    }
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let heads = settings.find(&["num_attention_heads"])?;
    Some((0..layers).map(|_| heads.clone()).collect())
}

/// How many layers have no experts, at the start.
fn dense(settings: &Settings) -> u64 {
    match settings.find(&["mlp_layer_types"]).and_then(Json::as_array) {
        Some(kinds) => kinds.iter().take_while(|kind| **kind == "dense").count() as u64,
        None => 1,
    }
}

/// How much of a head is rotated in layers of a kind, if the config has parameters for it.
fn rotated(settings: &Settings, kind: &str) -> Option<Json> {
    let of_kind = settings.find(&["rope_parameters"])?.get(kind)?;
    let factor = of_kind.get("partial_rotary_factor").cloned().unwrap_or(1.0.into());
    part(&factor, settings.count("head_dim")?).map(Json::from)
}

/// Attention gates of one kind that other programs would take for the other.
fn refuse(settings: &Settings, _: &About<'_>) -> Result<()> {
    let plain = |kind: &Json| kind.as_str().unwrap_or_default().replace('-', "_");
    let gating = settings.find(&["gating"]).cloned().unwrap_or_default();
    let listed = settings.find(&["gating_types"]).and_then(Json::as_array);
    let kinds: Vec<String> =
        listed.map(|kinds| kinds.iter().map(plain).collect()).unwrap_or_default();
    let (of_elements, of_heads) = ("per_element", "per_head");
    let is_known = |kind: &String| [of_elements, of_heads].contains(&kind.as_str());
    let own = plain(&gating);
    let is_stated = !kinds.is_empty() || gating == true || is_known(&own);
    let contradicts = own != of_elements && kinds.iter().any(|kind| kind == of_elements);
    if !is_stated || !kinds.iter().all(is_known) || contradicts {
        let message = "config.json: `gating` and `gating_types` do not tell the attention gates";
        return Err(Error::malformed(message));
    }
    if settings.find(&["rope_parameters"]).is_none() {
        return Err(not_yet("models of this family without `rope_parameters`"));
    }
    Ok(())
}
