//! What users should know about a mixture: one line for each kind of exception.

use super::{WITHOUT_SCALE, types};
use crate::text::escaped;

/// How many names a line shows.
const SHOWN: usize = 3;

/// Exceptions, by kind.
#[derive(Default)]
pub(super) struct Notes {
    /// Weights whose rows are no whole blocks, by the type they should have and the one they get.
    other_types: Vec<((&'static str, &'static str), Vec<String>)>,
    without_importance: Vec<String>,
    other_importance: Vec<String>,
}

impl Notes {
    /// A weight gets another type than it should have.
    pub(super) fn another_type(&mut self, name: &str, wanted: &'static str, becomes: &'static str) {
        let kind = (wanted, becomes);
        match self.other_types.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, names)) => names.push(name.to_owned()),
            None => self.other_types.push((kind, vec![name.to_owned()])),
        }
    }

    /// Importance is known of other weights only.
    pub(super) fn without_importance(&mut self, name: &str) {
        self.without_importance.push(name.to_owned());
    }

    /// What is known of a weight's importance does not fit it, which is usual for this weight.
    pub(super) fn other_importance(&mut self, name: &str) {
        self.other_importance.push(name.to_owned());
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        let mut lines = Vec::new();
        for ((wanted, becomes), names) in &self.other_types {
            let is_one = names.len() == 1;
            let (them, their) = if is_one { ("it", "its") } else { ("them", "their") };
            let reason = match *wanted {
                // Only a missing scale makes these change their type.
                WITHOUT_SCALE => format!("llama.cpp applies no {wanted} scale to {them}"),
                _ => format!(
                    "{their} row length is not a multiple of the {wanted} block size ({})",
                    types::block_len(wanted)
                ),
            };
            lines.push(format!("{} stored as {becomes}: {reason}", listed(names)));
        }
        let reasons = [
            (&self.without_importance, "the importance matrix does not cover"),
            (&self.other_importance, "the importance matrix does not fit"),
        ];
        for (names, reason) in reasons.into_iter().filter(|(names, _)| !names.is_empty()) {
            let them = if names.len() == 1 { "it" } else { "them" };
            lines.push(format!("{} encoded without importance: {reason} {them}", listed(names)));
        }
        lines
    }
}

/// Weights as the subject of a sentence.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(SHOWN).map(|name| format!("`{}`", escaped(name))).collect();
    match names.len() {
        1 => format!("{} is", shown.join("")),
        count if count <= SHOWN => format!("{} are", shown.join(", ")),
        count => format!("{} and {} more are", shown.join(", "), count - SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::Notes;

    #[test]
    fn weights_are_named_and_counted() {
        let mut notes = Notes::default();
        for name in ["a", "b", "c", "d", "e"] {
            notes.another_type(name, "Q4_K", "Q5_0");
        }
        notes.another_type("f", "Q6_K", "F16");
        notes.another_type("h", "NVFP4", "Q8_0");
        notes.without_importance("g\n");
        assert_eq!(
            notes.into_lines(),
            [
                "`a`, `b`, `c` and 2 more are stored as Q5_0: their row length is not a multiple of \
                 the Q4_K block size (256)",
                "`f` is stored as F16: its row length is not a multiple of the Q6_K block size (256)",
                "`h` is stored as Q8_0: llama.cpp applies no NVFP4 scale to it",
                "`g\\n` is encoded without importance: the importance matrix does not cover it",
            ]
        );
    }
}
