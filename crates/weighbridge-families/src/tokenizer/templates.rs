//! Chat templates: one, or several by name.

use serde_json::{Value as Json, json};

use super::{CONFIG, Entries, Files, wrong};
use crate::catalog::Value;
use crate::error::{Error, Result};

const KEY: &str = "tokenizer.chat_template";

/// More templates than anybody has.
const MOST: usize = 256;

/// `tokenizer_config.json` comes first, even where it says `null`; files of their own come after it.
pub(super) fn read(files: &Files<'_>) -> Result<Option<Json>> {
    // It is read even where another one comes first: none is taken for one that is damaged.
    let file = files.text("chat_template.jinja")?;
    let template = match files.config.get("chat_template") {
        Some(template) => Some(template.clone()),
        None => match file {
            Some(text) => Some(with_more(files, text)?),
            None => files.json("chat_template.json")?.map(|json| json["chat_template"].clone()),
        },
    };
    let is_usable = |template: &Json| template.is_string() || template.is_array();
    Ok(template.filter(is_usable))
}

/// Templates of a folder stand beside the one that is for everything else.
fn with_more(files: &Files<'_>, text: String) -> Result<Json> {
    const FOLDER: &str = "additional_chat_templates";
    let mut names = (files.repository.names)(FOLDER);
    names.retain(|name| name.ends_with(".jinja") && !name.starts_with('.'));
    if names.is_empty() {
        return Ok(Json::String(text));
    }
    names.sort();
    let mut all = vec![json!({ "name": "default", "template": text })];
    for name in names.iter().take(MOST) {
        let text = files.text(&format!("{FOLDER}/{name}"))?.unwrap_or_default();
        all.push(json!({ "name": name.trim_end_matches(".jinja"), "template": text }));
    }
    Ok(all.into())
}

/// Writes what a repository has of them.
pub(super) fn write(templates: &Json, entries: &mut Entries) -> Result<()> {
    match templates {
        Json::Array(choices) => write_choices(choices, entries),
        one => {
            entries.text(KEY, one.as_str().unwrap_or_default());
            Ok(())
        }
    }
}

/// Each under its name, then the list of names, then the one that is called `default`.
fn write_choices(choices: &[Json], entries: &mut Entries) -> Result<()> {
    if choices.len() > MOST {
        return Err(Error::limit(format!(
            "implausible number of chat templates: {}",
            choices.len()
        )));
    }
    let (mut default, mut names) = (None, Vec::new());
    for choice in choices {
        let name = plain_name(choice["name"].as_str().unwrap_or_default());
        let template = match &choice["template"] {
            Json::Null => continue,
            Json::String(text) => text,
            _ => return Err(wrong(CONFIG, "a chat template is not a string")),
        };
        match &*name {
            "" => {}
            "default" => default = Some(template),
            _ => {
                entries.text(&format!("{KEY}.{name}"), template);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    entries.list("tokenizer.chat_templates", names.into_iter().map(Value::text));
    if let Some(template) = default {
        entries.text(KEY, template);
    }
    Ok(())
}

/// A name with letters and digits only.
fn plain_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
