//! The front matter of a model card: the lines between two `---` at the start of README.md.
//!
//! It is YAML, of which cards use little: texts and lists of texts. Those are read. Anything else
//! is there, but not understood, and what would be written from it is left out.

use std::sync::LazyLock;

use regex::Regex;

/// What a card says.
#[derive(Clone, Debug, Default)]
pub(super) struct Card(Vec<(String, Said)>);

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Nothing: null.
    Nothing,
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Said>),
    /// A number, a date, named values, text over several lines: nothing that is used.
    Other,
}

impl Card {
    /// Reads the front matter of a card, if it has one.
    pub fn of(text: &str) -> Self {
        let mut lines = text.lines();
        if lines.next() != Some("---") {
            return Self::default();
        }
        let lines: Vec<String> = lines.take_while(|line| *line != "---").map(repaired).collect();
        let mut card = Self::default();
        let mut rest = &lines[..];
        while let Some((line, after)) = rest.split_first() {
            let Some((key, value)) = key_of(line) else {
                rest = after;
                continue;
            };
            let inside = |line: &String| {
                let belongs = line.starts_with([' ', '-', ']']);
                belongs || line.trim().is_empty() || line.starts_with('#')
            };
            let count = after.iter().take_while(|line| inside(line)).count();
            let (block, after) = after.split_at(count);
            card.0.retain(|(known, _)| *known != key);
            card.0.push((key, said(value, block)));
            rest = after;
        }
        card
    }

    /// What it says under the first of these keys that it has.
    pub fn get(&self, keys: &[&str]) -> Option<&Said> {
        let find = |key: &&str| self.0.iter().find(|(known, _)| known == key);
        keys.iter().find_map(find).map(|(_, said)| said)
    }

    /// The first text under one of these keys.
    pub fn text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| match self.get(&[key]) {
            Some(Said::Text(text)) => Some(text.as_str()),
            _ => None,
        })
    }
}

/// Tabs are no YAML, and the code of Norwegian is a truth value in it.
fn repaired(line: &str) -> String {
    let line = line.replace('\t', "  ");
    match line.strip_suffix("- no") {
        Some(start) => format!("{start}- \"no\""),
        None => line,
    }
}

/// The key of a line, and what follows it.
fn key_of(line: &str) -> Option<(String, &str)> {
    if line.starts_with([' ', '-', '#', '[', ']', '{', '}']) {
        return None;
    }
    let (key, value) = match line.split_once(": ") {
        Some(found) => found,
        None => (without_comment(line).trim_end().strip_suffix(':')?, ""),
    };
    let key = key.trim().trim_matches(['"', '\'']);
    (!key.is_empty()).then(|| (key.to_owned(), value.trim()))
}

fn said(value: &str, block: &[String]) -> Said {
    let lines = block.iter().filter(|line| !without_comment(line).trim().is_empty());
    let lines: Vec<&str> = lines.map(String::as_str).collect();
    let value = without_comment(value).trim_end();
    if value.starts_with('[') {
        let parts = lines.iter().map(|line| without_comment(line).trim());
        let all: Vec<&str> = std::iter::once(value).chain(parts).collect();
        return flow_list(&all.join(" "));
    }
    if !value.is_empty() {
        return if lines.is_empty() { scalar(value) } else { Said::Other };
    }
    match lines.first() {
        None => Said::Nothing,
        Some(first) if is_item(first.trim_start()) => block_list(&lines),
        Some(_) => Said::Other,
    }
}

fn is_item(line: &str) -> bool {
    line == "-" || line.starts_with("- ")
}

fn block_list(lines: &[&str]) -> Said {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let outer = lines.first().map_or(0, |line| indent(line));
    let mut items: Vec<Said> = Vec::new();
    for line in lines {
        let text = line.trim_start();
        if indent(line) != outer || !is_item(text) {
            // What is further in belongs to the item before it.
            match items.last_mut() {
                Some(last) if indent(line) > outer => *last = Said::Other,
                _ => return Said::Other,
            }
            continue;
        }
        let text = without_comment(text.trim_start_matches('-')).trim();
        items.push(match text {
            "" => Said::Nothing,
            _ if text.starts_with('[') => flow_list(text),
            _ => scalar(text),
        });
    }
    Said::List(items)
}

fn flow_list(text: &str) -> Said {
    let Some(inside) = text.strip_prefix('[').and_then(|text| text.trim_end().strip_suffix(']'))
    else {
        return Said::Other;
    };
    let mut items = vec![String::new()];
    let mut quote = None;
    for letter in inside.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            None if matches!(letter, '[' | ']' | '{' | '}') => return Said::Other,
            None if letter == ',' => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(letter);
        }
    }
    if items.last().is_some_and(|item| item.trim().is_empty()) {
        items.pop();
    }
    Said::List(items.iter().map(|item| scalar(item.trim())).collect())
}

/// What is no text in YAML 1.1 though nothing marks it: null, truth values, numbers, dates.
static NO_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    let kinds = [
        "~|null|Null|NULL|=|<<",
        "yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
        r"[-+]?0b[01_]+|[-+]?0x[0-9a-fA-F_]+|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])*(\.[0-9_]*)?",
        r"[-+]?[0-9][0-9_]*\.[0-9_]*[eE][-+][0-9]+|[-+]?\.[0-9][0-9_]*([eE][-+][0-9]+)?",
        r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?",
    ];
    Regex::new(&format!("^(?:{})$", kinds.join("|"))).expect("a pattern of ours")
});

fn scalar(text: &str) -> Said {
    let quoted = |mark: char| text.strip_prefix(mark).map(|text| text.strip_suffix(mark));
    if let Some(inside) = quoted('\'') {
        return inside.map_or(Said::Other, |inside| Said::Text(inside.replace("''", "'")));
    }
    if let Some(inside) = quoted('"') {
        // Escapes are JSON's, or rare.
        let spelled = inside.map(|inside| serde_json::from_str(&format!("\"{inside}\"")));
        return spelled.and_then(Result::ok).map_or(Said::Other, Said::Text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Said::Nothing,
        _ if NO_TEXT.is_match(text) => Said::Other,
        _ if text.starts_with(['|', '>', '{', '[', '&', '*', '!', '%', '@', '`']) => Said::Other,
        _ if text.contains(": ") || text.ends_with(':') => Said::Other,
        _ => Said::Text(text.to_owned()),
    }
}

/// A line up to the `#` of a comment outside quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            None if letter == '#' && before == ' ' => return &line[..at],
            None if matches!(letter, '"' | '\'') && " [,".contains(before) => quote = Some(letter),
            _ => {}
        }
        before = letter;
    }
    line
}
