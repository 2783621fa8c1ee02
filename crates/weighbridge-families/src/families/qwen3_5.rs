//! Qwen 3.5, most of whose layers have linear attention.

use super::family::*;

pub(super) const QWEN3_5: Family = Family {
    architecture: "qwen35",
    classes: &["Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"],
    types: &["qwen3_5_text", "qwen3_5"],
    rows: &[
        TRUNK,
        ATTENTION,
        LINEAR_ATTENTION,
        HEAD_NORMS,
        MLP,
        NORMS_BETWEEN,
        EXPERTS,
        SHARED_EXPERT,
        NEXTN,
    ],
    gguf: &[GGUF, GGUF_LINEAR],
    norm_add: 1.0,
    predicts: true,
    counts_next: Some("mtp_num_hidden_layers"),
    keys: &[BASE, EXPERT_LENGTHS, LINEAR_KEYS, KEYS],
    has_sections: true,
    rules: &[LINEAR_RULES, RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [248320, 4096, 12288, 32, 16, 32768],
        key_heads: KeyHeads::Of(4),
        head: Head::Of(256),
        rotated: Some(0.25),
        more: &[
            ("linear_conv_kernel_dim", 4.0),
            ("linear_key_head_dim", 128.0),
            ("linear_value_head_dim", 128.0),
            ("linear_num_key_heads", 16.0),
            ("linear_num_value_heads", 32.0),
        ],
        ..DEFAULTS
    }),
    mlx: false,
    ..DECODER
};

pub(super) const LINEAR_RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    differs(
        &["rms_norm_eps"],
        |_, epsilon| is_number(epsilon, 1e-6),
        "uses it for the norms within linear attention, too, which have 1e-6",
    ),
    fails(
        &["linear_value_head_dim"],
        |case, width| *width == case.value("linear_key_head_dim"),
        "linear attention has keys and values of one width",
    ),
    fails(
        &["layer_types"],
        |case, _| case.has(".ssm_conv1d.weight") || !case.has(".attn_q.weight"),
        "a model of this family has layers with linear attention",
    ),
    free(&[
        "mlp_only_layers",
        "attn_output_gate",
        "mamba_ssm_dtype",
        "mtp_use_dedicated_embeddings",
    ]),
];

pub(super) const RULES: &[Rule] = &[fails(
    &["rope_scaling.mrope_section", "rope_parameters"],
    has_usual_sections,
    "without sections it takes those of heads with 64 rotated dimensions",
)];

pub(super) const LINEAR_KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_beside)),
    ("nextn_predict_layers", Count, Made(layers_beside)),
    ("ssm.conv_kernel", Count, Needed(&["linear_conv_kernel_dim"])),
    ("ssm.state_size", Count, Needed(&["linear_key_head_dim"])),
    ("ssm.group_count", Count, Needed(&["linear_num_key_heads"])),
    ("ssm.time_step_rank", Count, Needed(&["linear_num_value_heads"])),
    ("ssm.inner_size", Count, MadeOf("linear_value_head_dim", all_values)),
    ("attention.recurrent_layers", FlagList, Made(recurrent_layers)),
    ("full_attention_interval", Count, Made(full_attention_interval)),
    ("rope.dimension_count", Count, Made(rotated_width)),
];

const KEYS: &[KeyRow] = &[("rope.dimension_sections", Counts, Made(usual_sections))];

/// All layers, with those that stand beside the model.
fn layers_and_beside(settings: &Settings) -> Option<Json> {
    settings.count("num_hidden_layers")?.checked_add(beside(settings)).map(Json::from)
}

/// How many layers stand beside the model.
fn beside(settings: &Settings) -> u64 {
    settings.count("mtp_num_hidden_layers").unwrap_or(0)
}

/// The number of layers beside the model, if there are any.
fn layers_beside(settings: &Settings) -> Option<Json> {
    Some(beside(settings)).filter(|layers| *layers > 0).map(Json::from)
}

/// Which layers have linear attention: all but every so many, unless the config lists them. Those
/// beside the model have none.
fn recurrent_layers(settings: &Settings) -> Option<Json> {
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let more = vec![false; usize::try_from(beside(settings).min(MOST_LAYERS)).unwrap_or(0)];
    let is_linear = |kind: &Json| kind == "linear_attention";
    let mut kinds: Vec<bool> = match settings.find(&["layer_types"]) {
        Some(Json::Array(kinds)) if kinds.len() as u64 == layers => {
            kinds.iter().map(is_linear).collect()
        }
        // No list of all layers, and so refused where it is to be one.
        Some(_) => return Some("layer_types".into()),
        None => {
            let interval = settings.count("full_attention_interval").unwrap_or(4).max(1);
            (1..=layers).map(|layer| layer % interval != 0).collect()
        }
    };
    kinds.extend(more);
    Some(kinds.into())
}

/// Every how many layers attention is full. Where the class lists the layers itself, it forgets this.
fn full_attention_interval(settings: &Settings) -> Option<Json> {
    let said = settings.find(&["full_attention_interval"]).cloned();
    Some(said.filter(|_| listed_layers(settings).is_some()).unwrap_or(4.into()))
}

/// The width of all value heads.
fn all_values(settings: &Settings) -> Option<Json> {
    let heads = settings.count("linear_num_value_heads")?;
    heads.checked_mul(settings.count("linear_value_head_dim")?).map(Json::from)
}

/// Qwen's sections, for configs that have none.
fn usual_sections(settings: &Settings) -> Option<Json> {
    (!settings.has_sections()).then(|| vec![11, 11, 10, 0].into())
}

fn has_usual_sections(case: &Case<'_>, stated: &Json) -> bool {
    !stated.is_null() || rotated_width(case.settings).and_then(|width| width.as_u64()) == Some(64)
}
