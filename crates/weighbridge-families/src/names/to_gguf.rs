//! Which tensors the GGUF file of a model has that is named as Hugging Face names it, and from which
//! weights each of them is made.

use std::collections::{BTreeMap, HashMap};

use super::pieces::Translator;
use super::ties::encoder_of;
use super::view::{Rows, View};
use super::{Cut, Dialect, Facts, Named, Piece, Side, grouped, keys};
use crate::catalog::Shape;
use crate::config;
use crate::error::{Error, Remedy, Result};
use crate::families::{DropsHead, Family, Place, computed};

/// What names of stacks of experts have in them.
const EXPERTS: &str = "_exps.";

/// What becomes of the weights of a model.
pub struct Translation {
    /// The tensors of the file, in the order in which llama.cpp's converter writes them.
    pub tensors: Vec<Tensor>,
    /// Weights that the file does not have, and why.
    pub left_out: Vec<(usize, String)>,
}

/// A tensor of the file.
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its shape, outermost dimension first.
    pub shape: Shape,
    /// Which numbers of which weights it has, one after the other.
    pub pieces: Vec<(usize, View)>,
    /// Into how many equal parts the pieces are cut, if the numbers of these take turns; else one.
    pub turns: u64,
}

/// A tensor that is being put together.
#[derive(Default)]
struct Gathered {
    /// When its last piece came: of which weight, and as which of its pieces.
    last: (usize, usize),
    /// Its pieces, by the number of the expert.
    pieces: BTreeMap<u64, Piece>,
    /// Whether its pieces are experts.
    is_stack: bool,
    /// Whether they have exactly the shapes that they are seen in, and how they lie.
    laid: Option<Place>,
}

/// Translates a model. `order` has all of its weights, in the order in which the converter meets them.
/// Of embeddings only so many rows are taken where the family leaves out those that no token has.
pub fn to_gguf(side: &Side<'_>, order: &[usize], tokens: Option<u64>) -> Result<Translation> {
    let names: Vec<String> = side.weights.iter().map(|weight| weight.name.to_owned()).collect();
    let facts = Facts::of(side, &names);
    let unstated = "cannot tell the model family: no config.json beside the weights";
    let family = facts.known_family(Dialect::HuggingFace, "family", unstated)?;
    let gguf = Facts { dialect: Dialect::Gguf, prefix: String::new(), ..facts.clone() };
    let translator = Translator::new(&facts, &gguf, family);
    if translator.lacks_heads() {
        let message = "config.json does not state the number of attention heads";
        return Err(Error::unsupported(message).remedy(Remedy::KeepNames));
    }
    let config = config::find(side.configs, config::HUGGING_FACE);
    let first_position = config.map_or(0, keys::first_position);
    let (mut gathered, mut left_out) = (HashMap::<String, Gathered>::new(), Vec::new());
    for (at, &index) in order.iter().enumerate() {
        let Named { name, shape } = side.weights[index];
        if let Some(heads) = translator.odd_heads(name, shape) {
            let message = format!("shape {shape:?} does not match config.json: expected {heads}");
            return Err(Error::malformed(message).in_tensor(name));
        }
        let mut pieces = translator.parts(index, name, shape);
        if let Some(fused) = still_fused(&pieces, shape) {
            pieces = fused;
        }
        if pieces.is_empty() {
            pieces.extend(translator.whole(index, name, shape));
        }
        if let Some(reason) = reason(name, &pieces, family, &facts) {
            left_out.push((index, reason.to_owned()));
            continue;
        }
        if translator.is_copy(name) && pieces.iter().any(|one| gathered.contains_key(&one.key.0)) {
            left_out.push((index, "another copy of the embedding".to_owned()));
            continue;
        }
        // Several tensors under one name were to be taken apart.
        if pieces.is_empty() || pieces.iter().any(|piece| piece.key.0.contains(' ')) {
            let odd = format!("shape {shape:?} does not match config.json");
            let known = translator.knows(name).then(|| Error::malformed(odd));
            return Err(known.unwrap_or_else(|| unknown_name(family)).in_tensor(name));
        }
        for (number, mut piece) in pieces.into_iter().enumerate() {
            if family.cuts_embedding && piece.cut == Cut::ByToken {
                cut_to(&mut piece.view, tokens);
            }
            if piece.cut == Cut::ByPosition {
                start_at(&mut piece.view, first_position).map_err(|e| e.in_tensor(name))?;
            }
            gather(&mut gathered, piece, (at, number), name)?;
        }
    }
    let tensors =
        in_order(gathered, family).into_iter().map(|(name, found)| tensor(name, &found, side));
    Ok(Translation { tensors: tensors.collect::<Result<_>>()?, left_out })
}

