//! What only the files of encoders say: how vectors are pooled, which classes texts are put into, and
//! where positions begin.

use serde_json::Value as Json;

use super::keys::Get::Made;
use super::keys::KeyRow;
use super::keys::Type::{Count, Flag, Texts};
use crate::families::settings::{Settings, whole};
use crate::families::told::Told;

/// The key under which settings have the config of the pooling step, which no config has.
pub(crate) const POOLING_STEP: &str = " pooling";

pub(crate) const POOLING: KeyRow = ("pooling_type", Count, Made(pooling));

/// How vectors are pooled before a classifier, which few configs say.
pub(crate) const CLASSIFIER_POOLING: KeyRow =
    ("classifier.pooling_type", Count, Made(classifier_pooling));

/// The numbers of ways to pool, and what older and newer configs of the step call them.
pub(crate) const POOLINGS: [(u64, &str, &str); 3] = [
    (1, "pooling_mode_mean_tokens", "mean"),
    (2, "pooling_mode_cls_token", "cls"),
    (3, "pooling_mode_lasttoken", "lasttoken"),
];

/// What the files of all encoders say.
pub(crate) const ENCODER: &[KeyRow] = &[
    ("attention.causal", Flag, Made(|_| Some(false.into()))),
    POOLING,
    CLASSIFIER_POOLING,
    ("classifier.output_labels", Texts, Made(classes)),
];

/// How many positions tokens have, where the first ones are those of padding.
pub(crate) const BEHIND_PADDING: &[KeyRow] =
    &[("context_length", Count, Made(context_behind_padding))];

/// The number of a way to pool; what has no number is given back, and so refused.
fn pooling(settings: &Settings) -> Option<Json> {
    let config = settings.find(&[POOLING_STEP])?;
    let flagged = POOLINGS.iter().find(|(_, flag, _)| config[*flag] == true);
    let found = flagged.or(POOLINGS.iter().find(|(.., mode)| config["pooling_mode"] == *mode));
    Some(found.map_or_else(|| config.clone(), |(number, ..)| (*number).into()))
}

/// Ways that llama.cpp knows; others are left out, and matter to classifiers only.
fn classifier_pooling(settings: &Settings) -> Option<Json> {
    let stated = settings.find(&["classifier_pooling"])?;
    let ways = POOLINGS.iter().filter(|(.., mode)| ["mean", "cls"].contains(mode));
    let mut found = ways.filter(|(.., mode)| stated == mode);
    found.next().map(|(number, ..)| (*number).into())
}

/// What configs call the way to pool before a classifier that a file has.
pub(crate) fn classifier_pooling_of(told: &Told<'_>) -> Option<Json> {
    let number = told.own("classifier.pooling_type")?.as_u64();
    let known = POOLINGS.iter().find(|(known, ..)| number == Some(*known));
    known.map(|(.., mode)| (*mode).into())
}

/// The names of the classes, in their order. Two that nobody named are what every config of
/// transformers has, so they are written only where there are weights for them.
fn classes(settings: &Settings) -> Option<Json> {
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
    let class = |(number, name): (&String, &Json)| Some((number.parse().ok()?, name.clone()));
    let mut classes: Vec<(u64, Json)> =
        stated.as_object()?.iter().map(class).collect::<Option<_>>()?;
    classes.sort_by_key(|(number, _)| *number);
    Some(classes.into_iter().map(|(_, name)| name).collect())
}

fn is_classifier(settings: &Settings) -> bool {
    let class = settings.find(&["architectures"]).and_then(|classes| classes[0].as_str());
    class.is_some_and(|class| class.ends_with("ForSequenceClassification"))
}

/// Which row of the table of positions is the first that a token has: the one behind that of padding.
pub(crate) fn behind_padding(settings: &Settings) -> u64 {
    settings.find(&["pad_token_id"]).and_then(whole).map_or(0, |id| id.saturating_add(1))
}

/// How many positions tokens have.
fn context_behind_padding(settings: &Settings) -> Option<Json> {
    let all = settings.count("max_position_embeddings")?;
    // A negative number, where there are too few, is refused.
    Some(all.checked_sub(behind_padding(settings)).map_or((-1).into(), Json::from))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::settings;

    fn of(config: &Json) -> Option<Json> {
        classes(&settings(config))
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
}
