//! What names, configs and metadata tell about a model: its naming, its family, its heads.

use std::rc::Rc;

use serde_json::Value as Json;

use super::Side;
use super::linear::Linear;
use crate::catalog::Value;
use crate::config;
use crate::error::{Error, Remedy, Result};
use crate::families::{
    Family, Settings, advised, called, embeddings, first_position, of_config, settings, text_part,
};
use crate::text::escaped;

/// Whose naming a model follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Hugging Face's, which most libraries keep.
    HuggingFace,
    /// GGUF's.
    Gguf,
    /// Those of the checkpoints that Meta and Mistral publish.
    Consolidated,
    /// None of these.
    Other,
}

impl Dialect {
    /// Its name in remarks.
    pub fn name(self) -> &'static str {
        match self {
            Self::HuggingFace => "Hugging Face",
            Self::Gguf => "GGUF",
            Self::Consolidated => "Meta or Mistral checkpoint",
            Self::Other => "unrecognized",
        }
    }
}

/// What is known about a model.
#[derive(Clone)]
pub(super) struct Facts {
    /// Whose naming it follows.
    pub dialect: Dialect,
    /// What precedes Hugging Face's `layers` and `embed_tokens`.
    pub prefix: String,
    /// The family's name as the model states it.
    pub family_name: Option<String>,
    /// The family, where it is known.
    pub family: Option<&'static Family>,
    /// Query heads.
    pub heads: Option<u64>,
    /// Key heads.
    pub kv_heads: Option<u64>,
    /// Rows of a head, where Hugging Face's config tells.
    pub head_width: Option<u64>,
    /// Rows of a key head that are made from the shorter vector, in DeepSeek's attention.
    pub key_rows: Option<u64>,
    /// Rows of a value head there, where a config states them.
    pub value_rows: Option<u64>,
    /// The heads of linear attention.
    pub linear: Option<Linear>,
    /// Layers, without those that predict further tokens where a config tells.
    pub layers: Option<u64>,
    /// Whether the output head shares the embedding's numbers.
    pub tied: Option<bool>,
    /// Tokens that a GGUF file lists.
    pub tokens: Option<u64>,
    /// The row of the first position, where a config tells.
    pub first_position: Option<u64>,
    /// The config of a model with Hugging Face's names, with what transformers fills in.
    pub settings: Option<Rc<Settings>>,
}

impl Facts {
    /// Reads names, configs and metadata.
    pub fn of(side: &Side<'_>, names: &[String]) -> Self {
        let (dialect, prefix) = dialect(names);
        let candidates = family_names(side);
        let known = |name: &&String| called(name).is_some();
        // What transformers fills in is only asked for where a config describes the model.
        let config = config::find(side.configs, config::HUGGING_FACE);
        let is_described = dialect == Dialect::HuggingFace && number(side, HEADS).is_some();
        let stated = config.filter(|_| is_described).map(settings);
        let filled = |key: &str| stated.as_ref()?.count(key);
        let is_named_so = dialect == Dialect::HuggingFace;
        let family_name = candidates.iter().find(known).or(candidates.first()).cloned();
        Self {
            dialect,
            prefix,
            // The class says more than the type: several families may share a type.
            family: config
                .filter(|_| is_named_so)
                .and_then(of_config)
                .or_else(|| family_name.as_deref().and_then(called)),
            family_name,
            heads: number(side, HEADS),
            kv_heads: stated
                .as_ref()
                .and_then(one_key_head)
                .or_else(|| number(side, KEY_HEADS))
                .or_else(|| filled("num_key_value_heads")),
            head_width: stated.as_ref().and_then(Settings::head_width),
            key_rows: number(side, KEY_ROWS)
                .or_else(|| number(side, KEY_LENGTH)?.checked_sub(number(side, ROTARY_LENGTH)?)),
            value_rows: number(side, VALUE_ROWS),
            linear: linear(side),
            layers: number(side, LAYERS),
            tied: tied(side),
            tokens: tokens(side),
            first_position: config.map(first_position),
            settings: config.filter(|_| is_named_so).map(settings).map(Rc::new),
        }
    }

