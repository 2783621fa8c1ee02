//! The config of a model, from what its GGUF file says: the rows of `table`, read backwards.
//!
//! A file does not say everything. What it leaves out is what llama.cpp takes for granted (`forms`
//! has those values), or what transformers' class does, and then it is listed. What was made is
//! turned into metadata again and compared with the file, so that nothing of the file is lost
//! unnoticed (`check`).

use serde_json::{Map, Value as Json, json};

use super::classes::{CLASSES, Class, SIZES};
use super::families::{Family, Get, Row};
use super::general::SAMPLING;
use super::table::FAMILIES;
use crate::catalog::Value;
use crate::error::{Error, Remedy, Result};
use crate::text::escaped;

mod check;
mod forms;
mod pooling;
mod rope;
mod told;

pub use check::check;
use forms::{FORMS, Fixed, Form};
pub use pooling::{pooling, steps};
pub use told::Told;

/// What a repository says about its model, beside the tokenizer.
pub struct Described {
    /// config.json.
    pub config: Json,
    /// What the file does not tell.
    pub not_carried: Vec<String>,
}

type Config = Map<String, Json>;

/// Keys of configs that no file tells, whatever the family.
const UNTOLD: &[&str] = &["hidden_act", "initializer_range", "attention_dropout"];

/// Makes the config of a model. `dtype` is the type of its numbers, as configs name it.
pub fn describe(told: &Told<'_>, dtype: &str) -> Result<Described> {
    let family = family_of(told)?;
    let form = form_of(family, told)?;
    let class = CLASSES.iter().find(|class| class.model_type == form.model_type);
    let class = class.ok_or_else(|| not_known(family.architecture))?;
    let mut config = Config::new();
    config.insert("architectures".into(), json!([form.class]));
    config.insert("model_type".into(), form.model_type.into());
    config.insert("torch_dtype".into(), dtype.into());
    let rows: Vec<&Row> =
        family.early.iter().chain(family.rows.iter().copied().flatten()).collect();
    for (at, row) in rows.iter().enumerate() {
        // Of entries that are set again, the last one counts.
        if !rows[at + 1..].iter().any(|later| later.0 == row.0) {
            set_row(&mut config, row, told, class, form)?;
        }
    }
    config.insert("vocab_size".into(), told.rows_of("token_embd.weight").into());
    config.insert("tie_word_embeddings".into(), (!told.has("output.weight")).into());
    set_heads(&mut config, told)?;
    set_flags(&mut config, form, told)?;
    rope::set(&mut config, family, form, told)?;
    for (key, value) in form.fixed {
        if let Some(value) = fixed(*value, told, &config) {
            config.insert((*key).to_owned(), value);
        }
    }
    set_tokens(&mut config, told);
    refuse_gaps(&config, class)?;
    let lost = UNTOLD.iter().chain(form.untold).map(|key| (*key).to_owned());
    let described = Described { config: config.into(), not_carried: lost.collect() };
    check(&described.config, told, true)?;
    Ok(described)
}

/// An error if it is not known what config such a model has.
pub fn refuse_unknown(told: &Told<'_>) -> Result<()> {
    form_of(family_of(told)?, told).map(drop)
}

/// generation_config.json, from the ids of tokens and what the file says of sampling.
pub fn generation(told: &Told<'_>) -> Json {
    let mut all = Config::new();
    set_tokens(&mut all, told);
    let id = |kind: &str| told.count(&format!("tokenizer.ggml.{kind}_token_id"));
    let mut ends: Vec<u64> = ["eos", "eot", "eom"].into_iter().filter_map(id).collect();
    ends.dedup();
    if ends.len() > 1 {
        all.insert("eos_token_id".into(), json!(ends));
    }
    let before = all.len();
    for (keys, name, _) in SAMPLING {
        let value = told.value(&format!("general.sampling.{name}"));
        if let (Some(value), Some(key)) = (value.as_ref().and_then(told::json), keys.last()) {
            all.insert((*key).to_owned(), value);
        }
    }
    if all.len() > before {
        all.insert("do_sample".into(), true.into());
    }
    all.into()
}

fn not_known(architecture: &str) -> Error {
    let architecture = escaped(architecture);
    let message =
        format!("what config a model of the architecture `{architecture}` has is not known");
    Error::unsupported(message).remedy(Remedy::KeepNames)
}

fn family_of(told: &Told<'_>) -> Result<&'static Family> {
    let architecture = told.architecture();
    let family = FAMILIES.iter().find(|family| family.architecture == architecture);
    family.ok_or_else(|| not_known(&architecture))
}

fn form_of(family: &Family, told: &Told<'_>) -> Result<&'static Form> {
    let mut forms = FORMS.iter().filter(|form| form.architecture == family.architecture);
    forms.find(|form| (form.is)(told)).ok_or_else(|| not_known(family.architecture))
}

/// The name that a class has for a value; of several, those of older classes are known to
/// transformers too.
fn own_name(keys: &'static [&'static str], class: &Class) -> &'static str {
    let more = class.more.iter().map(|(key, _)| *key);
    let all = [class.epsilon.0, "num_key_value_heads", "head_dim"];
    let own: Vec<&str> = SIZES.into_iter().chain(all).chain(more).collect();
    let own = keys.iter().find(|key| own.contains(key));
    own.or(keys.first()).copied().unwrap_or_default()
}

