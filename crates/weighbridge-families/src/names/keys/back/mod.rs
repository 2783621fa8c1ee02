//! The config of a model, from what its GGUF file says: the entries of its family, read backwards.
//!
//! A file does not say everything. What it leaves out is what llama.cpp takes for granted (the family's
//! way back has those values), or what transformers' class does, and then it is listed. What was made is
//! turned into metadata again and compared with the file, so that nothing of the file is lost
//! unnoticed (`check`).

use serde_json::{Value as Json, json};

use super::general::SAMPLING;
use crate::error::{Error, Remedy, Result};
pub use crate::families::Told;
use crate::families::{
    Back, Config, Defaults, FAMILIES, Family, Get, Head, KeyHeads, KeyRow, advised, as_json,
    in_any_layer, in_first_layer,
};
use crate::text::escaped;

mod check;
mod pooling;
mod rope;
#[cfg(test)]
mod tests;
mod untold;
mod unused;

pub use check::check;
pub use pooling::{pooling, steps};

/// The config of a model, without its tokenizer.
pub struct Described {
    /// config.json.
    pub config: Json,
    /// Settings that the file does not store, each with what the loader takes.
    pub not_carried: Vec<String>,
    /// Entries of the file that no config has a setting for, and that do not matter.
    pub unused: Vec<String>,
}

/// Derives the config of a model. `dtype` is the type of its values, as configs name it.
pub fn describe(told: &Told<'_>, dtype: &str) -> Result<Described> {
    let (family, back) = family_of(told)?;
    (back.refuse)(told)?;
    let class = family.defaults.as_ref().ok_or_else(|| not_known(family.architecture))?;
    let mut config = Config::new();
    config.insert("architectures".into(), json!([family.classes[0]]));
    config.insert("model_type".into(), family.types[0].into());
    config.insert("torch_dtype".into(), dtype.into());
    let rows: Vec<&KeyRow> =
        family.early.iter().chain(family.keys.iter().copied().flatten()).collect();
    for (at, row) in rows.iter().enumerate() {
        // Of entries that are set again, the last one counts.
        if !rows[at + 1..].iter().any(|later| later.0 == row.0) {
            set_row(&mut config, row, told, class, back)?;
        }
    }
    config.insert("vocab_size".into(), told.rows_of("token_embd.weight").into());
    config.insert("tie_word_embeddings".into(), (!told.has("output.weight")).into());
    set_heads(&mut config, told, class)?;
    set_flags(&mut config, family, back, told)?;
    if !class.learns_positions {
        rope::set(&mut config, family, back, told)?;
    }
    for (key, fixed) in back.fixed {
        if let Some(value) = fixed(told, &config) {
            config.insert((*key).to_owned(), value);
        }
    }
    set_tokens(&mut config, told);
    refuse_gaps(&config, class)?;
    let not_carried = untold::listed(&config, told, class, back);
    let config = config.into();
    let unused = check(&config, told, true)?;
    Ok(Described { config, not_carried, unused })
}

/// Returns an error if the config of such a model is unknown.
pub fn refuse_unknown(told: &Told<'_>) -> Result<()> {
    let (_, back) = family_of(told)?;
    (back.refuse)(told)
}

/// Derives generation_config.json from token IDs and sampling metadata.
pub fn generation(told: &Told<'_>) -> Json {
    let mut all = Config::new();
    set_tokens(&mut all, told);
    let mut ends: Vec<u64> =
        ["eos", "eot", "eom"].into_iter().filter_map(|kind| token_id(told, kind)).collect();
    if family_of(told).is_ok_and(|(_, back)| back.turns_first) {
        ends.reverse();
    }
    ends.dedup();
    if ends.len() > 1 {
        all.insert("eos_token_id".into(), json!(ends));
    }
    let before = all.len();
    for (keys, name, _) in SAMPLING {
        let value = told.value(&format!("general.sampling.{name}"));
        if let (Some(value), Some(key)) = (value.as_ref().and_then(as_json), keys.last()) {
            all.insert((*key).to_owned(), value);
        }
    }
    if all.len() > before {
        all.insert("do_sample".into(), true.into());
    }
    all.into()
}