    /// The family that names are translated by, if they are the wanted ones. Its name is that of `what`.
    pub fn known_family(
        &self,
        wanted: Dialect,
        what: &str,
        unstated: &str,
    ) -> Result<&'static Family> {
        let message = match (self.family, &self.family_name) {
            _ if self.dialect != wanted => {
                let (own, wanted) = (self.dialect.name(), wanted.name());
                format!("the model has {own} tensor names; only {wanted} names are translated")
            }
            (Some(family), _) => return Ok(family),
            (None, Some(name)) => {
                let message = format!(
                    "unsupported {what} `{}`: its tensor names cannot be translated",
                    escaped(name)
                );
                return Err(advised(Error::unsupported(message), name));
            }
            (None, None) => unstated.to_owned(),
        };
        Err(Error::unsupported(message).remedy(Remedy::KeepNames))
    }

    /// Whether a weight belongs to a layer behind those that the model's own config counts.
    pub fn is_beyond_the_last_layer(&self, name: &str) -> bool {
        let below = name.strip_prefix(&self.prefix).and_then(|rest| rest.strip_prefix("layers."));
        let number = below.and_then(|rest| rest.split('.').next()?.parse::<u64>().ok());
        number.zip(self.layers).is_some_and(|(number, all)| number >= all)
    }
}

/// One key head, if a config says that all query heads share it. Falcon's newer layers do not ask.
fn one_key_head(settings: &Settings) -> Option<u64> {
    let is_on = |key: &str| settings.find(&[key]).is_some_and(|value| *value == true);
    (is_on("multi_query") && !is_on("new_decoder_architecture")).then_some(1)
}

fn linear(side: &Side<'_>) -> Option<Linear> {
    let value_heads = number(side, VALUE_HEADS)?;
    let value_width = number(side, VALUE_WIDTH)
        .or_else(|| number(side, VALUE_WIDTHS)?.checked_div(value_heads))?;
    let (key_heads, key_width) = (number(side, LINEAR_KEY_HEADS)?, number(side, KEY_WIDTH)?);
    Linear::of([key_heads, key_width], [value_heads, value_width])
}

fn dialect(names: &[String]) -> (Dialect, String) {
    // Layers that predict further tokens have embeddings too, and so has what speaks: the shortest
    // name of the others is the model's own.
    let ends = |end: &str| {
        let own = names.iter().filter(|name| !name.starts_with("talker."));
        let all = own.filter_map(|name| name.strip_suffix(end));
        let all = all.filter(|prefix| prefix.is_empty() || prefix.ends_with('.'));
        all.min_by_key(|prefix| prefix.len())
    };
    if names.iter().any(|name| name.starts_with("blk.")) || ends("token_embd.weight").is_some() {
        return (Dialect::Gguf, String::new());
    }
    if names.iter().any(|name| name.contains("layers.") && name.contains(".attention.wq.")) {
        let prefix = ends("tok_embeddings.weight").unwrap_or_default();
        return (Dialect::Consolidated, prefix.to_owned());
    }
    let embedding = embeddings().into_iter().find_map(|module| ends(&format!("{module}.weight")));
    match embedding.or_else(|| names.iter().find_map(|name| before_layers(name))) {
        Some(prefix) => (Dialect::HuggingFace, prefix.to_owned()),
        None if names.iter().any(|name| is_head(name)) => (Dialect::HuggingFace, "model.".into()),
        None => (Dialect::Other, String::new()),
    }
}

/// What stands before `layers` in Hugging Face's name of a weight of a language model.
fn before_layers(name: &str) -> Option<&str> {
    let (prefix, rest) = name.split_once("layers.")?;
    let (_, module) = rest.split_once('.')?;
    let known = ["self_attn.", "mlp.", "block_sparse_moe.", "input_layernorm."];
    let is_language = !prefix.contains("vision") && !prefix.contains("visual");
    (is_language && known.iter().any(|start| module.starts_with(start))).then_some(prefix)
}

/// What the model calls its family, the surest name first.
fn family_names(side: &Side<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for key in ["general.architecture", "hf_model_type", "model_type", "architecture"] {
        names.extend(text(side, key));
    }
    for config in documents(side) {
        names.extend(config["model_type"].as_str().map(str::to_lowercase));
        let class = config["architectures"][0].as_str().unwrap_or_default();
        // `Qwen3MoeForCausalLM` is of the family `qwen3moe`.
        let class = class.split("For").next().unwrap_or_default();
        names.push(class.strip_suffix("Model").unwrap_or(class).to_lowercase());
    }
    names.retain(|name| !name.is_empty());
    names
}