/// Why a weight is not in the file, if that is known.
fn reason(name: &str, pieces: &[Piece], family: &Family, facts: &Facts) -> Option<&'static str> {
    let is_head = pieces.iter().any(|piece| piece.key.0 == "output.weight");
    // Of other families the converter writes a head that is stored, though it is tied.
    let is_dropped = match family.drops_head {
        DropsHead::Never => false,
        DropsHead::Tied => facts.tied.unwrap_or(family.tied),
        DropsHead::Always => true,
    };
    match family.leaves_out(name, &facts.prefix).or_else(|| computed(name)) {
        None if encoder_of(name).is_some() => encoder_of(name),
        None if family.drops_next && facts.is_beyond_the_last_layer(name) => {
            Some("multi-token prediction layer, not used by llama.cpp")
        }
        None if is_dropped && is_head => Some("tied to the embedding"),
        known => known,
    }
}

/// Queries, keys and values that are one weight stay one, unless their rows change.
fn still_fused(pieces: &[Piece], shape: &[u64]) -> Option<Vec<Piece>> {
    let [query, key, value] = pieces else { return None };
    let ends = [".attn_q.", ".attn_k.", ".attn_v."];
    let mut parts = [query, key, value].into_iter().zip(ends);
    let is_whole = |piece: &Piece| piece.key.1.is_none() && piece.laid.is_none();
    if !parts.all(|(piece, end)| piece.key.0.contains(end) && is_whole(piece)) {
        return None;
    }
    let fused = query.key.0.replace(ends[0], ".attn_qkv.");
    if !pieces.iter().all(|piece| piece.view.is_plain()) {
        return grouped::joined(pieces, &fused);
    }
    Some(vec![Piece { key: (fused, None), view: View::whole(shape), ..query.clone() }])
}

fn unknown_name(family: &Family) -> Error {
    let message = format!("the model family `{}` has no weight with this name", family.shown());
    Error::unsupported(message).remedy(Remedy::KeepNames)
}

fn cut_to(view: &mut View, tokens: Option<u64>) {
    if let (Some(tokens), Some(rows)) = (tokens, view.shape.first_mut()) {
        *rows = (*rows).min(tokens);
    }
}

/// Leaves out rows at the start.
fn start_at(view: &mut View, first: u64) -> Result<()> {
    let rows = view.shape.first().copied().unwrap_or(0);
    let rest = rows.checked_sub(first).filter(|rest| *rest > 0);
    match (rest, view.shape.get(1)) {
        _ if first == 0 => Ok(()),
        (Some(rest), Some(&columns)) => {
            *view = View::part(&[rest, columns], first);
            Ok(())
        }
        _ => Err(Error::malformed(format!(
            "positions start at row {first}, but there are only {rows} rows"
        ))),
    }
}

fn gather(
    all: &mut HashMap<String, Gathered>,
    piece: Piece,
    at: (usize, usize),
    from: &str,
) -> Result<()> {
    let (name, expert) = piece.key.clone();
    let found = all.entry(name.clone()).or_default();
    found.last = at;
    found.is_stack |= expert.is_some() && !matches!(piece.laid, Some(Place::Joined(_)));
    found.laid = piece.laid;
    if found.pieces.insert(expert.unwrap_or(0), piece).is_some() {
        let message = format!("another weight already becomes `{name}` in the GGUF file");
        return Err(Error::malformed(message).in_tensor(from));
    }
    Ok(())
}

impl Gathered {
    /// Whether it is a stack of several weights that the converter holds back until all of a layer's
    /// are complete: those of experts.
    fn is_collected(&self, name: &str) -> bool {
        let mut weights = self.pieces.values().map(|piece| piece.weight);
        let first = weights.next();
        self.is_stack && name.contains(EXPERTS) && weights.any(|weight| Some(weight) != first)
    }
}

/// By the last of their weights. The stacks of a layer come together, when all are complete.
fn in_order(gathered: HashMap<String, Gathered>, family: &Family) -> Vec<(String, Gathered)> {
    let place = |name: &str| family.stacks.iter().position(|stack| name.contains(stack));
    let layer = |name: &str| name.split('.').nth(1).unwrap_or_default().to_owned();
    let mut complete: HashMap<String, (usize, usize)> = HashMap::new();
    for (name, found) in gathered.iter().filter(|(name, found)| found.is_collected(name)) {
        let last = complete.entry(layer(name)).or_default();
        *last = (*last).max(found.last);
    }
    let mut all: Vec<_> = gathered.into_iter().collect();
    all.sort_by_cached_key(|(name, found)| match found.is_collected(name) {
        true => (complete[&layer(name)], place(name), found.last, name.clone()),
        false => (found.last, None, found.last, name.clone()),
    });
    all
}