fn not_known(architecture: &str) -> Error {
    if FAMILIES.iter().any(|family| family.architecture == architecture) {
        let shown = escaped(architecture);
        let message = format!("files of architecture `{shown}` do not become repositories yet");
        let error = Error::unsupported(message);
        return error.remedy(Remedy::ListFamilies).remedy(Remedy::KeepNames);
    }
    let message = format!("no known config for architecture `{}`", escaped(architecture));
    advised(Error::unsupported(message), architecture)
}

/// The family of a file, and its way back.
fn family_of(told: &Told<'_>) -> Result<(&'static Family, &'static Back)> {
    let architecture = told.architecture();
    let mut known = FAMILIES
        .iter()
        .filter(|family| family.architecture == architecture)
        .filter_map(|family| Some((family, family.back.as_ref()?)));
    known.find(|(_, back)| (back.is)(told)).ok_or_else(|| not_known(&architecture))
}

/// The name that a class has for a value; of several, those of older classes are known to
/// transformers too.
fn own_name(keys: &'static [&'static str], class: &Defaults) -> &'static str {
    let all = [class.epsilon.0, "num_key_value_heads", "head_dim"];
    let is_own = |key: &&&str| {
        class.names.contains(key)
            || all.contains(key)
            || class.more.iter().any(|(own, _)| own == *key)
    };
    keys.iter().find(is_own).or(keys.first()).copied().unwrap_or_default()
}

/// Sets what a row of the table says.
fn set_row(
    config: &mut Config,
    &(key, _, get): &KeyRow,
    told: &Told<'_>,
    class: &Defaults,
    back: &Back,
) -> Result<()> {
    let Some(value) = told.own(key) else { return Ok(()) };
    let name = match get {
        Get::Any(keys) | Get::Needed(keys) => own_name(keys, class),
        Get::Made(_) | Get::MadeOf(..) => match back.made.iter().find(|(made, _)| *made == key) {
            Some((_, name)) => name,
            None => return Ok(()),
        },
        // Rotary parameters are set together.
        Get::Rope(_) | Get::Yarn(_) | Get::FileType => return Ok(()),
    };
    let value = as_json(&value).ok_or_else(|| {
        let key = format!("{}.{key}", told.architecture());
        let message = format!("metadata `{}` is not a single number or string", escaped(&key));
        Error::unsupported(message).remedy(Remedy::StateBase).remedy(Remedy::KeepNames)
    })?;
    // Zero stands for none.
    let value = if name == "sliding_window" && value == 0 { Json::Null } else { value };
    match config.insert(name.to_owned(), value.clone()) {
        Some(other) if other != value => Err(Error::malformed(format!(
            "the metadata gives two values for {name}: {other} and {value}"
        ))),
        _ => Ok(()),
    }
}

/// Key heads and the width of heads, where the metadata does not state them.
fn set_heads(config: &mut Config, told: &Told<'_>, class: &Defaults) -> Result<()> {
    let Some(heads) = config.get("num_attention_heads").and_then(Json::as_u64) else {
        return Ok(());
    };
    // A class without such a key has files without such an entry.
    if !matches!(class.key_heads, KeyHeads::Unsaid) {
        config.entry("num_key_value_heads").or_insert(heads.into());
    }
    if config.contains_key("head_dim") {
        return Ok(());
    }
    let hidden = config.get("hidden_size").and_then(Json::as_u64).unwrap_or(0);
    let share = hidden.checked_div(heads);
    let width = match told.rows_of("blk.0.attn_q.weight") {
        // Queries are made together with keys and values, or of a shorter vector.
        0 => share,
        rows => Some(width_of(rows, heads)?),
    };
    // Where nothing is said, llama.cpp divides, and the class may know a number.
    let is_taken = match class.head {
        Head::Of(taken) | Head::OfOrShare(taken) => Some(taken) == width,
        _ => width == share,
    };
    if let Some(width) = width.filter(|_| !is_taken) {
        config.insert("head_dim".into(), width.into());
    }
    Ok(())
}