/// Sets what a row of the table says.
fn set_row(
    config: &mut Config,
    &(key, _, get): &Row,
    told: &Told<'_>,
    class: &Class,
    form: &Form,
) -> Result<()> {
    let Some(value) = told.own(key) else { return Ok(()) };
    let name = match get {
        Get::Any(keys) | Get::Needed(keys) => own_name(keys, class),
        Get::Made(_) | Get::MadeOf(..) => match form.made.iter().find(|(made, _)| *made == key) {
            Some((_, name)) => name,
            None => return Ok(()),
        },
        // Rotary parameters are set together.
        Get::Rope(_) | Get::Yarn(_) | Get::FileType => return Ok(()),
    };
    let value = told::json(&value).ok_or_else(|| told.odd(key))?;
    // Zero stands for none.
    let value = if name == "sliding_window" && value == 0 { Json::Null } else { value };
    match config.insert(name.to_owned(), value.clone()) {
        Some(other) if other != value => Err(Error::malformed(format!(
            "its metadata gives two values of {name}: {other} and {value}"
        ))),
        _ => Ok(()),
    }
}

/// Key heads and the width of heads, where the metadata does not state them.
fn set_heads(config: &mut Config, told: &Told<'_>) -> Result<()> {
    let Some(heads) = config.get("num_attention_heads").and_then(Json::as_u64) else {
        return Ok(());
    };
    config.entry("num_key_value_heads").or_insert(heads.into());
    let hidden = config.get("hidden_size").and_then(Json::as_u64).unwrap_or(0);
    let rows = told.rows_of("blk.0.attn_q.weight");
    if rows == 0 || config.contains_key("head_dim") {
        return Ok(());
    }
    match rows.checked_div(heads).filter(|width| width * heads == rows) {
        None => {
            Err(Error::malformed(format!("{heads} heads do not fit"))
                .in_tensor("blk.0.attn_q.weight"))
        }
        Some(width) => {
            if width * heads != hidden {
                config.insert("head_dim".into(), width.into());
            }
            Ok(())
        }
    }
}

/// Whether modules have biases, and other things that tensors tell by being there.
fn set_flags(config: &mut Config, form: &Form, told: &Told<'_>) -> Result<()> {
    let mut explained: Vec<String> = Vec::new();
    for (key, tensors) in form.flags {
        let there = tensors.iter().filter(|name| told.has(&told::in_first_layer(name)));
        let is_set = match there.count() {
            0 => false,
            all if all == tensors.len() => true,
            _ => {
                let list = tensors.join(", ");
                let message = format!(
                    "it has some of {list}, but not all, and {} has all or none",
                    form.class
                );
                return Err(Error::unsupported(message).remedy(Remedy::KeepNames));
            }
        };
        match (key.is_empty(), is_set) {
            (true, false) => {
                return Err(Error::malformed(format!("{} is missing", tensors.join(", "))));
            }
            (true, true) => {}
            (false, _) => drop(config.insert((*key).to_owned(), is_set.into())),
        }
        explained.extend(tensors.iter().map(|name| (*name).to_owned()));
    }
    let biases = told.tensors.iter().filter(|(name, _)| name.ends_with(".bias"));
    for (name, _) in biases.filter(|(name, _)| !name.ends_with(".exp_probs_b.bias")) {
        if !explained.contains(&told::in_any_layer(name)) {
            let message = format!("{} has no such bias", form.class);
            return Err(Error::unsupported(message).in_tensor(name).remedy(Remedy::KeepNames));
        }
    }
    Ok(())
}

/// What the tensors of a file tell by being there, as its class calls it.
pub fn flags(told: &Told<'_>) -> Result<Vec<(String, bool)>> {
    let mut config = Config::new();
    set_flags(&mut config, form_of(family_of(told)?, told)?, told)?;
    Ok(config.into_iter().filter_map(|(key, flag)| Some((key, flag.as_bool()?))).collect())
}

fn fixed(value: Fixed, told: &Told<'_>, config: &Config) -> Option<Json> {
    match value {
        Fixed::Null => Some(Json::Null),
        Fixed::Flag(flag) => Some(flag.into()),
        Fixed::Made(make) => make(told, config),
    }
}

/// Special tokens by their ids.
fn set_tokens(config: &mut Config, told: &Told<'_>) {
    for (key, name) in
        [("bos_token_id", "bos"), ("eos_token_id", "eos"), ("pad_token_id", "padding")]
    {
        // Without an id there is none: the class would take one of its own.
        let id = told.count(&format!("tokenizer.ggml.{name}_token_id"));
        config.insert(key.to_owned(), id.into());
    }
}

/// An error if a class would fill in something that decides what the model computes.
fn refuse_gaps(config: &Config, class: &Class) -> Result<()> {
    let more = class.more.iter().map(|(key, _)| *key);
    let mut needed = SIZES.into_iter().chain([class.epsilon.0]).chain(more);
    match needed.find(|key| !config.contains_key(*key)) {
        None => Ok(()),
        Some(key) => {
            let message = format!("its metadata does not tell {key} of the config");
            Err(Error::malformed(message).remedy(Remedy::StateBase).remedy(Remedy::KeepNames))
        }
    }
}

/// The metadata as a program would ask for it.
pub type Ask<'a> = dyn Fn(&str) -> Option<Value> + 'a;
