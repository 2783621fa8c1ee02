//! The mixtures of llama-quantize: whole models in ggml's block types.
//!
//! A file type gives most weights one type and some another, by what they do in the model, by the
//! block they are in and by how many came before. Names are those of GGUF. Every decision is that
//! of llama-quantize (llama.cpp with ggml 0.25.3): `decide.rs` makes it from names and shapes
//! alone, with the tables in `rules.rs`, `untouched.rs` and `types.rs`; what is here makes
//! encoders of it.

mod category;
mod decide;
mod facts;
mod file_types;
mod notes;
mod rules;
mod sizes;
#[cfg(test)]
mod tests;
mod types;
mod untouched;

use std::sync::{Arc, LazyLock};

use decide::{Decision, Decisions};
use file_types::{FILE_TYPES, FileType};
use notes::Notes;

use super::{BlockEncoder, nvfp4_with_scale, scales};
use crate::blocks::Block;
use crate::catalog::Value;
use crate::dtype::StoredType;
use crate::error::{Error, Result};
use crate::framework::{
    Candidate, Chosen, Encoder, Even, Importance, QuantizeWishes, Quantizer, Request,
    TypeAssignment,
};

/// The version of the block types that files state.
const QUANTIZATION_VERSION: u64 = 2;

/// A quantizer for each file type.
pub(super) fn all() -> &'static [&'static dyn Quantizer] {
    static ALL: LazyLock<Vec<&'static dyn Quantizer>> =
        LazyLock::new(|| FILE_TYPES.iter().map(|file| file as _).collect());
    &ALL
}

