//! Changes the text of a config, and nothing but what is asked for: everything else keeps its bytes,
//! whatever spelling its numbers, its spaces and its line ends have.

use std::ops::Range;

use serde_json::Value as Json;

use super::{LANGUAGE, TYPE_KEYS, is_inner_model, parse};
use crate::error::{Error, Result};

/// How a config changes.
pub struct Change<'a> {
    /// Keys that go, from the model's config and from that of every model inside it.
    pub removed: &'a [&'a str],
    /// The type of the weights, where the config of the model, of a language model in it, or of one
    /// that loses a key names another.
    pub dtype: Option<&'a str>,
    /// Keys that the config gets, and what they hold; they take the place of what is there.
    pub added: &'a [(&'a str, &'a Json)],
}

/// What a config became.
#[derive(Debug, Default)]
pub struct Changed {
    /// Its text.
    pub text: Vec<u8>,
    /// The keys that were removed, with the keys they lie under: `text_config.quantization_config`.
    pub removed: Vec<String>,
    /// The keys that hold something else now.
    pub changed: Vec<ChangedKey>,
}

/// A key of a config that holds something else now.
#[derive(Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct ChangedKey {
    /// The key, with those it lies under.
    pub key: String,
    /// What it held; nothing if it is new.
    pub from: Option<String>,
    /// What it holds now.
    pub to: String,
}

/// A config with its changes; `None` if there are none.
pub fn change(text: &[u8], change: &Change<'_>) -> Result<Option<Changed>> {
    let json = parse(text)?;
    if !json.is_object() {
        return Err(Error::malformed("it is not a JSON object"));
    }
    // What the reader takes has this form, so that only a mistake of ours ends here.
    let unlike = || Error::malformed("its text cannot be edited");
    let object = Scanner { text, at: 0 }.document().ok_or_else(unlike)?;
    let mut editor = Editor { change, text, edits: Vec::new(), changed: Changed::default() };
    editor.model(&object, "", true);
    editor.add(&object);
    let Editor { mut edits, mut changed, .. } = editor;
    if edits.is_empty() {
        return Ok(None);
    }
    edits.sort_by_key(|(at, _)| (at.start, at.end));
    let mut from = 0;
    for (at, new) in edits {
        changed.text.extend_from_slice(&text[from..at.start]);
        changed.text.extend_from_slice(new.as_bytes());
        from = at.end;
    }
    changed.text.extend_from_slice(&text[from..]);
    Ok(Some(changed))
}

/// An object, by the places of its members.
struct Object {
    /// From its opening to its closing brace.
    at: Range<usize>,
    members: Vec<Member>,
}

struct Member {
    key: String,
    /// From the key to the end of the value.
    at: Range<usize>,
    value: Range<usize>,
    /// The value, if it is an object.
    object: Option<Object>,
}

impl Object {
    fn has_type(&self, text: &[u8]) -> bool {
        let is_text = |member: &Member| text.get(member.value.start) == Some(&b'"');
        self.members.iter().any(|member| member.key == "model_type" && is_text(member))
    }
}

impl Member {
    /// Whether it holds settings of quantization, by its own name or by those inside. Models that are
    /// not language models have other things under such keys: a codec of sound quantizes, too.
    fn is_settings(&self) -> bool {
        let known = ["bits", "group_size", "quant_method", "quant_algo", "config_groups"];
        let inside = self.object.iter().flat_map(|object| &object.members);
        self.key.ends_with("_config") || inside.into_iter().any(|m| known.contains(&&*m.key))
    }
}

struct Editor<'a> {
    change: &'a Change<'a>,
    text: &'a [u8],
    /// Stretches of the text, and what takes their place. They do not overlap.
    edits: Vec<(Range<usize>, String)>,
    changed: Changed,
}

