//! The type of every weight, by its name: what llama-quantize decides before it reads a number.

use super::category::{self, Category, PER_LAYER};
use super::facts::Facts;
use super::file_types::FileType;
use super::rules::{self, Case};
use super::{types, untouched};
use crate::error::{Error, Result};
use crate::framework::{Candidate, Request};

/// What is decided about all weights.
pub(super) struct Decisions {
    /// The type of each weight, where it does not stay as it is.
    pub(super) types: Vec<Option<Decision>>,
    /// The order in which weights are written.
    pub(super) order: Vec<usize>,
}

/// The type that a weight gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// Its name.
    pub(super) becomes: &'static str,
    /// The one it should have had, if its rows are no whole blocks of that.
    pub(super) instead_of: Option<&'static str>,
}

/// Decides about every weight of a model.
pub(super) fn decide(file: &FileType, request: &Request<'_>) -> Result<Decisions> {
    let order = category::order(request.weights.iter().map(|weight| weight.name));
    let mut state = State::new(file, request)?;
    let mut types = vec![None; request.weights.len()];
    for &at in &order {
        let weight = &request.weights[at];
        if !state.stays(weight) {
            let decision = state.decide(weight).map_err(|error| error.in_tensor(weight.name))?;
            types[at] = Some(decision);
        }
    }
    Ok(Decisions { types, order })
}

/// The model, and how many weights of some kinds have been decided about.
struct State<'a> {
    file: &'a FileType,
    request: &'a Request<'a>,
    facts: Facts,
    /// Types that users ask for, as the table spells them.
    output: Option<&'static str>,
    embedding: Option<&'static str>,
    /// Whether tokens are looked up in the last matrix.
    is_tied: bool,
    values: i64,
    values_seen: i64,
    downs_seen: i64,
    gates_seen: i64,
    ups_seen: i64,
}

impl<'a> State<'a> {
    fn new(file: &'a FileType, request: &'a Request<'a>) -> Result<Self> {
        let facts = Facts::of(request.metadata)?;
        let asked = |name: &Option<String>| name.as_deref().map(types::named).transpose();
        let of = |wanted: Category| {
            request.weights.iter().filter(move |weight| Category::of(weight.name) == wanted).count()
        };
        Ok(Self {
            file,
            request,
            facts,
            output: asked(&request.wishes.output_type)?,
            embedding: asked(&request.wishes.embedding_type)?,
            is_tied: of(Category::Output) == 0,
            values: i64::try_from(of(Category::Values)).unwrap_or(i64::MAX),
            values_seen: 0,
            downs_seen: 0,
            gates_seen: 0,
            ups_seen: 0,
        })
    }

    /// Whether a weight keeps its type, whatever is wanted.
    fn stays(&self, weight: &Candidate<'_>) -> bool {
        let is_number = weight.block.is_some() || weight.dtype.is_float();
        !is_number
            || (self.request.keeps)(weight.name)
            || untouched::stays(weight.name, weight.shape, &self.facts.architecture)
    }

    fn decide(&mut self, weight: &Candidate<'_>) -> Result<Decision> {
        let category = Category::of(weight.name);
        let asked =
            (self.request.asked)(weight.name).map(|name| types::named(&name)).transpose()?;
        let whole = |becomes| Ok(Decision { becomes, instead_of: None });
        // What is asked for by kind is taken as it is. Per-layer embeddings can be named apart.
        if let (Some(becomes), Category::Embedding) = (self.embedding, category)
            && !(weight.name == PER_LAYER && asked.is_some())
        {
            return whole(becomes);
        }
        if let (Some(becomes), Category::Output) = (self.output, category) {
            return whole(becomes);
        }
        let base = self.file.base;
        if !types::is_blocks(base) {
            return whole(base);
        }
        let wanted = match asked {
            Some(asked) => asked,
            None if self.request.wishes.pure => base,
            None => self.mixed(weight, category)?,
        };
        let columns = weight.shape.last().copied().unwrap_or(1);
        let becomes = types::fitting(wanted, columns).ok_or_else(|| {
            Error::unsupported(format!(
                "row length {columns} is not a multiple of the {wanted} block size ({}), and \
                 {wanted} has no fallback type",
                types::block_len(wanted)
            ))
        })?;
        Ok(Decision { becomes, instead_of: (becomes != wanted).then_some(wanted) })
    }

