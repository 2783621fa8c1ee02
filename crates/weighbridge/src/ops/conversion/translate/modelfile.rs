//! A `Modelfile` for Ollama: where the model is, how a conversation is put to it, where it stops.
//!
//! Ollama's templates are written in another language than the chat templates of GGUF files. Those
//! forms of conversation that most models share are known here by the marks they are made of. Of any
//! other nothing is said: Ollama then looks at the chat template in the file itself.

use crate::catalog::Value;
use crate::containers::writing::MetadataValue;
use crate::tokenizer::{ENDS, TOKENS};

/// The name that Ollama looks for.
pub(in crate::ops) const NAME: &str = "Modelfile";

/// A form of conversation: what stands before and behind what each side says.
struct Form {
    /// What the chat template of such a model has in it, all of it.
    marks: &'static [&'static str],
    system: [&'static str; 2],
    user: [&'static str; 2],
    assistant: [&'static str; 2],
    /// Where an answer ends.
    stops: &'static [&'static str],
}

/// The forms that are known; the first that fits is taken.
const FORMS: &[Form] = &[
    Form {
        marks: &["<|im_start|>", "<|im_end|>"],
        system: ["<|im_start|>system\n", "<|im_end|>\n"],
        user: ["<|im_start|>user\n", "<|im_end|>\n"],
        assistant: ["<|im_start|>assistant\n", "<|im_end|>\n"],
        stops: &["<|im_start|>", "<|im_end|>"],
    },
    Form {
        marks: &["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
        system: ["<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"],
        user: ["<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"],
        assistant: ["<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"],
        stops: &["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
    },
    Form {
        marks: &["<|header_start|>", "<|header_end|>", "<|eot|>"],
        system: ["<|header_start|>system<|header_end|>\n\n", "<|eot|>"],
        user: ["<|header_start|>user<|header_end|>\n\n", "<|eot|>"],
        assistant: ["<|header_start|>assistant<|header_end|>\n\n", "<|eot|>"],
        stops: &["<|header_start|>", "<|eot|>"],
    },
    Form {
        marks: &["<start_of_turn>", "<end_of_turn>"],
        // Gemma has no turn for the system: what it says stands before the first question.
        system: ["<start_of_turn>user\n", "\n\n"],
        user: ["<start_of_turn>user\n", "<end_of_turn>\n"],
        assistant: ["<start_of_turn>model\n", "<end_of_turn>\n"],
        stops: &["<start_of_turn>", "<end_of_turn>"],
    },
    Form {
        marks: &["<|user|>", "<|assistant|>", "<|end|>"],
        system: ["<|system|>\n", "<|end|>\n"],
        user: ["<|user|>\n", "<|end|>\n"],
        assistant: ["<|assistant|>\n", "<|end|>\n"],
        stops: &["<|user|>", "<|assistant|>", "<|end|>"],
    },
    Form {
        marks: &["<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"],
        system: ["<|start_of_role|>system<|end_of_role|>", "<|end_of_text|>\n"],
        user: ["<|start_of_role|>user<|end_of_role|>", "<|end_of_text|>\n"],
        assistant: ["<|start_of_role|>assistant<|end_of_role|>", "<|end_of_text|>\n"],
        stops: &["<|start_of_role|>", "<|end_of_text|>"],
    },
    Form {
        marks: &["<|START_OF_TURN_TOKEN|>", "<|USER_TOKEN|>", "<|END_OF_TURN_TOKEN|>"],
        system: ["<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>", "<|END_OF_TURN_TOKEN|>"],
        user: ["<|START_OF_TURN_TOKEN|><|USER_TOKEN|>", "<|END_OF_TURN_TOKEN|>"],
        assistant: ["<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"],
        stops: &["<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"],
    },
];

/// The text of the file for a model in the file `model`, whose metadata is this.
pub(in crate::ops) fn text(model: &str, metadata: &[(String, MetadataValue)]) -> String {
    let find = |wanted: &str| {
        let entry = metadata.iter().find(|(key, _)| key == wanted);
        entry.and_then(|(_, value)| value.value())
    };
    let mut text = first_line(model);
    let template = find("tokenizer.chat_template").and_then(Value::as_str).unwrap_or_default();
    let form = FORMS.iter().find(|form| form.marks.iter().all(|mark| template.contains(mark)));
    let mut stops: Vec<&str> = form.map(|form| form.stops.to_vec()).unwrap_or_default();
    match form {
        Some(form) => text.push_str(&format!("TEMPLATE {}\n", quoted(&form.template()))),
        None => text.push_str("# The form of a conversation is the chat template of the file.\n"),
    }
    for stop in ENDS.into_iter().filter_map(|key| token(key, &find)) {
        // A token may be anything, and a quote would end the value.
        let is_plain = !stop.contains(|letter: char| letter == '"' || letter.is_control());
        if is_plain && !stops.contains(&stop) {
            stops.push(stop);
        }
    }
    for (parameter, value) in sampling(&find) {
        text.push_str(&format!("PARAMETER {parameter} {value}\n"));
    }
    for stop in stops {
        text.push_str(&format!("PARAMETER stop {}\n", quoted(stop)));
    }
    text
}

/// The line that says which model it is about.
pub(in crate::ops) fn first_line(model: &str) -> String {
    format!("FROM {}\n", quoted(&format!("./{model}")))
}

impl Form {
    /// In the language of Ollama's templates, which is Go's.
    fn template(&self) -> String {
        let [before_system, behind_system] = self.system;
        let [before_user, behind_user] = self.user;
        let [before_answer, behind_answer] = self.assistant;
        // Where the system has no turn of its own, the question goes on with what it began.
        let is_one_turn = before_system == before_user;
        let question = if is_one_turn {
            format!(
                "{{{{ if .Prompt }}}}{before_user}{{{{ if .System }}}}{{{{ .System }}}}\
                 {behind_system}{{{{ end }}}}{{{{ .Prompt }}}}{behind_user}{{{{ end }}}}"
            )
        } else {
            format!(
                "{{{{ if .System }}}}{before_system}{{{{ .System }}}}{behind_system}{{{{ end }}}}\
                 {{{{ if .Prompt }}}}{before_user}{{{{ .Prompt }}}}{behind_user}{{{{ end }}}}"
            )
        };
        format!("{question}{before_answer}{{{{ .Response }}}}{behind_answer}")
    }
}

/// The text of the token whose id stands under a key.
fn token<'v>(key: &str, find: &impl Fn(&str) -> Option<&'v Value>) -> Option<&'v str> {
    let id = usize::try_from(find(key)?.as_u64()?).ok()?;
    match find(TOKENS)? {
        Value::List(tokens) => tokens.get(id)?.as_str(),
        Value::Packed(tokens) => tokens.text(id),
        _ => None,
    }
}

/// How answers are chosen, as far as the model says it.
fn sampling<'v>(find: &impl Fn(&str) -> Option<&'v Value>) -> Vec<(&'static str, String)> {
    const KEYS: [(&str, &str); 5] = [
        ("general.sampling.temp", "temperature"),
        ("general.sampling.top_p", "top_p"),
        ("general.sampling.top_k", "top_k"),
        ("general.sampling.min_p", "min_p"),
        ("general.sampling.penalty_repeat", "repeat_penalty"),
    ];
    let shown = |value: &Value| match value {
        Value::F32(number) if number.is_finite() => Some(number.to_string()),
        Value::Signed(_, number) => Some(number.to_string()),
        _ => None,
    };
    let found = KEYS.iter().filter_map(|(key, name)| Some((*name, find(key).and_then(shown)?)));
    found.collect()
}

