//! dots3-note: DeepSeek's attention in two sizes, one with an indexer and one with a window.

use super::deepseek_v2::{KEYS, RULES as LATENT_RULES};
use super::deepseek_v3::DEEPSEEK_V3;
use super::family::*;
use super::glm_moe_dsa::INDEXER;

pub(super) const DOTS3NOTE: Family = Family {
    architecture: "dots3note",
    classes: &[
        "Dots3NoteForCausalLM",
        "Dots3NoteForConditionalGeneration",
        "Dots3NoteTextForCausalLM",
    ],
    types: &["dots3_note"],
    rows: &[TRUNK, LATENT_ATTENTION, ROWS, INDEXER, MLP, TWO_NORMS, EXPERTS, SHARED_EXPERTS, NEXTN],
    drops_next: false,
    // No config counts these layers.
    counts_next: Some("num_nextn_predict_layers"),
    ignored: &["head_dim"],
    keys: &[BASE, KEYS, OWN_KEYS],
    refuse: check,
    rules: &[RULES, LATENT_RULES, ROPE],
    defaults: None,
    tokenizer: Tokenizer::BytePairs(&[("eot", "<|endofassistant|>")]),
    back: None,
    ..DEEPSEEK_V3
};

/// Those of latent attention that lie in another way come behind it.
const ROWS: &[Row] = &[
    ("layers.#.self_attn.q_a_layernorm", &["blk.#.attn_q_a_norm"], Own(Lay(rescaled))),
    ("layers.#.self_attn.kv_a_layernorm", &["blk.#.attn_kv_a_norm"], Own(Lay(rescaled))),
    ("layers.#.self_attn.kv_b_proj", KEY_VALUE, Own(Lay(keys_and_values))),
    ("layers.#.self_attn.k_rope_only_layernorm", &["blk.#.attn_k_norm"], Plain),
    ("layers.#.self_attn.g_proj", &["blk.#.attn_gate"], Plain),
    ("layers.#.self_attn.gate_proj", &["blk.#.attn_gate"], Plain),
    ("layers.#.self_attn.o_proj", &["blk.#.attn_output"], Plain),
];

/// A norm that takes in by how much the class scales what it makes.
#[allow(clippy::cast_possible_truncation)] // The file is made in f32.
fn rescaled(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[rank] = shape else { return None };
    let mut view = View::whole(shape);
    if settings.find(&["apply_mla_qkv_lora_rescale"]).and_then(Json::as_bool) != Some(true) {
        return Some(Laid::whole(view, ""));
    }
    let factor = (settings.count("hidden_size")? as f64 / rank as f64).sqrt();
    view.change = Change::Times(factor as f32);
    Some(Laid::whole(view, "rescaled"))
}

/// Heads, rows of a key, and rows of a value.
type Sizes = [u64; 3];

fn sizes(settings: &Settings, start: &str) -> Option<Sizes> {
    let count = |key: &str| settings.count(&format!("{start}{key}"));
    Some([count("num_attention_heads")?, count("qk_nope_head_dim")?, count("v_head_dim")?])
}

/// Key rows and value rows, head by head. The shape tells the kind of layer.
fn keys_and_values(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[rows, rank] = shape else { return None };
    let fits = |start: &str| {
        let [heads, key, value] = sizes(settings, start)?;
        let is_it = settings.count(&format!("{start}kv_lora_rank")) == Some(rank)
            && heads.checked_mul(key.checked_add(value)?) == Some(rows);
        is_it.then_some([heads, key, value])
    };
    let (full, window) = (fits(""), fits("swa_"));
    // Of layers of two kinds with one shape, nothing tells them apart.
    let is_clear = full.is_none() || window.is_none() || full == window;
    let [heads, key, value] = full.or(window).filter(|_| is_clear && rank > 0)?;
    let of_head = |head: u64| {
        let matrix = Matrix { first: head * (key + value), columns: rank };
        Laid {
            tensor: 0,
            place: Place::Stacked(head),
            view: View::across(matrix, [rank, key], Rows::From(0)),
            words: "transpose".to_owned(),
        }
    };
    let runs = Rows::Runs { start: key, run: value, period: key + value };
    let values = View { rows: runs, ..View::whole(&[heads, value, rank]) };
    let values = Laid { tensor: 1, place: Place::Whole, view: values, words: String::new() };
    (heads <= 1 << 12).then(|| (0..heads).map(of_head).chain([values]).collect())
}