    /// The type that a weight has in the mixture.
    fn mixed(&mut self, weight: &Candidate<'_>, category: Category) -> Result<&'static str> {
        let (file, base) = (self.file.rules, self.file.base);
        if self.facts.architecture == "glm5-next" && stays_at_eight_bits(weight.name) {
            return Ok("Q8_0");
        }
        let last = category == Category::Output;
        if last || category == Category::Embedding && self.is_tied {
            let columns = weight.shape.last().copied().unwrap_or(1);
            let fits = types::fits(base, columns);
            let chosen = rules::of_output(file, base, self.is_falcon(), fits);
            return Ok(self.output.unwrap_or(chosen));
        }
        if file == "MXFP4_MOE" {
            return Ok(if self.is_experts(weight, category) { "MXFP4" } else { "Q8_0" });
        }
        let case = self.case(weight.name, category)?;
        let becomes = rules::mixed(file, category, &case).unwrap_or(base);
        let is_raised = category == Category::Values
            && self.facts.is_70b
            && !rules::has_few_bits(file)
            && matches!(becomes, "Q3_K" | "Q4_K");
        Ok(if is_raised { "Q5_K" } else { becomes })
    }

    /// What the rules look at, for one weight, which is counted.
    fn case(&mut self, name: &str, category: Category) -> Result<Case> {
        let file = self.file.rules;
        let seen = match category {
            Category::Down => &mut self.downs_seen,
            Category::Gate => &mut self.gates_seen,
            Category::Up => &mut self.ups_seen,
            Category::Values => &mut self.values_seen,
            _ => &mut 0,
        };
        let before = *seen;
        *seen += 1;
        let is_forward = matches!(category, Category::Down | Category::Gate | Category::Up);
        // Experts are not always in the order of their blocks.
        let by_name = is_forward && self.facts.experts > 1 && !rules::has_few_bits(file);
        let layers =
            if by_name || rules::asks_for_layers(file) { self.facts.layers()? } else { 0 };
        let layer = if by_name { layer_of(name, layers)? } else { before };
        Ok(Case {
            layer,
            layers,
            value: before,
            values: self.values,
            heads_a_value: self.facts.heads_a_value,
            experts: self.facts.experts,
            has_importance: self.request.wishes.has_importance,
            is_falcon: self.is_falcon(),
        })
    }

    fn is_falcon(&self) -> bool {
        self.facts.architecture == "falcon"
    }

    /// Whether a weight is a stack of experts. One architecture has other stacks as well.
    fn is_experts(&self, weight: &Candidate<'_>, category: Category) -> bool {
        let is_forward = matches!(category, Category::Down | Category::Gate | Category::Up);
        let is_stack = weight.shape.iter().rev().nth(2).is_some_and(|count| *count > 1);
        is_stack && (is_forward || self.facts.architecture != "bailingmoe3")
    }
}

/// The block that a weight is in, of so many.
fn layer_of(name: &str, layers: i64) -> Result<i64> {
    let layer = category::block_of(name)
        .ok_or_else(|| Error::unsupported("cannot choose a type: its name has no block number"))?;
    if layer >= layers {
        let message =
            format!("it is in block {layer}, but the metadata says there are {layers} blocks");
        return Err(Error::malformed(message));
    }
    Ok(layer)
}

/// Weights of one architecture that keep eight bits.
fn stays_at_eight_bits(name: &str) -> bool {
    ["attn_q_a", "attn_q_b", "nextn.eh_proj"].iter().any(|part| name.contains(part))
}