impl Editor<'_> {
    /// Changes the config of a model, and those of models in it.
    fn model(&mut self, object: &Object, path: &str, is_language: bool) {
        let gone = self.remove(object, path, is_language);
        for (member, gone) in object.members.iter().zip(&gone) {
            if *gone {
                continue;
            }
            let key = &*member.key;
            if TYPE_KEYS.contains(&key) && (is_language || gone_any(&self.changed, path)) {
                self.name_type(member, path);
            }
            let inner = member.object.as_ref();
            if let Some(inner) = inner.filter(|o| is_inner_model(key, || o.has_type(self.text))) {
                let is_language = is_language && LANGUAGE.contains(&key);
                self.model(inner, &format!("{path}{key}."), is_language);
            }
        }
    }

    /// Removes members; says of each whether it goes.
    fn remove(&mut self, object: &Object, path: &str, is_language: bool) -> Vec<bool> {
        let is_added = |key: &str| path.is_empty() && self.change.added.iter().any(|a| a.0 == key);
        let goes = |member: &Member| {
            let is_ours = is_language || member.is_settings();
            self.change.removed.contains(&&*member.key) && is_ours || is_added(&member.key)
        };
        let gone: Vec<bool> = object.members.iter().map(goes).collect();
        for (member, _) in object.members.iter().zip(&gone).filter(|(_, gone)| **gone) {
            let key = format!("{path}{}", member.key);
            if !self.changed.removed.contains(&key) && !is_added(&member.key) {
                self.changed.removed.push(key);
            }
        }
        let cuts = cuts(object, &gone);
        self.edits.extend(cuts.into_iter().map(|cut| (cut, String::new())));
        gone
    }

    /// Names the type that the weights have now.
    fn name_type(&mut self, member: &Member, path: &str) {
        let Some(named) = self.change.dtype else { return };
        let Some(before) = string(&self.text[member.value.clone()]) else { return };
        if before != named {
            self.edits.push((member.value.clone(), format!("\"{named}\"")));
            let key = format!("{path}{}", member.key);
            self.changed.changed.push(ChangedKey { key, from: Some(before), to: named.to_owned() });
        }
    }

    /// Adds keys at the end of the config.
    fn add(&mut self, object: &Object) {
        if self.change.added.is_empty() {
            return;
        }
        let is_added = |key: &str| self.change.added.iter().any(|(added, _)| *added == key);
        let stays = |m: &&Member| !self.change.removed.contains(&&*m.key) && !is_added(&m.key);
        let mut last = object.members.iter().rfind(stays).map(|member| member.at.end);
        // What stands before the first key stands before each that is added.
        let first = object.members.first().map_or(object.at.start + 1, |member| member.at.start);
        let space = String::from_utf8_lossy(&self.text[object.at.start + 1..first]).into_owned();
        let mut text = String::new();
        for (key, value) in self.change.added {
            let comma = if last.is_some() { "," } else { "" };
            let value = if space.contains('\n') {
                format!("{value:#}").replace('\n', &space)
            } else {
                value.to_string()
            };
            text.push_str(&format!("{comma}{space}{}: {value}", Json::from(*key)));
            last = last.or(Some(object.at.start + 1));
            self.changed.changed.push(ChangedKey { key: (*key).to_owned(), from: None, to: value });
        }
        let at = last.unwrap_or(object.at.start + 1);
        self.edits.push((at..at, text));
    }
}

/// Whether a key directly under a path was removed.
fn gone_any(changed: &Changed, path: &str) -> bool {
    let inside = |key: &String| key.strip_prefix(path).is_some_and(|rest| !rest.contains('.'));
    changed.removed.iter().any(inside)
}

/// The stretches to cut out of an object for the members that go: each takes the comma along that
/// separates it from the next, or else from the one before.
fn cuts(object: &Object, gone: &[bool]) -> Vec<Range<usize>> {
    let (members, mut cuts, mut next) = (&object.members, Vec::new(), 0);
    while let Some(first) = (next..members.len()).find(|&index| gone[index]) {
        next = (first..members.len()).find(|&index| !gone[index]).unwrap_or(members.len());
        let before = first.checked_sub(1).map(|index| members[index].at.end);
        cuts.push(match (members.get(next), before) {
            (Some(after), _) => members[first].at.start..after.at.start,
            (None, Some(before)) => before..members[next - 1].at.end,
            (None, None) => object.at.start + 1..object.at.end - 1,
        });
    }
    cuts
}

/// What a string says; `None` for other values.
fn string(value: &[u8]) -> Option<String> {
    serde_json::from_slice(value).ok()
}

