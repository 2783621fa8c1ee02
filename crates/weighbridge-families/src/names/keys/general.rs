//! The entries that describe a model to people: what it is called, whose it is, how it is sampled.
//!
//! The model card is asked first, then the name that the config has for the repository, then the
//! name of the folder.

use serde_json::Value as Json;

use super::About;
use super::card::{Card, Said};
use super::entries::{signed, single};
use super::title::{Parts, parts, size_label, title};
use crate::catalog::Value;

type MetadataEntry = (String, Value);

/// Keys of generation_config.json, what GGUF calls them, and whether they are whole numbers.
pub(super) const SAMPLING: &[(&[&str], &str, bool)] = &[
    (&["top_k"], "top_k", true),
    (&["top_p"], "top_p", false),
    (&["min_p"], "min_p", false),
    (&["xtc_probability"], "xtc_probability", false),
    (&["xtc_threshold"], "xtc_threshold", false),
    (&["temperature"], "temp", false),
    (&["penalty_last_n"], "penalty_last_n", true),
    (&["penalty_repeat", "repetition_penalty"], "penalty_repeat", false),
    (&["mirostat"], "mirostat", true),
    (&["mirostat_tau"], "mirostat_tau", false),
    (&["mirostat_eta"], "mirostat_eta", false),
];

/// Texts of a card under one name or another, and what GGUF calls them.
const SOURCES: &[(&str, &[&str])] = &[
    ("general.source.url", &["url", "model_url"]),
    ("general.source.doi", &["doi", "model_doi"]),
    ("general.source.uuid", &["uuid", "model_uuid"]),
    ("general.source.repo_url", &["repo_url", "model_repo_url"]),
];

/// All entries of the kind, in the converter's order.
pub(super) fn entries(about: &About<'_>) -> Vec<MetadataEntry> {
    let card = about.card.map(Card::of).unwrap_or_default();
    let mut all = vec![text("general.type", "model")];
    all.extend(about.generation.into_iter().flat_map(sampling));
    all.extend(identity(about, &card));
    all.extend(licence(&card));
    all.extend(
        SOURCES.iter().filter_map(|(key, names)| card.text(names).map(|said| text(*key, said))),
    );
    let total = about.parameters.total;
    let bases = ["base_model", "base_models", "base_model_sources"];
    all.extend(others("general.base_model", card.get(&bases), total));
    let datasets = ["datasets", "dataset", "dataset_sources"];
    all.extend(others("general.dataset", card.get(&datasets), total));
    all.extend(list("general.tags", &card, &["tags", "pipeline_tag"]));
    all.extend(list("general.languages", &card, &["languages", "language"]));
    all
}

fn text(key: impl Into<String>, value: &str) -> MetadataEntry {
    (key.into(), Value::text(value))
}

fn sampling(generation: &Json) -> Vec<MetadataEntry> {
    let find = |keys: &[&str]| keys.iter().find_map(|key| generation.get(*key));
    let sequence = find(&["sequence"]).and_then(Json::as_str);
    let mut all: Vec<MetadataEntry> =
        sequence.map(|said| text("general.sampling.sequence", said)).into_iter().collect();
    for (keys, name, whole) in SAMPLING {
        let value = find(keys).and_then(if *whole { signed } else { single });
        all.extend(value.map(|value| (format!("general.sampling.{name}"), value)));
    }
    all
}

