//! Whether a config says what a file says: its entries are made from the config once more, and
//! compared one by one.

use serde_json::Value as Json;

use super::unused::matters;
use crate::catalog::Value;
use crate::error::{Error, Remedy, Result};
use crate::families::{Settings, Told, settings};
use crate::names::keys::{About, Parameters, computed_tensors, entries};
use crate::text::escaped;

/// An error that names the first thing in which a config and a file contradict each other. Of a
/// config that was made from the file (`is_made`), what the file says beyond it is an error too if it
/// matters; other entries beyond it are returned.
pub fn check(config: &Json, told: &Told<'_>, is_made: bool) -> Result<Vec<String>> {
    let pooling = super::pooling(told)?;
    let about = About {
        config,
        generation: None,
        card: None,
        folder: "",
        parameters: Parameters::default(),
        file_type: 0,
        pooling: pooling.as_ref(),
        next_layers: crate::names::keys::NextCount::Stated,
        measured: &[],
    };
    let made = entries(&about)?;
    let find = |key: &str| made.iter().find(|(known, _)| known == key).map(|(_, value)| value);
    let architecture = told.architecture();
    let other = find("general.architecture").and_then(Value::as_str).unwrap_or_default();
    if other != architecture {
        let architecture = escaped(&architecture);
        return Err(differs(&format!(
            "the architecture is `{other}` in the config, `{architecture}` in the file"
        )));
    }
    let prefix = format!("{architecture}.");
    let mut unused = strangers(told, &prefix);
    for key in told.keys.iter().filter(|key| key.starts_with(&prefix)) {
        let (own, shown) = (told.value(key), escaped(key));
        match (own, find(key)) {
            (Some(own), Some(value)) if !is_same(&own, value) => {
                let (own, value) = (shown_value(&own), shown_value(value));
                return Err(differs(&format!(
                    "`{shown}` is {value} in the config, {own} in the file"
                )));
            }
            (Some(own), None) if is_made && !is_implied(&key[prefix.len()..], &own, config) => {
                if !matters(&key[prefix.len()..], &own) {
                    unused.push((*key).to_owned());
                    continue;
                }
                let message = format!("metadata `{shown}` has no known config equivalent");
                return Err(Error::unsupported(message)
                    .remedy(Remedy::StateBase)
                    .remedy(Remedy::KeepNames));
            }
            _ => {}
        }
    }
    check_computed(config, told)?;
    check_shapes(&settings(config), told)?;
    Ok(unused)
}

/// Entries that belong neither to the architecture nor to anything else that is read.
fn strangers(told: &Told<'_>, prefix: &str) -> Vec<String> {
    let known = [prefix, "general.", "tokenizer.", "split.", "quantize."];
    let is_strange = |key: &&&str| !known.iter().any(|start| key.starts_with(start));
    told.keys.iter().filter(is_strange).map(|key| (*key).to_owned()).collect()
}

fn differs(what: &str) -> Error {
    Error::malformed(format!("config and file disagree: {what}"))
}

fn shown_value(value: &Value) -> String {
    escaped(&value.to_json().to_string()).into_owned()
}

/// Numbers are the same whatever their width.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a.as_u64(), b.as_u64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// Whether an entry says what a config implies though no entry is made from it: other versions of
/// the converter write more.
fn is_implied(key: &str, value: &Value, config: &Json) -> bool {
    let settings = crate::families::settings(config);
    let implied = match key {
        "vocab_size" => settings.count("vocab_size"),
        "attention.key_length" | "attention.value_length" | "rope.dimension_count" => {
            settings.head_width()
        }
        "attention.head_count_kv" => settings.count("num_key_value_heads"),
        "rope.freq_base" => {
            let theta = settings.rope(&["rope_theta"]).and_then(Json::as_f64);
            #[allow(clippy::cast_possible_truncation)] // f32 is what the file has.
            return theta.map(|theta| Value::F32(theta as f32)).as_ref() == Some(value);
        }
        _ => return false,
    };
    implied.is_some() && value.as_u64() == implied
}

/// Rotary factors that follow from the config are those of the file, to the bit.
fn check_computed(config: &Json, told: &Told<'_>) -> Result<()> {
    let made = computed_tensors(config);
    for name in ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"] {
        let made = made.iter().find(|(known, _)| *known == name).map(|(_, numbers)| numbers);
        let bits =
            |numbers: &Vec<f32>| -> Vec<u32> { numbers.iter().map(|n| n.to_bits()).collect() };
        if made.map(bits) != (told.numbers)(name)?.as_ref().map(bits) {
            let message = "the rotary factors of the config differ from those in the file";
            return Err(Error::malformed(message).in_tensor(name));
        }
    }
    Ok(())
}

/// The shapes of tensors are those that a config makes of its model.
fn check_shapes(settings: &Settings, told: &Told<'_>) -> Result<()> {
    let count = |keys: &[&str]| keys.iter().find_map(|key| settings.count(key));
    let width = settings.head_width();
    let rows = |heads: &str| width.zip(settings.count(heads)).and_then(|(a, b)| a.checked_mul(b));
    let hidden = count(&["hidden_size", "n_embd"]);
    let inner = count(&["intermediate_size"]);
    let experts = count(&["num_local_experts", "num_experts", "n_routed_experts"]);
    let expert_inner = count(&["moe_intermediate_size", "intermediate_size"]);
    let is_latent = !told.layers_with("attn_kv_a_mqa.weight").is_empty();
    let heads = |heads: &str| rows(heads).filter(|_| !is_latent);
    for (end, expected) in [
        ("token_embd.weight", [settings.count("vocab_size"), hidden, None]),
        ("output.weight", [settings.count("vocab_size"), hidden, None]),
        ("attn_q.weight", [heads("num_attention_heads"), hidden, None]),
        ("attn_k.weight", [heads("num_key_value_heads"), hidden, None]),
        ("ffn_down.weight", [hidden, inner, None]),
        ("ffn_down_exps.weight", [experts, hidden, expert_inner]),
    ] {
        let layers = told.layers_with(end).into_iter().map(|layer| format!("blk.{layer}.{end}"));
        for name in layers.chain([end.to_owned()]) {
            let Some(shape) = told.shape_of(&name) else { continue };
            let differs =
                shape.iter().zip(expected).find(|(side, other)| other.is_some_and(|o| o != **side));
            if let Some((side, Some(other))) = differs {
                let message = format!(
                    "shape is {shape:?}, but the config requires {other} instead of {side}"
                );
                return Err(Error::malformed(message).in_tensor(&name));
            }
        }
    }
    Ok(())
}