/// The type that each weight gets from the quantizer of that name, `None` for those that stay as
/// they are; or why there is none.
pub fn types_of(quantizer: &str, request: &Request<'_>) -> Result<Vec<Option<&'static str>>> {
    let is_it = |file: &&FileType| file.name.eq_ignore_ascii_case(quantizer);
    let no_such = || Error::usage("unknown quantizer");
    let file = FILE_TYPES.iter().find(is_it).ok_or_else(no_such)?;
    let types = decide::decide(file, request)?.types;
    Ok(types.into_iter().map(|decision| decision.map(|of| of.becomes)).collect())
}

impl Quantizer for FileType {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    /// Any file may hold any type: by its rules, by its shapes, or because users ask for it.
    fn types(&self) -> Vec<StoredType> {
        types::TYPES.into_iter().filter_map(types::stored).collect()
    }

    fn needs_configs(&self) -> bool {
        false
    }

    fn takes_types(&self) -> bool {
        true
    }

    fn choose(&self, request: &Request<'_>) -> Result<Chosen> {
        self.refuse_other_wishes(request.wishes)?;
        let Decisions { types, order } = decide::decide(self, request)?;
        let mut notes = Notes::default();
        let decided = request.weights.iter().zip(&types);
        let changes: Vec<Option<Change>> = decided
            .map(|(weight, decision)| self.change(request, weight, *decision, &mut notes))
            .collect::<Result<_>>()?;
        // What is wrong with the request comes first, then what this version cannot do.
        let weights = request.weights.iter().zip(changes);
        let fates = weights
            .map(|(weight, change)| {
                let is_asked = (request.asked)(weight.name).is_some();
                let change = change
                    .map(|change| self.with_scale(request, weight, change, is_asked, &mut notes));
                fate(change).map_err(|error| error.in_tensor(weight.name))
            })
            .collect::<Result<_>>()?;
        let metadata = vec![
            ("general.quantization_version".to_owned(), Value::Unsigned(32, QUANTIZATION_VERSION)),
            ("general.file_type".to_owned(), Value::Unsigned(32, self.id.into())),
        ];
        let mut notes = notes.into_lines();
        if self.name == MXFP4 {
            notes.push(MXFP4_NOTE.to_owned());
        }
        Ok(Chosen { fates, metadata, notes, order: Some(order), ..Chosen::default() })
    }

    fn alternatives(&self, request: &Request<'_>, at: usize) -> Vec<Arc<dyn Encoder>> {
        sizes::alternatives(request, at)
    }

    fn described(&self, fates: &[TypeAssignment], request: &Request<'_>) -> Vec<(String, Value)> {
        sizes::described(fates, request)
    }
}

/// A weight that does not stay as it is: its type, and the importance of its columns.
type Change = (&'static str, Option<Arc<dyn Importance>>);

impl FileType {
    /// What changes about a weight, if its type does.
    fn change(
        &self,
        request: &Request<'_>,
        weight: &Candidate<'_>,
        decision: Option<Decision>,
        notes: &mut Notes,
    ) -> Result<Option<Change>> {
        let Some(decision) = decision.filter(|of| !is_stored_as(weight, of.becomes)) else {
            return Ok(None);
        };
        if let Some(wanted) = decision.instead_of {
            notes.another_type(weight.name, wanted, decision.becomes);
        }
        let importance = self.importance(request, weight, decision.becomes, notes);
        let importance = importance.map_err(|error| error.in_tensor(weight.name))?;
        Ok(Some((decision.becomes, importance)))
    }

    /// Block types have groups of their own, and one layout unless their names say otherwise.
    fn refuse_other_wishes(&self, wishes: &QuantizeWishes) -> Result<()> {
        let refused = match wishes {
            QuantizeWishes { layout: Some(_), .. } if !self.name.ends_with(GGML) => "a layout",
            QuantizeWishes { group_size: Some(_), .. } => "a group size",
            _ => return Ok(()),
        };
        Err(Error::usage(format!("ggml block types do not take {refused}")))
    }

    /// Four-bit floats are stored with a scale of the whole weight beside them, unless ggml's own
    /// layout is asked for. Weights whose scale no program would apply get another type, unless
    /// users ask for this one: then it is as ggml makes it.
    fn with_scale(
        &self,
        request: &Request<'_>,
        weight: &Candidate<'_>,
        change: Change,
        is_asked: bool,
        notes: &mut Notes,
    ) -> Change {
        let (becomes, importance) = change;
        if becomes != WITHOUT_SCALE || self.name.ends_with(GGML) {
            return (becomes, importance);
        }
        let architecture = (request.metadata)("general.architecture");
        let architecture = architecture.as_ref().and_then(Value::as_str);
        if scales::is_common(weight.name) && scales::is_applied(architecture, weight.name) {
            (WITH_SCALE, importance)
        } else if is_asked {
            (becomes, importance)
        } else {
            notes.another_type(weight.name, becomes, "Q8_0");
            ("Q8_0", importance)
        }
    }

    /// The importance of a weight's columns, or why it must not be encoded without.
    fn importance(
        &self,
        request: &Request<'_>,
        weight: &Candidate<'_>,
        becomes: &str,
        notes: &mut Notes,
    ) -> Result<Option<Arc<dyn Importance>>> {
        let known = checked_importance(request, weight, notes)?;
        let by_rule = types::needs_importance(becomes, self.rules) && !is_looked_up(weight.name);
        if known.is_some() || !types::is_blocks(becomes) {
            return Ok(known);
        }
        let by_coding = || {
            let block = Block::from_name(becomes).and_then(BlockEncoder::of);
            block.is_some_and(|encoder| encoder.needs_importance()) && !request.wishes.thorough
        };
        if by_rule || by_coding() {
            let reason = if request.wishes.has_importance {
                "the given one does not cover it"
            } else {
                "none was given"
            };
            return Err(Error::usage(format!(
                "{becomes} needs an importance matrix, but {reason}"
            ))
            .hint("create one with llama.cpp's llama-imatrix"));
        }
        if request.wishes.has_importance && types::takes_importance(becomes) {
            notes.without_importance(weight.name);
        }
        let columns = weight.shape.last().and_then(|columns| usize::try_from(*columns).ok());
        let even = columns.filter(|_| request.wishes.thorough).map(|columns| Even { columns });
        Ok(even.map(|even| Arc::new(even) as _))
    }
}

/// The importance that is known of a weight, which must have one number for each column of each
/// matrix. A matrix that tokens are looked up in was never multiplied with all of its rows: what is
/// said of it counts only if it fits.
fn checked_importance(
    request: &Request<'_>,
    weight: &Candidate<'_>,
    notes: &mut Notes,
) -> Result<Option<Arc<dyn Importance>>> {
    let Some(known) = (request.importance)(weight.name) else { return Ok(None) };
    let mut sizes = weight.shape.iter().rev();
    let columns = sizes.next().copied().unwrap_or(1);
    let matrices = sizes.nth(1).copied().unwrap_or(1);
    let len = known.len()? as u64;
    if columns.checked_mul(matrices) == Some(len) {
        return Ok(Some(known));
    }
    if category::Category::of(weight.name) == category::Category::Embedding {
        notes.other_importance(weight.name);
        return Ok(None);
    }
    Err(Error::usage(format!(
        "the importance matrix has {len} values for it, but it has {columns} columns{}",
        if matrices > 1 { format!(" in each of {matrices} matrices") } else { String::new() }
    ))
    .hint("the importance matrix belongs to another model"))
}

/// Whether a weight is exempt from the need of importance: it is looked up, or the last one.
fn is_looked_up(name: &str) -> bool {
    use category::Category::{Embedding, Output};
    matches!(category::Category::of(name), Embedding | Output)
}

/// Whether a weight is stored in that type already.
fn is_stored_as(weight: &Candidate<'_>, name: &str) -> bool {
    weight.block.unwrap_or(weight.dtype.name()) == name
}

/// The type whose scales do not reach small numbers, what it is called with a scale beside it, and
/// the layout without one.
const WITHOUT_SCALE: &str = "NVFP4";
const WITH_SCALE: &str = "NVFP4+scale";
const GGML: &str = "-ggml";

/// A file type that llama-quantize does not have: it stores only experts as MXFP4.
const MXFP4: &str = "MXFP4-ggml";
const MXFP4_NOTE: &str = "in GGUF files, MXFP4 is the ggml type (file type MXFP4_MOE), used for \
                          every matrix except the output; type MXFP4_MOE uses it for experts only, \
                          and Q8_0 for the rest";

/// What becomes of a weight that changes.
fn fate(change: Option<Change>) -> Result<TypeAssignment> {
    let Some((becomes, importance)) = change else { return Ok(TypeAssignment::Keep) };
    if becomes == WITH_SCALE {
        let none = || Error::unsupported("unknown type NVFP4");
        return nvfp4_with_scale().ok_or_else(none).map(TypeAssignment::Encode);
    }
    match types::stored(becomes) {
        Some(StoredType::Element(dtype)) => Ok(TypeAssignment::Cast(dtype)),
        Some(StoredType::Block(block)) => encoder(block, importance).map(TypeAssignment::Encode),
        _ => Err(Error::unsupported(format!("unknown type {becomes}"))),
    }
}

/// What stores a weight in blocks of a type.
fn encoder(
    block: &'static Block,
    importance: Option<Arc<dyn Importance>>,
) -> Result<Arc<dyn Encoder>> {
    let encoder = BlockEncoder::of(block).ok_or_else(|| {
        Error::unsupported(format!("storing weights as {} is not supported", block.name))
    })?;
    let important = importance.and_then(|importance| encoder.with_importance(importance));
    Ok(important.unwrap_or_else(|| Arc::new(encoder)))
}
