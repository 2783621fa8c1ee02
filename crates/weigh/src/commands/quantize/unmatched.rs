//! Notes on quantization rules that match no weight of the output.

use regex::Regex;
use weighbridge::internals::text::escaped;
use weighbridge::ops::{Conversion, ConvertReport};

use super::How;

/// Names of weights in GGUF files that a flag sets the type of.
const OUTPUT: &str = "output.weight";
const EMBEDDING: &str = "token_embd.weight";

impl How {
    /// Notes rules without a match, and types that a target size overrides.
    pub(crate) fn unmatched(&self, planned: &Conversion) -> Vec<String> {
        let names = planned.output_names();
        let types = self.tensor_type.iter().map(|(rule, _)| ("--tensor-type", rule));
        let rules = self.keep.iter().map(|rule| ("--keep", rule)).chain(types);
        let mut notes: Vec<String> =
            rules.filter_map(|(flag, rule)| unmatched(flag, rule, &names)).collect();
        // Without an output matrix, mixtures give its type to the embedding.
        let has = |wanted: &str| names.iter().any(|(name, _)| name == wanted);
        let has_output = has(OUTPUT) || has(EMBEDDING) && !self.pure && !self.is_for_a_size();
        let kinds = [
            ("--output-tensor-type", &self.output_tensor_type, OUTPUT, has_output),
            ("--token-embedding-type", &self.token_embedding_type, EMBEDDING, has(EMBEDDING)),
        ];
        for (flag, asked, wanted, is_there) in kinds {
            let Some(asked) = asked else { continue };
            if !is_there {
                notes.push(format!("{flag} has no effect: the output has no `{wanted}`"));
            } else if let Some(chosen) = self.overridden(asked, wanted, planned.report()) {
                let rule = wanted.replace('.', r"\.");
                notes.push(format!(
                    "{flag} has no effect: the target size stores `{wanted}` as {chosen}; \
                     `--tensor-type '^{rule}$={asked}'` sets its type"
                ));
            }
        }
        notes
    }

    /// The type that a target size chooses for a weight instead of another.
    fn overridden<'r>(
        &self,
        asked: &str,
        wanted: &str,
        report: &'r ConvertReport,
    ) -> Option<&'r str> {
        let mut weights = report.quantized.iter().flat_map(|quantized| &quantized.weights);
        let weight = weights.find(|weight| weight.name == wanted && self.is_for_a_size())?;
        (!weight.to.eq_ignore_ascii_case(asked)).then_some(&*weight.to)
    }
}

fn unmatched(flag: &str, rule: &Regex, names: &[(String, Vec<String>)]) -> Option<String> {
    if names.iter().any(|(name, _)| rule.is_match(name)) {
        return None;
    }
    let count = names.len();
    let plural = if count == 1 { "name" } else { "names" };
    let text = escaped(rule.as_str());
    let mut note = format!("{flag} '{text}' matches none of {count} {plural} in the output");
    let stored = names.iter().flat_map(|(name, stored)| stored.iter().map(move |of| (of, name)));
    if let Some((stored, name)) = stored.into_iter().find(|(stored, _)| rule.is_match(stored)) {
        note = format!("{note}; `{}` is `{}` there", escaped(stored), escaped(name));
    }
    Some(note)
}
