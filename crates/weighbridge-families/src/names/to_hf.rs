//! Which weights the repository of a GGUF model has, under Hugging Face's names, and from which
//! tensors each of them is made: the rows of `to_gguf`, read backwards.
//!
//! Of several rows that name the same tensor the first one counts: it is the form in which
//! transformers saves a model.

use std::collections::BTreeSet;

use super::grouped::Groups;
use super::parsed::{Parsed, numbered, parsed};
use super::to_gguf::{Tensor, Translation};
use super::view::{Matrix, Rows, View};
use super::{Dialect, Facts, Named, Side};
use crate::change::Change;
use crate::error::{Error, Remedy, Result};
use crate::families::{FAMILIES, Family, How, Row, Told, computed};

/// Modules whose names are those of their numbers: nothing stands behind them.
#[rustfmt::skip]
const BARE: &[&str] = &[
    ".sinks", ".e_score_correction_bias", ".expert_bias", ".experts.gate_up_proj", ".experts.gate_up_proj_bias",
    ".experts.down_proj", ".experts.down_proj_bias",
];

/// Convolutions of one kernel a channel: a repository has one more dimension, of one, in between.
const KERNELS: &[&str] = &[".conv.conv"];

/// Whether a repository has a weight in F32, whatever the others are.
pub fn keeps_single(name: &str) -> bool {
    name.ends_with(".e_score_correction_bias")
}

/// Whether models of an architecture have no output head of their own, unless their config says so.
pub fn is_tied(architecture: &str) -> bool {
    FAMILIES.iter().any(|family| family.tied && family.is_called(architecture))
}

/// Translates the names of a GGUF file. Every layer has to be there, with all of its tensors.
pub fn to_hf(side: &Side<'_>) -> Result<Translation> {
    let names: Vec<String> = side.weights.iter().map(|weight| weight.name.to_owned()).collect();
    let facts = Facts::of(side, &names);
    let unstated = "the file does not state its architecture";
    let family = facts.known_family(Dialect::Gguf, "architecture", unstated)?;
    let family = of_file(family, side);
    let back = Back { facts: &facts, family, side };
    if back.family.pairs && facts.heads.is_none() {
        let message = "the file does not state its number of attention heads";
        return Err(Error::malformed(message).remedy(Remedy::KeepNames));
    }
    let mut translation = Translation { tensors: Vec::new(), left_out: Vec::new() };
    for (index, &Named { name, .. }) in side.weights.iter().enumerate() {
        match computed(name) {
            Some(what) => translation.left_out.push((index, what.to_owned())),
            None => translation.tensors.extend(back.tensors(index)?),
        }
    }
    super::layers::check(side, &facts, back.family)?;
    refuse_equal_names(&translation.tensors)?;
    Ok(translation)
}

/// The family of a file, of those with one architecture.
fn of_file(family: &'static Family, side: &Side<'_>) -> &'static Family {
    let value = |key: &str| side.metadata.iter().find(|(known, _)| *known == key);
    let told = Told {
        metadata: &|key| value(key).map(|(_, value)| (*value).clone()),
        keys: side.metadata.iter().map(|(key, _)| *key).collect(),
        tensors: side.weights.iter().map(|weight| (weight.name, weight.shape)).collect(),
        numbers: &|_| Ok(None),
    };
    let is_it = |other: &&Family| {
        other.architecture == family.architecture
            && other.back.as_ref().is_some_and(|back| (back.is)(&told))
    };
    FAMILIES.iter().find(is_it).unwrap_or(family)
}

fn refuse_equal_names(tensors: &[Tensor]) -> Result<()> {
    let mut known = BTreeSet::new();
    tensors.iter().find(|tensor| !known.insert(&tensor.name)).map_or(Ok(()), |twice| {
        Err(Error::malformed("two output tensors would have this name").in_tensor(&twice.name))
    })
}

const NOT_TOGETHER: &str = "recombining its experts is not supported";

struct Back<'a> {
    facts: &'a Facts,
    family: &'static Family,
    side: &'a Side<'a>,
}