fn width_of(rows: u64, heads: u64) -> Result<u64> {
    let width = rows.checked_div(heads).filter(|width| width * heads == rows);
    width.ok_or_else(|| {
        let error = Error::malformed(format!(
            "row count is not a multiple of the number of heads ({heads})"
        ));
        error.in_tensor("blk.0.attn_q.weight")
    })
}

/// Whether modules have biases, and other things that tensors tell by being there.
fn set_flags(config: &mut Config, family: &Family, back: &Back, told: &Told<'_>) -> Result<()> {
    let mut explained: Vec<&str> = Vec::new();
    for (key, tensors) in back.flags {
        let there = tensors.iter().filter(|name| told.has(&in_first_layer(name)));
        let (count, list) = (there.count(), tensors.join(", "));
        let is_set = count == tensors.len();
        if count > 0 && !is_set {
            let class = family.classes[0];
            let message = format!("the file has only some of {list}; {class} needs all or none");
            return Err(Error::unsupported(message).remedy(Remedy::KeepNames));
        }
        if !key.is_empty() {
            let (key, flag) = key.strip_prefix('!').map_or((*key, is_set), |key| (key, !is_set));
            config.insert(key.to_owned(), flag.into());
        } else if !is_set {
            return Err(Error::malformed(format!("{list} is missing")));
        }
        explained.extend(*tensors);
    }
    let biases = told.tensors.iter().filter(|(name, _)| name.ends_with(".bias"));
    for (name, _) in biases.filter(|(name, _)| !name.ends_with(".exp_probs_b.bias")) {
        if !explained.contains(&&*in_any_layer(name)) {
            let message = format!("{} has no such bias", family.classes[0]);
            return Err(Error::unsupported(message).in_tensor(name).remedy(Remedy::KeepNames));
        }
    }
    Ok(())
}

/// Returns the config flags that the presence of tensors implies, under the class's names.
pub fn flags(told: &Told<'_>) -> Result<Vec<(String, bool)>> {
    let mut config = Config::new();
    let (family, back) = family_of(told)?;
    set_flags(&mut config, family, back, told)?;
    Ok(config.into_iter().filter_map(|(key, flag)| Some((key, flag.as_bool()?))).collect())
}

/// The id of a special token, if the model has a row for it.
fn token_id(told: &Told<'_>, name: &str) -> Option<u64> {
    let id = told.count(&format!("tokenizer.ggml.{name}_token_id"));
    id.filter(|id| *id < told.rows_of("token_embd.weight"))
}

/// Special tokens by their ids.
fn set_tokens(config: &mut Config, told: &Told<'_>) {
    for (kind, name) in [("bos", "bos"), ("eos", "eos"), ("pad", "padding")] {
        // Without an id there is none: the class would take one of its own.
        let id = token_id(told, name);
        config.insert(format!("{kind}_token_id"), id.into());
    }
}

/// An error if a class would fill in something that decides what the model computes.
fn refuse_gaps(config: &Config, class: &Defaults) -> Result<()> {
    let more = class.more.iter().map(|(key, _)| *key);
    let sizes = class.names.into_iter().zip(class.sizes).filter(|(_, size)| *size > 0);
    let mut needed = sizes.map(|(key, _)| key).chain([class.epsilon.0]).chain(more);
    needed.find(|key| !key.is_empty() && !config.contains_key(*key)).map_or(Ok(()), |key| {
        let message = format!("the metadata does not state {key}, which the config needs");
        Err(Error::malformed(message).remedy(Remedy::StateBase).remedy(Remedy::KeepNames))
    })
}
