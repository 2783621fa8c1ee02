//! What only the files of encoders say: how vectors are pooled, which classes texts are put into, and
//! where positions begin.

use serde_json::Value as Json;

use super::settings::{Settings, whole};
use crate::error::{Error, Result};

/// The key under which settings have the config of the pooling step, which no config has.
pub(super) const POOLING: &str = " pooling";

/// The number of a way to pool; what has no number is given back, and so refused.
pub(super) fn pooling(settings: &Settings) -> Option<Json> {
    let config = settings.find(&[POOLING])?;
    let flags = [
        ("pooling_mode_mean_tokens", 1),
        ("pooling_mode_cls_token", 2),
        ("pooling_mode_lasttoken", 3),
    ];
    let flagged = flags.into_iter().find(|(flag, _)| config[*flag] == true);
    let number = match (flagged, config["pooling_mode"].as_str()) {
        (Some((_, number)), _) => number,
        (None, Some("mean")) => 1,
        (None, Some("cls")) => 2,
        (None, Some("lasttoken")) => 3,
        (None, _) => return Some(config.clone()),
    };
    Some(number.into())
}

/// The names of the classes, in their order. Two that nobody named are what every config of
/// transformers has, so they are written only where there are weights for them.
pub(super) fn classes(settings: &Settings) -> Option<Json> {
    let names = match settings.find(&["id2label"]) {
        Some(stated) => stated_classes(stated)?,
        None => {
            let count = settings.count("num_labels").unwrap_or(2).min(MOST_CLASSES);
            (0..count).map(|class| format!("LABEL_{class}").into()).collect()
        }
    };
    let nameless = names.len() == 2 && names[0] == "LABEL_0";
    (!names.is_empty() && (!nameless || is_classifier(settings))).then(|| names.into())
}

/// More classes than anybody has.
const MOST_CLASSES: u64 = 1 << 16;

fn stated_classes(stated: &Json) -> Option<Vec<Json>> {
    let mut classes = Vec::new();
    for (number, name) in stated.as_object()? {
        classes.push((number.parse::<u64>().ok()?, name.clone()));
    }
    classes.sort_by_key(|(number, _)| *number);
    Some(classes.into_iter().map(|(_, name)| name).collect())
}

fn is_classifier(settings: &Settings) -> bool {
    let class = settings.find(&["architectures"]).and_then(|classes| classes[0].as_str());
    class.is_some_and(|class| class.ends_with("ForSequenceClassification"))
}

/// Which row of the table of positions is the first that a token has: in RoBERTa's it is the one
/// behind that of padding.
pub(in crate::names) fn first_position(config: &Json) -> u64 {
    let is_roberta = |name: &str| ["roberta", "xlm-roberta"].contains(&name);
    if !config["model_type"].as_str().is_some_and(is_roberta) {
        return 0;
    }
    behind_padding(&Settings::of(config))
}

fn behind_padding(settings: &Settings) -> u64 {
    settings.find(&["pad_token_id"]).and_then(whole).map_or(0, |id| id.saturating_add(1))
}

/// The length of texts that a model of Nomic's was trained with, which its table of positions exceeds.
/// What it should be for others is not known, and so refused.
pub(super) fn nomic_context(settings: &Settings) -> Option<Json> {
    if let Some(stated) = settings.find(&["max_position_embeddings"]) {
        return Some(stated.clone());
    }
    let trained = settings.count("max_trained_positions").unwrap_or(2048);
    Some(match (settings.count("n_positions"), trained) {
        (Some(8192), 2048) => 2048.into(),
        (Some(2048), 2048) => 512.into(),
        (other, _) => format!("n_positions {other:?} after training with {trained}").into(),
    })
}

/// What has to be so in a config of Nomic's: readers know no other models of that name.
const NOMIC: [(&str, Json); 9] = [
    ("causal", Json::Bool(false)),
    ("qkv_proj_bias", Json::Bool(false)),
    ("mlp_fc1_bias", Json::Bool(false)),
    ("mlp_fc2_bias", Json::Bool(false)),
    ("prenorm", Json::Bool(false)),
    ("rotary_emb_interleaved", Json::Bool(false)),
    ("rotary_emb_scale_base", Json::Null),
    ("moe_every_n_layers", Json::Null),
    ("num_experts", Json::Null),
];

/// Refuses models of Nomic's that readers would take for another one.
pub(super) fn check_nomic(settings: &Settings) -> Result<()> {
    let refused = |key: &str, value: &Json| {
        let shown = crate::text::escaped(&value.to_string()).into_owned();
        let message = format!("a nomic_bert model with `{key}` {shown} is not converted into GGUF");
        Err(Error::unsupported(message))
    };
    for (key, wanted) in &NOMIC {
        let value = settings.find(&[*key]).unwrap_or(&Json::Null);
        let is_none = wanted.is_null() && (value == 0 || value == false);
        if value != wanted && !is_none {
            return refused(key, value);
        }
    }
    let value = |key: &str| settings.find(&[key]).cloned().unwrap_or_default();
    if value("rotary_emb_fraction").as_f64() != Some(1.0) {
        return refused("rotary_emb_fraction", &value("rotary_emb_fraction"));
    }
    match value("activation_function") {
        activation if activation == "swiglu" => Ok(()),
        other => refused("activation_function", &other),
    }
}

/// How many positions tokens have.
pub(super) fn context_behind_padding(settings: &Settings) -> Option<Json> {
    let all = settings.count("max_position_embeddings")?;
    // A negative number, where there are too few, is refused.
    Some(match all.checked_sub(behind_padding(settings)) {
        Some(rest) => rest.into(),
        None => (-1).into(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(config: &Json) -> Option<Json> {
        classes(&Settings::of(config))
    }

    #[test]
    fn classes_without_names_are_there_where_weights_are() {
        let model = json!({ "model_type": "bert", "architectures": ["BertModel"] });
        assert_eq!(of(&model), None);
        let head =
            json!({ "model_type": "bert", "architectures": ["BertForSequenceClassification"] });
        assert_eq!(of(&head), Some(json!(["LABEL_0", "LABEL_1"])));
        let odd = json!({ "model_type": "bert", "id2label": { "x": "y" } });
        assert_eq!(of(&odd), None);
    }

    #[test]
    fn positions_begin_behind_padding() {
        assert_eq!(first_position(&json!({ "model_type": "bert", "pad_token_id": 3 })), 0);
        assert_eq!(first_position(&json!({ "model_type": "roberta" })), 2);
        assert_eq!(first_position(&json!({ "model_type": "xlm-roberta", "pad_token_id": 4 })), 5);
        let none = json!({ "model_type": "xlm-roberta", "pad_token_id": null });
        assert_eq!(first_position(&none), 0);
    }
}