/// What the model is called, and what its names say.
fn identity(about: &About<'_>, card: &Card) -> Vec<MetadataEntry> {
    let total = about.parameters.total;
    let stated = about.config["_name_or_path"].as_str();
    // With more than one slash it is the path of somebody's file.
    let stated = stated.filter(|path| path.matches('/').count() <= 1);
    let known: Vec<Parts> =
        stated.into_iter().chain([about.folder]).map(|id| parts(id, total)).collect();
    let pick = |keys: &[&str], part: fn(&Parts) -> Option<String>| {
        card.text(keys).map(str::to_owned).or_else(|| known.iter().find_map(part))
    };
    let titled = |parts: &Parts| Some(title(&parts.full));
    let organization = |parts: &Parts| parts.organization.as_deref().map(title);
    let none = |_: &Parts| None;
    let size = pick(&["size_label", "model_size_label"], |parts| parts.size_label.clone());
    let size = size.or_else(|| (total > 0).then(|| size_label(&about.parameters)));
    let found = [
        ("name", pick(&["name", "model_name"], titled)),
        ("author", pick(&["author", "model_author", "model_creator"], none)),
        ("version", pick(&["version", "model_version"], |parts| parts.version.clone())),
        ("organization", pick(&["organization", "model_organization"], organization)),
        ("finetune", pick(&["finetune", "model_finetune"], |parts| parts.finetune.clone())),
        (
            "basename",
            pick(&["basename", "model_basename", "model_type"], |parts| parts.basename.clone()),
        ),
        ("description", pick(&["description", "model_description"], none)),
        ("size_label", size),
    ];
    keyed(found, "general.").collect()
}

/// Entries of what is said, under a common start of their keys.
fn keyed<const COUNT: usize>(
    found: [(&str, Option<String>); COUNT],
    start: &str,
) -> impl Iterator<Item = MetadataEntry> {
    found.into_iter().filter_map(move |(end, said)| Some(text(format!("{start}{end}"), &said?)))
}

fn licence(card: &Card) -> Vec<MetadataEntry> {
    let licence = match card.get(&["license"]) {
        Some(said @ (Said::Text(_) | Said::List(_))) => several(said).map(|all| all.join(",")),
        _ => None,
    };
    let name = card.text(&["license_name"]).map(str::to_owned);
    let link = card.text(&["license_link"]).map(str::to_owned);
    keyed([("", licence), (".name", name), (".link", link)], "general.license").collect()
}

/// One text, or those of a list that has nothing else.
fn several(said: &Said) -> Option<Vec<String>> {
    let text = |said: &Said| match said {
        Said::Text(text) => Some(text.clone()),
        _ => None,
    };
    match said {
        Said::Text(one) => Some(vec![one.clone()]),
        Said::List(list) => list.iter().map(text).collect(),
        Said::Nothing => Some(Vec::new()),
        Said::Other => None,
    }
}

/// Models or datasets that a card names by their ids or addresses.
fn others(prefix: &str, said: Option<&Said>, parameters: u64) -> Vec<MetadataEntry> {
    let Some(ids) = said.and_then(several) else { return Vec::new() };
    let count = Value::Unsigned(32, ids.len() as u64);
    let mut all = vec![(format!("{prefix}.count"), count)];
    for (at, id) in ids.iter().enumerate() {
        let is_address =
            ["http://", "https://", "ssh://"].iter().any(|start| id.starts_with(start));
        let parts = if is_address {
            id_in_address(id).map(|id| parts(id, parameters))
        } else {
            Some(parts(id, parameters))
        };
        let parts = parts.as_ref();
        let organization = parts.and_then(|parts| parts.organization.as_deref());
        let address = if is_address {
            Some(id.clone())
        } else {
            organization.map(|_| format!("https://huggingface.co/{id}"))
        };
        let found = [
            ("name", parts.map(|parts| title(&parts.full))),
            ("version", parts.and_then(|parts| parts.version.clone())),
            ("organization", organization.map(title)),
            ("repo_url", address),
        ];
        all.extend(keyed(found, &format!("{prefix}.{at}.")));
    }
    all
}

/// `owner/name` in the address of a model's page.
fn id_in_address(address: &str) -> Option<&str> {
    let start = ["https://huggingface.co/", "http://huggingface.co/"];
    let id = start.iter().find_map(|start| address.strip_prefix(start))?;
    let (owner, name) = id.split_once('/')?;
    (!owner.is_empty() && !name.is_empty() && !name.contains('/')).then_some(id)
}

/// The texts under two keys, one after the other.
fn list(key: &str, card: &Card, names: &[&str; 2]) -> Option<MetadataEntry> {
    let said = names.iter().filter_map(|name| card.get(&[name]));
    let all: Option<Vec<Vec<String>>> = said.map(several).collect();
    let all: Vec<Value> = all?.concat().into_iter().map(Value::text).collect();
    (!all.is_empty()).then(|| (key.to_owned(), Value::List(all)))
}