impl Back<'_> {
    /// What a tensor becomes: one weight, or those of all experts; nothing if it is the second half
    /// of a weight.
    fn tensors(&self, index: usize) -> Result<Vec<Tensor>> {
        let Named { name, shape } = self.side.weights[index];
        let found = parsed(name);
        let refused = |error: Error| error.in_tensor(name).remedy(Remedy::KeepNames);
        let Some(row) = self.row(&found) else {
            let family = self.family.shown();
            let message = format!("the model family `{family}` has no tensor with this name");
            return Err(refused(Error::unsupported(message)));
        };
        let heads = match row.2 {
            How::Query if self.family.pairs => self.facts.heads,
            How::Key if self.family.pairs => self.facts.kv_heads.or(self.facts.heads),
            _ => None,
        };
        let odd = |what: &str| refused(Error::malformed(format!("shape {shape:?} {what}")));
        let whole = View::whole(shape);
        let view = match (row.2, heads) {
            (How::Expert, _) => {
                let experts = self.experts(index, row, &found);
                return experts.ok_or_else(|| odd("is not an expert stack"));
            }
            (How::KeyValue, _) if found.module.ends_with(".attn_kv_b") => whole,
            (How::KeyValue, _) => return self.key_value(index, row, &found),
            (How::Grouped, _) => return self.grouped(index, row, &found),
            (How::Experts, _) if row.1.len() == 1 => whole,
            (How::Stacked, _) => return self.stacked(index, row, &found),
            (How::Across | How::InTurn, _) if row.1.len() <= 2 => {
                return self.across(index, row, &found);
            }
            (How::Experts | How::Across | How::InTurn | How::Heads, _) => {
                return Err(refused(Error::unsupported(NOT_TOGETHER)));
            }
            (How::Own(_), _) if KERNELS.iter().any(|end| row.0.ends_with(end)) => whole,
            (How::Own(_), _) => {
                let message = "restoring its layout is not supported yet";
                return Err(refused(Error::unsupported(message)));
            }
            (How::Halved, _) => {
                let message = "doubling its numbers again is not supported yet";
                return Err(refused(Error::unsupported(message)));
            }
            (How::Linear(_) | How::Decay, _) => {
                let message = "restoring the order of its value heads is not supported yet";
                return Err(refused(Error::unsupported(message)));
            }
            (_, Some(heads)) => {
                let view = whole.by_heads(heads, true);
                view.ok_or_else(|| odd(&format!("is not divisible into {heads} heads")))?
            }
            (How::Norm, _) if found.ending == ".weight" && self.family.norm_add != 0.0 => {
                View { change: Change::Add(-self.family.norm_add), ..whole }
            }
            (How::Transposed, _) => whole.transpose().unwrap_or(whole),
            (How::Plain | How::Query | How::Key | How::Qkv, _)
            | (How::Norm | How::Embedding | How::EmbeddingCopy | How::Positions, _) => whole,
        };
        let shape = match row.2 {
            How::Transposed => view.shape.clone(),
            How::Own(_) => match *shape {
                [channels, width] => [channels, 1, width].into_iter().collect(),
                _ => return Err(odd("is not a kernel for each channel")),
            },
            _ => shape.into(),
        };
        let name = self.weight_name(row, &found, None);
        Ok(vec![Tensor { name, shape, pieces: vec![(index, view)], turns: 1 }])
    }

    /// The row that names a tensor.
    fn row(&self, found: &Parsed) -> Option<&'static Row> {
        let rows = self.family.rows.iter().copied().flatten();
        let whole = name_of(found);
        let is_named = rows.clone().any(|row| row.1.contains(&&*found.module));
        if found.module.ends_with(".attn_qkv") && !is_named {
            return rows.into_iter().find(|row| matches!(row.2, How::Qkv | How::Grouped));
        }
        if found.module.ends_with(".attn_kv_b") {
            return rows.into_iter().find(|row| row.2 == How::KeyValue);
        }
        // A bias that has a row of its own is no bias of what has its module's name.
        if let Some(own) = rows.clone().find(|row| row.1.contains(&&*whole)) {
            return Some(own);
        }
        // What is several tensors at once is not what a single one is called.
        let names = |row: &&Row| row.1.contains(&&*found.module);
        let is_one = |row: &&Row| row.1.len() == 1 || row.2 == How::KeyValue;
        let skipped = usize::from(self.is_second(found));
        let mut ones = rows.clone().filter(|row| names(row) && is_one(row));
        ones.nth(skipped).or_else(|| rows.into_iter().find(names))
    }

    /// Whether of the rows that name a tensor the second one counts.
    fn is_second(&self, found: &Parsed) -> bool {
        let has = |name: &str| self.side.weights.iter().any(|weight| weight.name == name);
        let second = self.family.back.as_ref().map_or(&[][..], |back| back.second);
        second.iter().any(|(module, other)| *module == found.module && has(&numbered(other, &[0])))
    }

    /// The weights of all experts, from the stack that they are.
    fn experts(&self, index: usize, row: &Row, found: &Parsed) -> Option<Vec<Tensor>> {
        let (&count, each) = self.side.weights[index].shape.split_first()?;
        let rows = match *each {
            [_] => 1,
            [rows, _] => rows,
            _ => return None,
        };
        let expert = |number: u64| {
            let view = View::part(each, number.checked_mul(rows)?);
            let name = self.weight_name(row, found, Some(number));
            Some(Tensor { name, shape: each.into(), pieces: vec![(index, view)], turns: 1 })
        };
        (count <= super::stacks::MOST).then(|| (0..count).map(expert).collect())?
    }

    /// The tensors that a row names with a tensor, all of one shape; none if it is not the first.
    fn stacks(&self, index: usize, row: &Row, found: &Parsed) -> Result<Vec<usize>> {
        let name = self.side.weights[index].name;
        let is_first = |which: &&str| found.module == **which || name_of(found) == **which;
        if !row.1.first().is_some_and(is_first) {
            return Ok(Vec::new());
        }
        let of_shape = |which: &&str| {
            let ending = if which.ends_with(".bias") { "" } else { found.ending };
            let other = numbered(which, &found.numbers) + ending;
            let at = self.side.weights.iter().position(|weight| weight.name == other);
            let at = at.filter(|at| self.side.weights[*at].shape == self.side.weights[index].shape);
            let message = format!("{other} with the same shape is missing");
            at.ok_or_else(|| Error::malformed(message).in_tensor(name))
        };
        row.1.iter().map(of_shape).collect()
    }

    /// Matrices of all experts in one weight: of each expert those of all stacks.
    fn stacked(&self, index: usize, row: &Row, found: &Parsed) -> Result<Vec<Tensor>> {
        let Named { name, shape } = self.side.weights[index];
        let stacks = self.stacks(index, row, found)?;
        if stacks.is_empty() {
            return Ok(Vec::new());
        }
        let shape = <[u64; 3]>::try_from(shape).ok();
        let Some([count, rows, columns]) =
            shape.filter(|[count, ..]| *count <= super::stacks::MOST)
        else {
            return Err(Error::malformed("its shape is not an expert stack").in_tensor(name));
        };
        let of_expert = |number: u64| {
            let part = move |at: &usize| (*at, View::part(&[rows, columns], number * rows));
            stacks.iter().map(part)
        };
        let pieces = (0..count).flat_map(of_expert).collect();
        let shape = [count, rows.saturating_mul(stacks.len() as u64), columns];
        let name = self.weight_name(row, found, None);
        Ok(vec![Tensor { name, shape: shape.into_iter().collect(), pieces, turns: 1 }])
    }

    /// Matrices of all experts in one weight, each transposed; of two stacks, or of the vectors of
    /// two, the numbers take turns.
    fn across(&self, index: usize, row: &Row, found: &Parsed) -> Result<Vec<Tensor>> {
        let name = self.side.weights[index].name;
        let stacks = self.stacks(index, row, found)?;
        if stacks.is_empty() {
            return Ok(Vec::new());
        }
        let turns = stacks.len() as u64;
        let (shape, pieces): (Vec<u64>, Vec<_>) = match *self.side.weights[index].shape {
            [count, rows, columns] if count <= super::stacks::MOST => {
                let transposed = |at: usize| {
                    (0..count).map(move |number| {
                        let matrix = Matrix { first: number * rows, columns };
                        (at, View::across(matrix, [columns, rows], Rows::From(0)))
                    })
                };
                let pieces = stacks.into_iter().flat_map(transposed).collect();
                (vec![count, columns, rows.saturating_mul(turns)], pieces)
            }
            ref shape @ [count, length] => {
                let pieces = stacks.into_iter().map(|at| (at, View::whole(shape))).collect();
                (vec![count, length.saturating_mul(turns)], pieces)
            }
            ref shape => {
                let message = format!("shape {shape:?} is not an expert stack");
                return Err(Error::malformed(message).in_tensor(name));
            }
        };
        if row.2 != How::InTurn && turns != 1 {
            let error = Error::unsupported(NOT_TOGETHER).in_tensor(name);
            return Err(error.remedy(Remedy::KeepNames));
        }
        let name = self.weight_name(row, found, None);
        Ok(vec![Tensor { name, shape: shape.into_iter().collect(), pieces, turns }])
    }

    /// DeepSeek's keys and values in one matrix, head by head. The keys of a head are transposed.
    fn key_value(&self, index: usize, row: &Row, found: &Parsed) -> Result<Vec<Tensor>> {
        let name = self.side.weights[index].name;
        if !found.module.ends_with(".attn_k_b") {
            return Ok(Vec::new());
        }
        let other = name.replace(".attn_k_b.", ".attn_v_b.");
        let values = self.side.weights.iter().position(|weight| weight.name == other);
        let shape = |index: usize| <[u64; 3]>::try_from(self.side.weights[index].shape).ok();
        let shapes = values.and_then(|values| Some((values, shape(index)?, shape(values)?)));
        let fitting = shapes.filter(|(_, [heads, rank, _], [others, _, columns])| {
            heads == others && rank == columns && *heads <= super::stacks::MOST
        });
        let Some((values, [heads, rank, key_rows], [_, value_rows, _])) = fitting else {
            let message = format!("{other} with the values for the same heads is missing");
            return Err(Error::malformed(message).in_tensor(name));
        };
        let pieces = (0..heads).flat_map(|head| {
            let matrix = Matrix { first: head * rank, columns: key_rows };
            let keys = View::across(matrix, [key_rows, rank], Rows::From(0));
            [(index, keys), (values, View::part(&[value_rows, rank], head * value_rows))]
        });
        let shape = [heads * (key_rows + value_rows), rank].into_iter().collect();
        Ok(vec![Tensor {
            name: self.weight_name(row, found, None),
            shape,
            pieces: pieces.collect(),
            turns: 1,
        }])
    }

    /// Queries, keys and values in one weight, group by group, of one tensor or of three.
    fn grouped(&self, index: usize, row: &Row, found: &Parsed) -> Result<Vec<Tensor>> {
        let Named { name, shape } = self.side.weights[index];
        let is_one = found.module.ends_with(".attn_qkv");
        if !is_one && row.1.first().is_none_or(|first| *first != found.module) {
            return Ok(Vec::new());
        }
        let of = |which: &&str| {
            let other = numbered(which, &found.numbers) + found.ending;
            let at = self.side.weights.iter().position(|weight| weight.name == other);
            at.ok_or_else(|| Error::malformed(format!("{other} is missing")).in_tensor(name))
        };
        let tensors = match is_one {
            true => vec![index; 3],
            false => row.1.iter().map(of).collect::<Result<Vec<usize>>>()?,
        };
        let mut whole = shape.to_vec();
        let rows = |at: &usize| self.side.weights[*at].shape.first().copied().unwrap_or(0);
        if let (Some(all), false) = (whole.first_mut(), is_one) {
            *all = tensors.iter().map(rows).fold(0, u64::saturating_add);
        }
        let heads = self.facts.heads.zip(self.facts.kv_heads.or(self.facts.heads));
        let groups = heads.and_then(|(heads, keys)| Groups::of(heads, keys, &whole));
        let pieces = groups.and_then(|groups| groups.together(is_one, self.family.pairs));
        let Some(pieces) = pieces else {
            let message = format!("shape {shape:?} does not have its groups of heads");
            return Err(Error::malformed(message).in_tensor(name).remedy(Remedy::KeepNames));
        };
        let pieces = pieces.into_iter().map(|(at, view)| (tensors[at], view)).collect();
        let name = self.weight_name(row, found, None);
        Ok(vec![Tensor { name, shape: whole.into_iter().collect(), pieces, turns: 1 }])
    }

    /// Hugging Face's name of a weight.
    fn weight_name(&self, row: &Row, found: &Parsed, expert: Option<u64>) -> String {
        let numbers: Vec<u64> = found.numbers.iter().copied().chain(expert).collect();
        let name = numbered(row.0, &numbers);
        let (name, is_outside) = match name.strip_prefix('/') {
            Some(name) => (name.to_owned(), true),
            None => (name, row.0 == "lm_head"),
        };
        let prefix = if is_outside { "" } else { self.family.prefix };
        let is_bare = BARE.iter().any(|end| name.ends_with(end));
        format!("{prefix}{name}{}", if is_bare { "" } else { found.ending })
    }
}

/// A module's name with its ending.
fn name_of(found: &Parsed) -> String {
    format!("{}{}", found.module, found.ending)
}