const RULES: &[Rule] = &[
    fails(&["q_lora_rank"], |_, rank| !rank.is_null(), "it makes queries of a shorter vector"),
    free(&["num_nextn_predict_layers", "swa_head_dim", "rms_norm_eps"]),
    // Other values of these are refused.
    free(&[
        "apply_mla_qkv_lora_rescale",
        "attention_gate_type",
        "final_norm",
        "k_rope_only_layernorm",
        "moe_gating_fp32",
        "normalization",
        "swa_attention_gate_type",
        "use_dsa",
        "use_dynamic_rsf",
    ]),
];

const OWN_KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    ("attention.head_count", Counts, Made(heads)),
    ("attention.sliding_window", Count, Needed(&["sliding_window_size"])),
    ("attention.sliding_window_pattern", FlagList, Made(|settings| windows(settings, true))),
    ("attention.kv_lora_rank_swa", Count, Needed(&["swa_kv_lora_rank"])),
    ("attention.key_length_swa", Count, MadeOf("swa_kv_lora_rank", window_length)),
    ("attention.value_length_swa", Count, Needed(&["swa_kv_lora_rank"])),
    ("attention.key_length_mla_swa", Count, MadeOf("swa_qk_nope_head_dim", made_length)),
    ("attention.value_length_mla_swa", Count, Needed(&["swa_v_head_dim"])),
    ("nextn_predict_layers", Count, Made(|settings| nonzero(settings, "num_nextn_predict_layers"))),
    ("attention.indexer.head_count", Count, Needed(&["index_n_heads"])),
    ("attention.indexer.key_length", Count, Needed(&["index_head_dim"])),
    ("attention.indexer.top_k", Count, Needed(&["index_topk"])),
    ("attention.indexer.types", FlagList, Made(|settings| windows(settings, false))),
];

/// The layers with a window, or the others.
fn windows(settings: &Settings, wanted: bool) -> Option<Json> {
    let layers = usize::try_from(settings.count("num_hidden_layers")?).ok()?;
    let kinds = listed_layers(settings)?.iter().take(layers);
    Some(kinds.map(|kind| (kind == "sliding_attention") == wanted).collect())
}

/// The heads of each layer. One that predicts a further token has a window.
fn heads(settings: &Settings) -> Option<Json> {
    let (full, window) =
        (settings.count("num_attention_heads")?, settings.count("swa_num_attention_heads")?);
    let Json::Array(mut kinds) = windows(settings, true)? else { return None };
    let next = settings.count("num_nextn_predict_layers").unwrap_or(0).min(MOST_LAYERS);
    kinds.extend((0..next).map(|_| Json::from(true)));
    Some(kinds.iter().map(|is_window| if *is_window == true { window } else { full }).collect())
}

fn window_length(settings: &Settings) -> Option<Json> {
    let rotated = settings.count("swa_qk_rope_head_dim")?;
    settings.count("swa_kv_lora_rank")?.checked_add(rotated).map(Json::from)
}

fn made_length(settings: &Settings) -> Option<Json> {
    let rotated = settings.count("swa_qk_rope_head_dim")?;
    settings.count("swa_qk_nope_head_dim")?.checked_add(rotated).map(Json::from)
}

/// What the converter takes, by key; null stands for no statement.
const TAKEN: &[(&str, &str)] = &[
    ("use_dsa", "true"),
    ("normalization", "\"RMSNorm\""),
    ("final_norm", "\"RMSNorm\""),
    ("k_rope_only_layernorm", "true"),
    ("topk_method", "\"noaux_tc\""),
    ("n_group", "1"),
    ("topk_group", "1"),
    ("use_dynamic_rsf", "false"),
    ("moe_gating_fp32", "false"),
    ("attention_gate_type", "\"headwise\""),
    ("swa_attention_gate_type", "\"headwise\""),
];

fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    for (key, taken) in TAKEN {
        if settings.find(&[key]).map(Json::to_string).is_some_and(|stated| stated != *taken) {
            return Err(not_yet(&format!(
                "models of this family with another `{key}` than {taken}"
            )));
        }
    }
    let count = |key: &str| settings.count(key);
    let made = count("swa_qk_nope_head_dim").zip(count("swa_qk_rope_head_dim"));
    let width = made.and_then(|(own, rotated)| own.checked_add(rotated));
    let fits = width == Some(count("swa_head_dim").unwrap_or(256))
        && count("swa_qk_rope_head_dim") == count("qk_rope_head_dim")
        && count("swa_q_lora_rank") == count("q_lora_rank")
        && settings.find(&["scoring_func"]).is_some_and(|function| function == "sigmoid")
        && listed_layers(settings).map(|kinds| kinds.len() as u64) >= count("num_hidden_layers");
    let message = "config.json: the sizes of layers with a window contradict those of the others";
    if fits { Ok(()) } else { Err(Error::malformed(message)) }
}