/// Finds where things stand in a text that was read before.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    /// The object that a text is, after its byte order mark.
    fn document(mut self) -> Option<Object> {
        self.at = self.text.iter().position(|byte| *byte == b'{')?;
        self.object()
    }

    fn object(&mut self) -> Option<Object> {
        let start = self.at;
        self.expect(b'{')?;
        let mut members = Vec::new();
        while self.peek()? != b'}' {
            let at = self.at;
            self.string()?;
            let key = string(&self.text[at..self.at])?;
            self.peek()?;
            self.expect(b':')?;
            self.peek()?;
            let value = self.at;
            let object = self.value()?;
            members.push(Member { key, at: at..self.at, value: value..self.at, object });
            if self.peek()? == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Some(Object { at: start..self.at, members })
    }

    /// Goes past a value.
    fn value(&mut self) -> Option<Option<Object>> {
        match *self.text.get(self.at)? {
            b'{' => return Some(Some(self.object()?)),
            b'[' => {
                self.at += 1;
                while self.peek()? != b']' {
                    match self.text[self.at] {
                        b',' => self.at += 1,
                        _ => drop(self.value()?),
                    }
                }
                self.at += 1;
            }
            b'"' => self.string()?,
            _ => {
                let ends = |byte: &u8| b",]}".contains(byte) || byte.is_ascii_whitespace();
                self.at += self.text[self.at..].iter().position(ends)?;
            }
        }
        Some(None)
    }

    /// Goes past a string.
    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            match *self.text.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }

    /// The next byte that is not a space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        Some(self.text[self.at])
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.text.get(self.at) == Some(&byte)).then(|| self.at += 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    const KEYS: [&str; 2] = ["quantization_config", "quantization"];

    fn plain(removed: &'static [&'static str], dtype: Option<&'static str>) -> Change<'static> {
        Change { removed, dtype, added: &[] }
    }

    /// The text that becomes of another; `None` if it stays.
    fn text(before: &str, with: &Change<'_>) -> Option<String> {
        let changed = change(before.as_bytes(), with).unwrap()?;
        Some(String::from_utf8(changed.text).unwrap())
    }

    /// Removes one key in the middle, at the end, at the start, alone; what is left is untouched.
    #[test]
    fn what_is_left_keeps_its_bytes() {
        let with = plain(&KEYS, None);
        let left = |before: &str| text(before, &with).unwrap();
        let start = "\u{feff}{\r\n\t\"a\" : [1e-06, -0.0, 0.30000000000000004441,  1E+5],\r\n\t";
        let end = "\"b\": {\"x\": [{}, [] ], \"n\": 123456789012345678901234567890}}\n\n";
        let section = "\"quantization_config\": {\"bits\": 4, \"q\": [\"}\", \"\\\"\", NaN]}";
        assert_eq!(left(&format!("{start}{section},\r\n\t{end}")), format!("{start}{end}"));
        let last =
            "{\n  \"a\": Infinity,\n  \"quantization_config\": {\n    \"b\": -Infinity\n  }\n}\n";
        assert_eq!(left(last), "{\n  \"a\": Infinity\n}\n");
        assert_eq!(left("{\"quantization\": 1, \"a\": NaN}"), "{\"a\": NaN}");
        assert_eq!(left("{ \"quantization\": 1 }"), "{}");
        // Keys may be spelled in other ways, and stand there more than once.
        assert_eq!(
            left(r#"{"quantization\u005fconfig": 1,"a": 2 ,"quantization": []}"#),
            r#"{"a": 2}"#
        );
        let twice = r#"{"quantization": 1, "quantization": {}, "b": 3, "quantization": null}"#;
        assert_eq!(left(twice), r#"{"b": 3}"#);
        assert_eq!(text("{\"a\": [\"quantization\"]}", &with), None);
    }

    #[test]
    fn keys_go_from_every_model_inside_and_from_nothing_else() {
        let before = r#"{"thinker_config": {"text_config": {"quantization_config": {}, "a": 1}},
            "decoder": {"model_type": "x", "quantization_config": {}},
            "codec": {"quantization": {"levels": 8}}, "list": [{"quantization": 1}],
            "codec_config": {"quantization": {"levels": 8}},
            "llm_config": {"quantization_config": {"text_config": 1}}}"#;
        let after = r#"{"thinker_config": {"text_config": {"a": 1}},
            "decoder": {"model_type": "x"},
            "codec": {"quantization": {"levels": 8}}, "list": [{"quantization": 1}],
            "codec_config": {"quantization": {"levels": 8}},
            "llm_config": {}}"#;
        let changed = change(before.as_bytes(), &plain(&KEYS, None)).unwrap().unwrap();
        assert_eq!(String::from_utf8(changed.text).unwrap(), after);
        let removed = ["thinker_config.text_config", "decoder", "llm_config"];
        assert_eq!(changed.removed, removed.map(|under| format!("{under}.quantization_config")));
    }

    #[test]
    fn the_type_is_named_where_it_is_that_of_the_weights() {
        let before = r#"{"torch_dtype": "float16", "dtype": null, "text_config": {"dtype":"float16"},
            "vision_config": {"dtype": "float32"}, "audio_config": {"dtype": "float32", "quantization": {"bits": 4}}}"#;
        let after = r#"{"torch_dtype": "bfloat16", "dtype": null, "text_config": {"dtype":"bfloat16"},
            "vision_config": {"dtype": "float32"}, "audio_config": {"dtype": "bfloat16"}}"#;
        let with = plain(&KEYS, Some("bfloat16"));
        assert_eq!(text(before, &with).as_deref(), Some(after));
        assert_eq!(text(after, &with), None);
        let changed = change(before.as_bytes(), &with).unwrap().unwrap().changed;
        let keys: Vec<_> = changed.iter().map(|new| &*new.key).collect();
        assert_eq!(keys, ["torch_dtype", "text_config.dtype", "audio_config.dtype"]);
        assert_eq!(changed[0].from.as_deref(), Some("float16"));
    }

    #[test]
    fn what_is_added_takes_the_place_of_what_was_there() {
        let new = serde_json::json!({ "m": "new" });
        let added = [("quantization_config", &new)];
        let with = Change { removed: &KEYS, dtype: None, added: &added };
        let before = "{\n  \"quantization_config\": 4,\n  \"a\": 1\n}\n";
        let after = "{\n  \"a\": 1,\n  \"quantization_config\": {\n    \"m\": \"new\"\n  }\n}\n";
        assert_eq!(text(before, &with).as_deref(), Some(after));
        let short = r#"{"a":1}"#;
        let after = r#"{"a":1,"quantization_config": {"m":"new"}}"#;
        assert_eq!(text(short, &with).as_deref(), Some(after));
        assert_eq!(text("{}", &with).unwrap(), r#"{"quantization_config": {"m":"new"}}"#);
        assert_eq!(
            text(r#"{"quantization": 1}"#, &with).unwrap(),
            r#"{"quantization_config": {"m":"new"}}"#
        );
    }

    /// A document made of random pieces, with random spaces, and what it says without the keys.
    struct Random(Noise);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0.below(end)
        }

        fn space(&mut self) -> &'static str {
            ["", " ", "\n\t", "\r\n  "][usize::try_from(self.below(4)).unwrap()]
        }

        fn value(&mut self, depth: u64) -> String {
            match self.below(if depth == 0 { 5 } else { 7 }) {
                0 => "\"}],:{[\\\"\\\\\"".to_owned(),
                1 => "-1.50e-07".to_owned(),
                2 => "\"quantization\"".to_owned(),
                3 => "null".to_owned(),
                4 => "{}".to_owned(),
                5 => {
                    let items: Vec<_> = (0..self.below(4)).map(|_| self.value(depth - 1)).collect();
                    format!("[{}{}{}]", self.space(), items.join(","), self.space())
                }
                _ => self.object(depth - 1),
            }
        }

        fn object(&mut self, depth: u64) -> String {
            let keys = ["a", "quantization", "text_config", "quantization_config", "b c"];
            let mut members = Vec::new();
            for _ in 0..self.below(6) {
                let key = keys[usize::try_from(self.below(5)).unwrap()];
                let (before, after) = (self.space(), self.space());
                members.push(format!(
                    "{before}\"{key}\"{after}:{}{}",
                    self.space(),
                    self.value(depth)
                ));
            }
            format!("{{{}{}}}", members.join(&format!("{},", self.space())), self.space())
        }
    }

    /// What a document says without the keys, by way of its values.
    fn without(json: &mut Json) {
        let Some(members) = json.as_object_mut() else { return };
        KEYS.iter().for_each(|key| drop(members.shift_remove(*key)));
        members.get_mut("text_config").into_iter().for_each(without);
    }

    #[test]
    fn random_documents_lose_the_keys_and_nothing_else() {
        let mut random = Random(Noise(7));
        for _ in 0..4000 {
            let before = random.object(3);
            let mut expected: Json = serde_json::from_str(&before).unwrap();
            without(&mut expected);
            let after = text(&before, &plain(&KEYS, None)).unwrap_or_else(|| before.clone());
            let found: Json =
                serde_json::from_str(&after).unwrap_or_else(|e| panic!("{e}: {after}"));
            assert_eq!(found, expected, "{before}");
        }
    }

    #[test]
    fn what_is_no_config_is_refused() {
        for text in ["", "[]", "{\"a\": 1", "{\"a\": nan}", "{\"a\": 1} 2"] {
            assert!(change(text.as_bytes(), &plain(&KEYS, None)).is_err(), "{text}");
        }
    }
}