fn tensor(name: String, found: &Gathered, side: &Side<'_>) -> Result<Tensor> {
    let Gathered { pieces, is_stack, laid, .. } = found;
    let Some(first) = pieces.values().next() else {
        return Err(Error::malformed("the tensor would be empty").in_tensor(&name));
    };
    // Vectors in another order are seen as columns, a matrix with columns in another order as one of
    // more rows.
    let whole = side.weights[first.weight].shape;
    let is_tiled = matches!(first.view.rows, Rows::Tiled { .. });
    let seen = &first.view.shape;
    let mut shape = match &seen[..] {
        _ if found.laid.is_some() => seen.clone(),
        _ if whole.len() == 1 => {
            [first.view.row_count() * first.view.row_len()].into_iter().collect()
        }
        _ if is_tiled && whole.len() == 2 => whole.into(),
        [outer @ .., 1] if seen.len() == whole.len() + 1 => outer.into(),
        _ => seen.clone(),
    };
    if *is_stack {
        let what = if name.contains(EXPERTS) { "expert" } else { "head" };
        let missing = (0..).zip(pieces.keys()).find(|(wanted, found)| wanted != *found);
        if let Some((number, _)) = missing {
            let message = format!("{what} {number} is missing");
            return Err(Error::malformed(message).in_tensor(&name));
        }
        if let Some(odd) = pieces.values().find(|piece| piece.view.shape != first.view.shape) {
            let message = format!("shape differs from the other {what}s in the layer");
            return Err(Error::malformed(message).in_tensor(side.weights[odd.weight].name));
        }
        shape.insert(0, pieces.len() as u64);
    }
    if matches!(laid, Some(Place::Joined(_))) {
        shape[0] = joined_rows(&name, pieces)?;
    }
    // Vectors in another order are columns.
    let is_laid = laid.is_some_and(|place| place != Place::Whole);
    if is_laid && shape.len() == whole.len() + 1 && shape.last() == Some(&1) {
        shape.pop();
    }
    let pieces = pieces.values().map(|piece| (piece.weight, piece.view.clone())).collect();
    Ok(Tensor { name, shape, pieces, turns: 1 })
}

/// The rows of pieces that follow each other. All of them have to be there, and fit.
fn joined_rows(name: &str, pieces: &BTreeMap<u64, Piece>) -> Result<u64> {
    let odd = |message: String| Error::malformed(message).in_tensor(name);
    let missing = (0..).zip(pieces.keys()).find(|(wanted, found)| wanted != *found);
    if let Some((number, _)) = missing {
        return Err(odd(format!("part {number} is missing")));
    }
    let inner = |piece: &Piece| piece.view.shape.get(1..).map(<[u64]>::to_vec);
    let mut shapes = pieces.values().map(inner);
    let first = shapes.next();
    if shapes.any(|shape| Some(shape) != first) {
        return Err(odd("its parts have different shapes".to_owned()));
    }
    let rows = pieces.values().map(|piece| piece.view.shape.first().copied().unwrap_or(1));
    Ok(rows.fold(0, u64::saturating_add))
}

/// Whether llama.cpp wants a tensor in F32, whatever the others are: what is small, and what decides
/// between experts.
pub fn wants_single(name: &str, shape: &[u64]) -> bool {
    const SINGLE: &[&str] = &[
        ".ffn_gate_inp.weight",
        ".ffn_gate_inp_shexp.weight",
        "position_embd.weight",
        "token_types.weight",
        ".ssm_conv1d.weight",
        ".ssm_conv1d_q.weight",
        ".ssm_conv1d_k.weight",
        ".ssm_conv1d_v.weight",
        ".shortconv.conv.weight",
        ".norm1.weight",
        ".norm2.weight",
        ".time_mix_first.weight",
        ".time_mix_w1.weight",
        ".time_mix_w2.weight",
        ".time_mix_decay_w1.weight",
        ".time_mix_decay_w2.weight",
        ".time_mix_lerp_fused.weight",
        ".altup_correct_coef.weight",
        ".altup_predict_coef.weight",
        ".indexer.proj.weight",
        ".indexer.q_proj.weight",
        ".indexer.k_proj.weight",
        ".indexer_compressor_ape.weight",
        ".indexer_compressor_gate.weight",
        ".hc_attn_fn.weight",
        ".hc_ffn_fn.weight",
    ];
    const MATRIX: [&str; 3] = [".weight", ".lora_a", ".lora_b"];
    shape.len() <= 1
        || name.ends_with("_norm.weight")
        || !MATRIX.iter().any(|end| name.ends_with(end))
        || SINGLE.iter().any(|end| name.ends_with(end))
}
