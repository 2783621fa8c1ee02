//! Which tensors a projector's file has, and from which weights each of them is made.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::facts::Facts;
use super::folded::Norms;
use super::needed::check_widths;
use super::padded::Padded;
use super::projector::{Forced, Layers, Projector};
use super::rows::{How, Part, Row};
use crate::catalog::{Shape, Value};
use crate::error::{Error, Result};
use crate::families::{computed, pattern};
use crate::names::{Named, encoder_of};
use crate::view::View;

/// What becomes of the weights of a model.
pub struct Translation {
    /// The tensors of the file, in the order in which llama.cpp's converter writes them.
    pub tensors: Vec<Tensor>,
    /// Weights of the encoders that the file does not have, and why.
    pub left_out: Vec<(usize, String)>,
    /// How many weights belong to the language model.
    pub others: usize,
}

/// A tensor of the file.
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its shape, outermost dimension first.
    pub shape: Shape,
    /// What it is made of.
    pub made_of: MadeOf,
}

/// What a tensor is made of.
pub enum MadeOf {
    /// These numbers of these weights, one after the other.
    Weights(Vec<(usize, View)>),
    /// Numbers that follow from the config or from small weights.
    Numbers(Vec<f32>),
}

/// The type of a tensor of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// That of the file.
    Own,
    /// F32.
    Single,
    /// F16.
    Half,
    /// F16 in a file of F16, else F32.
    HalfOrSingle,
}

/// A stack that is being put together: its shape without the outermost dimension, and its weights.
#[derive(Default)]
struct Stack {
    shape: Shape,
    pieces: BTreeMap<u64, Vec<(usize, View)>>,
    last: usize,
}

/// Translates a model. `order` has all of its weights, in the order in which the converter meets them.
pub fn translate(projector: &Projector, facts: &Facts<'_>, order: &[usize]) -> Result<Translation> {
    let (mut left_out, mut others) = (Vec::new(), 0);
    let (mut found, mut stacks) = (Vec::new(), HashMap::<String, Stack>::new());
    let (mut norms, mut padded) = (Norms::default(), Padded::default());
    for (at, &index) in order.iter().enumerate() {
        let Named { name, shape } = facts.from.weights[index];
        if let Some(reason) = projector.leaves_out(name) {
            left_out.push((index, reason.to_owned()));
            continue;
        }
        let Some(own) = projector.own_name(facts, name)? else {
            if is_encoder(name) {
                return Err(projector.unknown_name(name));
            }
            others += 1;
            continue;
        };
        if let Some(reason) = (projector.leaves_out)(facts, &own) {
            left_out.push((index, reason.to_owned()));
            continue;
        }
        let row = projector.row(&own).ok_or_else(|| projector.unknown_name(name))?;
        if let (How::Folded, Some(end)) = (row.row.2, &row.end) {
            norms.add(row.norm(), end, (index, at));
            continue;
        }
        if let (How::Padded, Some(&place)) = (row.row.2, row.numbers.last()) {
            padded.add(&row.target(0), place, (index, at))?;
            continue;
        }
        let misshapen = || {
            Error::malformed(format!("shape {shape:?} does not match config.json")).in_tensor(name)
        };
        if let How::Read(read) = row.row.2 {
            let numbers = (facts.from.numbers)(index)?;
            let (shape, numbers) = read(facts, shape, &numbers).ok_or_else(misshapen)?;
            let (shape, made_of) = (shape.as_slice().into(), MadeOf::Numbers(numbers));
            found.push((at, Tensor { name: row.target(0), shape, made_of }));
            continue;
        }
        let parts = row.parts(facts, shape).ok_or_else(misshapen)?;
        for part in parts {
            let name = row.target(part.tensor);
            let pieces = part.views.iter().map(|view| (index, view.clone())).collect();
            match part.stacked.or(row.place()) {
                Some(place) => stack(&mut stacks, (name, at), (place, pieces), &part)?,
                None => {
                    let made_of = row.made_of(facts, index, pieces)?;
                    found.push((at, Tensor { name, shape: part.shape, made_of }));
                }
            }
        }
    }
    found.extend(stacks.into_iter().map(stacked).collect::<Result<Vec<_>>>()?);
    found.extend(norms.folded(facts)?);
    found.extend(padded.stacked(facts)?);
    found.sort_by_key(|(at, _)| *at);
    let computed = (projector.computed)(facts)?.into_iter().map(|tensor| Tensor {
        name: tensor.name.to_owned(),
        shape: tensor.shape.as_slice().into(),
        made_of: MadeOf::Numbers(tensor.numbers),
    });
    let tensors: Vec<Tensor> =
        computed.chain(found.into_iter().map(|(_, tensor)| tensor)).collect();
    refuse_twins(&tensors)?;
    Ok(Translation { tensors, left_out, others })
}