fn text(side: &Side<'_>, key: &str) -> Option<String> {
    value(side, key).and_then(Value::as_str).map(str::to_lowercase)
}

fn value<'a>(side: &Side<'a>, key: &str) -> Option<&'a Value> {
    side.metadata.iter().find(|(name, _)| *name == key).map(|&(_, value)| value)
}

/// The configs that describe the language model: the parts of a multimodal one first.
fn documents<'a>(side: &Side<'a>) -> impl Iterator<Item = &'a Json> {
    let named = |name: &'static str| side.configs.iter().filter(move |config| config.name == name);
    let configs = ["config.json", "params.json"].into_iter().flat_map(named).map(|one| &one.json);
    configs.clone().filter_map(text_part).chain(configs)
}

/// What configs call a number, what GGUF files call it behind their architecture, and what APR
/// files call it.
type Number = (&'static [&'static str], Option<&'static str>, Option<&'static str>);

const HEADS: Number = (
    &["num_attention_heads", "n_heads", "n_head"],
    Some(".attention.head_count"),
    Some("num_heads"),
);
const KEY_HEADS: Number = (
    &["num_key_value_heads", "n_kv_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"],
    Some(".attention.head_count_kv"),
    Some("num_kv_heads"),
);
const KEY_ROWS: Number = (&["qk_nope_head_dim"], None, None);
const VALUE_ROWS: Number = (&["v_head_dim"], None, None);
const KEY_LENGTH: Number = (&[], Some(".attention.key_length_mla"), None);
const ROTARY_LENGTH: Number = (&[], Some(".rope.dimension_count"), None);
const LINEAR_KEY_HEADS: Number = (&["linear_num_key_heads"], Some(".ssm.group_count"), None);
const KEY_WIDTH: Number = (&["linear_key_head_dim"], Some(".ssm.state_size"), None);
const VALUE_HEADS: Number = (&["linear_num_value_heads"], Some(".ssm.time_step_rank"), None);
const VALUE_WIDTH: Number = (&["linear_value_head_dim"], None, None);
const VALUE_WIDTHS: Number = (&[], Some(".ssm.inner_size"), None);
const LAYERS: Number = (&["num_hidden_layers"], Some(".block_count"), Some("num_layers"));

fn number(side: &Side<'_>, (keys, gguf, apr): Number) -> Option<u64> {
    let architecture = text(side, "general.architecture").unwrap_or_default();
    let in_configs =
        || documents(side).find_map(|json| keys.iter().find_map(|key| json[*key].as_u64()));
    let in_gguf = gguf.and_then(|key| value(side, &format!("{architecture}{key}")));
    in_gguf.or_else(|| value(side, apr?)).and_then(of_layers).or_else(in_configs)
}

/// A number, or that of all layers that have one in a list.
fn of_layers(value: &Value) -> Option<u64> {
    let Value::List(all) = value else { return value.as_u64() };
    let mut some = all.iter().filter_map(Value::as_u64).filter(|number| *number > 0);
    let first = some.next()?;
    some.all(|number| number == first).then_some(first)
}

fn tokens(side: &Side<'_>) -> Option<u64> {
    match value(side, crate::tokenizer::TOKENS)? {
        Value::Array(tokens) => Some(tokens.len),
        other => other.list_len().map(|count| count as u64),
    }
}

fn tied(side: &Side<'_>) -> Option<bool> {
    let said = documents(side).find_map(|json| {
        ["tie_word_embeddings", "tied_embeddings"].iter().find_map(|key| json[*key].as_bool())
    });
    said.or_else(|| match value(side, "tied_embeddings") {
        Some(Value::Bool(tied)) => Some(*tied),
        _ => None,
    })
}

/// Whether this is Hugging Face's name for the output head.
pub(super) fn is_head(name: &str) -> bool {
    name == "lm_head.weight" || name.ends_with(".lm_head.weight")
}
