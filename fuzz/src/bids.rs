//! What must hold of any model once all schemes have bid for it.

use std::collections::{HashMap, HashSet};

use weighbridge::catalog::{TensorInfo, element_count};
use weighbridge::internals::schemes::{
    Bid, Entry, Evidence, Ledger, Out, Recipe, Registry, SCHEMES, Scheme, TensorId,
};
use weighbridge::internals::source::{Slab, Source};
use weighbridge::{Error, OpenOptions, Result, bf16, f16};

use crate::invent::{Invented, invent};

/// Models of at most so many bytes are written as a file and decoded.
const MOST_CONTENTS: u64 = 256 << 10;
/// Of a row that is decoded, and of what it needs.
const MOST_ROW: u64 = 64 << 10;

/// Settles an invented model twice and holds the outcome to what the ledger promises.
pub fn settle_bids(bytes: &[u8]) {
    let mut model = invent(bytes);
    // Names are unique within a model.
    let mut names = HashSet::new();
    model.tensors.retain(|tensor| names.insert(tensor.name.clone()));
    let small = model.tensors.iter().try_fold(0u64, |sum, t| sum.checked_add(t.bytes));
    match small.filter(|&sum| sum <= MOST_CONTENTS && !model.tensors.is_empty()) {
        Some(_) => with_file(&model),
        None => {
            let catalog = std::iter::once((&model.tensors[..], &model.metadata));
            check(&Evidence::new(catalog, &model.configs, SCHEMES), None);
        }
    }
}

fn with_file(model: &Invented) {
    let Ok(opened) = OpenOptions::new().open_bytes(file(model), "x.safetensors") else {
        return;
    };
    let source = &opened.sources()[0];
    let tensors = &source.catalog().tensors;
    let read = |id: TensorId| -> Result<Vec<u8>> {
        let info = &tensors[id.tensor as usize];
        let mut scratch = Vec::new();
        let staged = source.fetch(info, &Slab::whole(0, 0, info.bytes), &mut scratch)?;
        Ok(staged.bytes().to_vec())
    };
    let catalog = std::iter::once((&tensors[..], &source.catalog().metadata));
    check(&Evidence::new(catalog, &model.configs, SCHEMES).reading(&read), Some(source));
}

/// The model as a file, each tensor filled with the contents over and over.
fn file(model: &Invented) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for tensor in &model.tensors {
        let start = data.len();
        // From the beginning, so that a document may be what a tensor holds.
        let contents = model.contents.iter().copied().chain([0]).cycle();
        data.extend(contents.take(tensor.bytes as usize));
        let shape: Vec<u64> = tensor.shape.iter().copied().collect();
        let entry = serde_json::json!({
            "dtype": tensor.stored.name(), "shape": shape, "data_offsets": [start, data.len()],
        });
        header.insert(tensor.name.to_string(), entry);
    }
    let header = serde_json::Value::from(header).to_string();
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], header.as_bytes(), &data].concat()
}

fn check(evidence: &Evidence<'_>, source: Option<&Source>) {
    let ledger = SCHEMES.settle(evidence);
    let reversed: Vec<&dyn Scheme> = SCHEMES.iter().rev().collect();
    let other = Registry::new(&reversed).settle(evidence);
    assert_eq!(summary(&ledger), summary(&other), "the order of schemes matters");
    every_tensor_ends_once(evidence, &ledger);
    let infos: HashMap<TensorId, &TensorInfo> = evidence.tensors().iter().copied().collect();
    for entry in &ledger.weights {
        let Entry::Scheme(scheme, bid) = entry else { continue };
        let count = element_count(&bid.shape);
        assert!(count.is_some(), "{scheme} makes more of {} than can be counted", bid.name);
        match &bid.recipe {
            Ok(recipe) => check_rows(bid, recipe.as_ref(), &infos, source),
            // Whatever cannot be decoded has been said before.
            Err(reason) => assert!(!reason.is_empty(), "{scheme} refuses {} silently", bid.name),
        }
    }
}