/// Parts of names that only those of encoders have, beside those of vision models.
const ENCODERS: &[&str] =
    &["audio_tower.", "audio_encoder.", "sound_encoder.", "speech_encoder.", "embed_audio."];

fn is_encoder(name: &str) -> bool {
    encoder_of(name).is_some() || ENCODERS.iter().any(|part| name.contains(part))
}

fn stack(
    stacks: &mut HashMap<String, Stack>,
    (name, at): (String, usize),
    (place, pieces): (u64, Vec<(usize, View)>),
    part: &Part,
) -> Result<()> {
    let own = stacks.entry(name.clone()).or_default();
    if !own.pieces.is_empty() && own.shape != part.shape {
        return Err(Error::malformed("its parts have different shapes").in_tensor(&name));
    }
    (own.last, own.shape) = (at, part.shape.clone());
    match own.pieces.insert(place, pieces) {
        None => Ok(()),
        Some(_) => Err(Error::malformed(format!("part {place} is there twice")).in_tensor(&name)),
    }
}

fn stacked((name, stack): (String, Stack)) -> Result<(usize, Tensor)> {
    let missing = (0..).zip(stack.pieces.keys()).find(|(wanted, found)| wanted != *found);
    if let Some((number, _)) = missing {
        return Err(Error::malformed(format!("part {number} is missing")).in_tensor(&name));
    }
    let mut shape = stack.shape;
    shape.insert(0, stack.pieces.len() as u64);
    let made_of = MadeOf::Weights(stack.pieces.into_values().flatten().collect());
    Ok((stack.last, Tensor { name, shape, made_of }))
}

fn refuse_twins(tensors: &[Tensor]) -> Result<()> {
    let mut seen = BTreeSet::new();
    match tensors.iter().find(|tensor| !seen.insert(&*tensor.name)) {
        Some(twin) => {
            let message = "several weights become this tensor of the GGUF file";
            Err(Error::malformed(message).in_tensor(&twin.name))
        }
        None => Ok(()),
    }
}

/// A row that a weight was found in.
struct Found {
    row: &'static Row,
    numbers: Vec<u64>,
    end: Option<String>,
}

impl Found {
    fn parts(&self, facts: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
        self.row.2.parts(facts, shape, self.row.1.len())
    }

    /// The name of one of its tensors.
    fn target(&self, tensor: usize) -> String {
        let mut name = self.module(tensor);
        self.end.iter().for_each(|end| name.extend([".", end]));
        name
    }

    /// Its place in a stack.
    fn place(&self) -> Option<u64> {
        self.numbers.last().copied().filter(|_| matches!(self.row.2, How::Stacked))
    }

    /// The norm that it is a vector of.
    fn norm(&self) -> String {
        self.module(0)
    }

    fn module(&self, tensor: usize) -> String {
        let (mut name, mut numbers) = (String::new(), self.numbers.iter());
        for letter in self.row.1.get(tensor).copied().unwrap_or_default().chars() {
            match letter {
                '#' => name.push_str(&numbers.next().map(u64::to_string).unwrap_or_default()),
                letter => name.push(letter),
            }
        }
        name
    }

    fn made_of(
        &self,
        facts: &Facts<'_>,
        index: usize,
        pieces: Vec<(usize, View)>,
    ) -> Result<MadeOf> {
        let How::Numbers(change) = self.row.2 else { return Ok(MadeOf::Weights(pieces)) };
        let numbers = (facts.from.numbers)(index)?;
        Ok(MadeOf::Numbers(numbers.into_iter().map(change).collect()))
    }
}