/// A value of a Modelfile. What has lines or quotes in it stands between three quotes.
fn quoted(value: &str) -> String {
    if value.contains(['\n', '"']) {
        format!("\"\"\"{value}\"\"\"")
    } else {
        format!("\"{value}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(template: &str) -> Vec<(String, MetadataValue)> {
        let tokens = ["<a>", "<|im_end|>", "<|endoftext|>"].map(Value::text).to_vec();
        [
            ("general.sampling.temp", Value::F32(0.7)),
            ("general.sampling.top_k", Value::Signed(32, 20)),
            ("tokenizer.ggml.tokens", Value::List(tokens)),
            ("tokenizer.ggml.eos_token_id", Value::Unsigned(32, 1)),
            ("tokenizer.ggml.eot_token_id", Value::Unsigned(32, 2)),
            ("tokenizer.chat_template", Value::text(template)),
        ]
        .map(|(key, value)| (key.to_owned(), MetadataValue::Value(value)))
        .to_vec()
    }

    #[test]
    fn a_known_form_is_written_with_its_stops() {
        let written = text("a model", &metadata("{{ '<|im_start|>' }} .. <|im_end|>"));
        let expected = "FROM \"./a model\"\nTEMPLATE \"\"\"{{ if .System }}<|im_start|>system\n\
            {{ .System }}<|im_end|>\n{{ end }}{{ if .Prompt }}<|im_start|>user\n{{ .Prompt }}\
            <|im_end|>\n{{ end }}<|im_start|>assistant\n{{ .Response }}<|im_end|>\n\"\"\"\n\
            PARAMETER temperature 0.7\nPARAMETER top_k 20\nPARAMETER stop \"<|im_start|>\"\n\
            PARAMETER stop \"<|im_end|>\"\nPARAMETER stop \"<|endoftext|>\"\n";
        assert_eq!(written, expected);
    }

    #[test]
    fn a_token_cannot_say_more_than_itself() {
        let mut metadata = metadata("");
        let tokens = ["<a>", "\"\"\"\nFROM other", "</s>"].map(Value::text).to_vec();
        metadata[2].1 = MetadataValue::Value(Value::List(tokens));
        let written = text("a model", &metadata);
        assert_eq!((written.matches("FROM").count(), written.matches("stop").count()), (1, 1));
    }

    #[test]
    fn an_unknown_form_is_left_to_the_file() {
        let written = text("a model", &metadata("{% for message in messages %}"));
        assert!(!written.contains("TEMPLATE") && written.contains("stop \"<|im_end|>\""));
    }

    #[test]
    fn a_system_without_a_turn_stands_in_the_question() {
        let written = text("a model", &metadata("<start_of_turn> <end_of_turn>"));
        assert!(written.contains(
            "{{ if .Prompt }}<start_of_turn>user\n{{ if .System }}{{ .System }}\n\n{{ end }}\
             {{ .Prompt }}<end_of_turn>\n{{ end }}<start_of_turn>model\n{{ .Response }}"
        ));
    }

    /// No form hides another one: each is found by its own marks.
    #[test]
    fn forms_are_told_apart() {
        for form in FORMS {
            let written = text("x", &metadata(&form.marks.join(" ")));
            assert!(written.contains(&form.template()), "{:?}", form.marks);
        }
    }
}