/// Everything that was decided, in an order of its own.
fn summary(ledger: &Ledger) -> Vec<String> {
    let weight = |entry: &Entry| match entry {
        Entry::Plain(id) => format!("plain {id:?}"),
        Entry::Scheme(scheme, bid) => {
            let Bid { name, shape, variant, native, parts, .. } = &**bid;
            format!(
                "{scheme} {name} {shape:?} {variant} {native:?} {parts:?} {}",
                bid.recipe.is_ok()
            )
        }
    };
    let weights = ledger.weights.iter().map(weight);
    let dropped = ledger.dropped.iter().map(|drop| format!("{drop:?}"));
    let findings = ledger.findings.iter().map(|finding| format!("{finding:?}"));
    let mut all: Vec<String> = weights.chain(dropped).chain(findings).collect();
    all.sort();
    all
}

fn every_tensor_ends_once(evidence: &Evidence<'_>, ledger: &Ledger) {
    let mut ends: HashMap<TensorId, usize> = HashMap::new();
    let mut end = |id: TensorId| *ends.entry(id).or_default() += 1;
    for entry in &ledger.weights {
        match entry {
            Entry::Plain(id) => end(*id),
            Entry::Scheme(_, bid) => bid.parts.iter().for_each(|part| end(part.tensor)),
        }
    }
    ledger.dropped.iter().for_each(|(id, _)| end(*id));
    for (id, info) in evidence.tensors() {
        let count = ends.remove(id).unwrap_or(0);
        assert_eq!(count, 1, "{} ends {count} times", info.name);
    }
    assert!(ends.is_empty(), "tensors that are not there: {ends:?}");
}

/// The first row, the last and all of them: what they need lies inside the parts, and decoding
/// gives numbers or an error.
fn check_rows(
    bid: &Bid,
    recipe: &dyn Recipe,
    infos: &HashMap<TensorId, &TensorInfo>,
    source: Option<&Source>,
) {
    let rows = bid.shape.first().copied().unwrap_or(1);
    let elements = element_count(&bid.shape).unwrap_or(0);
    if elements == 0 {
        return;
    }
    for range in [0..1, rows - 1..rows, 0..rows] {
        let mut slabs = Vec::new();
        recipe.needs(range.clone(), &mut slabs);
        let mut total = 0u64;
        for slab in &slabs {
            let part = bid.parts.get(slab.part).expect("a slab of no part");
            let bytes = infos[&part.tensor].bytes;
            let last = slab.count.saturating_sub(1).checked_mul(slab.stride);
            let end =
                last.and_then(|last| last.checked_add(slab.offset)?.checked_add(slab.row_bytes));
            assert!(end.is_some_and(|end| end <= bytes), "{}: {slab:?} of {bytes} bytes", bid.name);
            total = total.saturating_add(slab.row_bytes.saturating_mul(slab.count));
        }
        let wanted = elements / rows * (range.end - range.start);
        let Some(source) = source.filter(|_| wanted <= MOST_ROW && total <= MOST_CONTENTS) else {
            continue;
        };
        // An error is an answer: contents may be scales that are no numbers.
        drop(decode(bid, recipe, &slabs, range, wanted as usize, infos, source));
    }
}

fn decode(
    bid: &Bid,
    recipe: &dyn Recipe,
    slabs: &[Slab],
    rows: std::ops::Range<u64>,
    wanted: usize,
    infos: &HashMap<TensorId, &TensorInfo>,
    source: &Source,
) -> Result<(), Error> {
    let mut scratch = vec![Vec::new(); slabs.len()];
    let fetch = |(slab, scratch): (&Slab, _)| {
        source.fetch(infos[&bid.parts[slab.part].tensor], slab, scratch)
    };
    let staged = slabs.iter().zip(&mut scratch).map(fetch).collect::<Result<Vec<_>>>()?;
    recipe.decode(&staged, rows.clone(), Out::F32(&mut vec![0.0; wanted]))?;
    recipe.decode(&staged, rows.clone(), Out::Bf16(&mut vec![bf16::ZERO; wanted]))?;
    recipe.decode(&staged, rows, Out::F16(&mut vec![f16::ZERO; wanted]))
}