impl Projector {
    fn leaves_out(&self, name: &str) -> Option<&'static str> {
        let (below, _) = pattern(name);
        let found = self.left_out.iter().find(|(start, _)| below.starts_with(start));
        found.map(|(_, what)| *what).or_else(|| computed(name))
    }

    /// What rows call a weight; none if it belongs to the language model.
    fn own_name(&self, facts: &Facts<'_>, name: &str) -> Result<Option<String>> {
        let known =
            |(start, own): &(&str, &str)| Some(format!("{own}{}", name.strip_prefix(start)?));
        let Some(own) = self.starts.iter().find_map(known) else { return Ok(None) };
        Ok(Some((self.rename)(facts, &own)?.unwrap_or(own)))
    }

    fn row(&self, name: &str) -> Option<Found> {
        let rows = || self.rows.iter().copied().flatten();
        let (whole, numbers) = pattern(name);
        if let Some(row) = rows().find(|row| row.0 == whole) {
            return Some(Found { row, numbers, end: None });
        }
        let (module, end) = name.rsplit_once('.').filter(|(_, end)| self.ends.contains(end))?;
        let (module, numbers) = pattern(module);
        let row = rows().find(|row| row.0 == module)?;
        Some(Found { row, numbers, end: Some(end.to_owned()) })
    }

    fn unknown_name(&self, name: &str) -> Error {
        let message = format!("the projector class `{}` has no weight with this name", self.shown);
        Error::unsupported(message).in_tensor(name)
    }

    /// The type that a tensor of the file has.
    #[must_use]
    pub fn wanted(&self, name: &str, shape: &[u64]) -> Wanted {
        const PATCHES: [&str; 2] = [".patch_embd.weight", ".patch_merger.weight"];
        const POSITIONS: [&str; 2] = ["v.position_embd.weight", "a.position_embd.weight"];
        let (own, _) = pattern(name);
        let is_it = |entry: &&(&str, Forced)| match entry.0.strip_suffix('*') {
            Some(start) => own.starts_with(start),
            None => own == entry.0,
        };
        let forced = self.forced.iter().find(is_it).map(|(_, forced)| *forced);
        let is_patch = PATCHES.iter().any(|part| name.contains(part));
        match forced.or(is_patch.then_some(Forced::HalfOrSingle)) {
            _ if shape.len() <= 1 || name.ends_with("_norm.weight") => Wanted::Single,
            Some(Forced::Single) => Wanted::Single,
            Some(Forced::Half) => Wanted::Half,
            Some(Forced::HalfOrSingle) => Wanted::HalfOrSingle,
            None if !name.ends_with(".weight") || POSITIONS.contains(&name) => Wanted::Single,
            None => Wanted::Own,
        }
    }

    /// An error unless there are tensors, for as many layers as the entries state.
    pub fn check(&self, tensors: &[Tensor], entries: &[(String, Value)]) -> Result<()> {
        let names: Vec<&str> = tensors.iter().map(|tensor| &*tensor.name).collect();
        if names.is_empty() {
            return Err(Error::malformed(format!(
                "there are no weights of a {} projector",
                self.shown
            )));
        }
        self.check_parts(tensors, entries)?;
        if self.has_width {
            check_widths(tensors, entries)?;
        }
        if self.layers == Layers::Any {
            return Ok(());
        }
        for (start, key) in
            [("v.blk.", "clip.vision.block_count"), ("a.blk.", "clip.audio.block_count")]
        {
            let stated = entries.iter().find(|(own, _)| own == key);
            let stated = stated.and_then(|(_, value)| value.as_u64()).unwrap_or(0);
            check_layers(&names, start, stated, self.layers)?;
        }
        Ok(())
    }
}

fn check_layers(names: &[&str], start: &str, stated: u64, asked: Layers) -> Result<()> {
    let mut layers = BTreeMap::<u64, BTreeSet<&str>>::new();
    for name in names {
        let own = name.strip_prefix(start).and_then(|rest| rest.split_once('.'));
        if let Some((number, rest)) =
            own.and_then(|(layer, rest)| Some((layer.parse().ok()?, rest)))
        {
            layers.entry(number).or_default().insert(rest);
        }
    }
    let encoder = if start.starts_with('v') { "vision" } else { "audio" };
    if let Some((missing, _)) = (0..stated).zip(0..).find(|(layer, _)| !layers.contains_key(layer))
    {
        return Err(Error::malformed(format!(
            "the config states {stated} {encoder} layers, but layer {missing} has no weights; a shard \
             may be missing"
        )));
    }
    if let Some(last) =
        layers.keys().next_back().filter(|last| asked != Layers::AtLeast && **last >= stated)
    {
        return Err(Error::malformed(format!(
            "the config states {stated} {encoder} layers, but layer {last} has weights"
        )));
    }
    let mut all = layers.iter();
    let Some((_, first)) = all.next().filter(|_| asked != Layers::Counted) else { return Ok(()) };
    match all.find(|(_, own)| *own != first) {
        Some((layer, own)) => {
            let odd = own.symmetric_difference(first).next().copied().unwrap_or_default();
            Err(Error::malformed(format!(
                "{encoder} layers 0 and {layer} have different weights: only one has `{odd}`"
            )))
        }
        None => Ok(()),
    }
}
