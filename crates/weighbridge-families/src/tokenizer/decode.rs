//! What the decoder of a tokenizer makes of a single added token.

use serde_json::Value as Json;

use super::encode::from_bytes;
use super::files::steps_of;

/// One step of a decoder.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Letters that stand for bytes become these bytes.
    Bytes,
    Replace(String, String),
    /// At most so many of a letter at the start and at the end are taken away.
    Strip(char, usize, usize),
    /// Like a replacement, after which a space in front goes away.
    Metaspace(String),
}

#[derive(Debug, Default)]
pub(super) struct Decoder(Vec<Step>);

impl Decoder {
    /// Steps that change no text of a single token are left out.
    pub fn read(decoder: &Json) -> Self {
        Self(steps_of(decoder, "decoders").iter().filter_map(step).collect())
    }

    pub fn decode(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, step| step.apply(&text))
    }
}

fn step(step: &Json) -> Option<Step> {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let count = |key: &str| usize::try_from(step[key].as_u64().unwrap_or(0)).unwrap_or(0);
    match step["type"].as_str()? {
        "ByteLevel" => Some(Step::Bytes),
        "Replace" => {
            Some(Step::Replace(text(&step["pattern"]["String"])?, text(&step["content"])?))
        }
        "Strip" => {
            let letter = step["content"].as_str()?.chars().next()?;
            Some(Step::Strip(letter, count("start"), count("stop")))
        }
        "Metaspace" => Some(Step::Metaspace(text(&step["replacement"]).unwrap_or("▁".to_owned()))),
        _ => None,
    }
}

impl Step {
    fn apply(&self, text: &str) -> String {
        match self {
            Self::Bytes => from_bytes(text),
            Self::Replace(from, _) if from.is_empty() => text.to_owned(),
            Self::Replace(from, to) => text.replace(&**from, to),
            Self::Strip(letter, start, stop) => {
                let front = text.chars().take_while(|c| c == letter).count().min(*start);
                let letters: Vec<char> = text.chars().skip(front).collect();
                let back = letters.iter().rev().take_while(|c| *c == letter).count().min(*stop);
                letters[..letters.len() - back].iter().collect()
            }
            Self::Metaspace(mark) => {
                let spaced = text.replace(&**mark, " ");
                spaced.strip_prefix(' ').unwrap_or(&spaced).to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn letters_become_the_bytes_they_stand_for() {
        let decoder = Decoder::read(&json!({ "type": "ByteLevel" }));
        assert_eq!(decoder.decode("ĠaĊ"), " a\n");
        assert_eq!(decoder.decode("<é>"), "<\u{fffd}>");
        assert_eq!(decoder.decode("<｜x｜>"), "<｜x｜>");
        assert_eq!(decoder.decode("  "), "  ");
    }

    #[test]
    fn a_sequence_runs_in_its_order() {
        let steps = json!({ "type": "Sequence", "decoders": [
            { "type": "Replace", "pattern": { "String": "▁" }, "content": " " },
            { "type": "ByteFallback" }, { "type": "Fuse" },
            { "type": "Strip", "content": " ", "start": 1, "stop": 0 },
        ] });
        assert_eq!(Decoder::read(&steps).decode("▁▁x▁"), " x ");
        assert_eq!(Decoder::read(&json!(null)).decode("▁x"), "▁x");
    }
}
