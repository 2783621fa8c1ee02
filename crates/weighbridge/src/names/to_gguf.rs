//! Which tensors the GGUF file of a model has that is named as Hugging Face names it, and from which
//! weights each of them is made.

use std::collections::{BTreeMap, HashMap};

use super::facts::{Dialect, Facts};
use super::pieces::{Cut, Piece, Translator};
use super::table::{COMPUTED, DropsHead, Family};
use super::ties::is_vision;
use super::view::{Rows, View};
use super::{Named, Side};
use crate::catalog::Shape;
use crate::error::{Error, Remedy, Result};

/// What becomes of the weights of a model.
pub(crate) struct Translation {
    /// The tensors of the file, in the order in which llama.cpp's converter writes them.
    pub(crate) tensors: Vec<Tensor>,
    /// Weights that the file does not have, and why.
    pub(crate) left_out: Vec<(usize, String)>,
}

/// A tensor of the file.
pub(crate) struct Tensor {
    /// Its name.
    pub(crate) name: String,
    /// Its shape, outermost dimension first.
    pub(crate) shape: Shape,
    /// Which numbers of which weights it has, one after the other.
    pub(crate) pieces: Vec<(usize, View)>,
}

/// A tensor that is being put together.
#[derive(Default)]
struct Gathered {
    /// When its last piece came.
    last: usize,
    /// Its pieces, by the number of the expert.
    pieces: BTreeMap<u64, Piece>,
    /// Whether its pieces are experts.
    is_stack: bool,
}

/// Translates a model. `order` has all of its weights, in the order in which the converter meets them.
/// Of embeddings only so many rows are taken where the family leaves out those that no token has.
pub(crate) fn to_gguf(
    side: &Side<'_>,
    order: &[usize],
    tokens: Option<u64>,
) -> Result<Translation> {
    let names: Vec<String> = side.weights.iter().map(|weight| weight.name.to_owned()).collect();
    let facts = Facts::of(side, &names);
    let family = known_family(&facts)?;
    let gguf = Facts { dialect: Dialect::Gguf, prefix: String::new(), ..facts.clone() };
    let translator = Translator::new(&facts, &gguf, family);
    if translator.lacks_heads() {
        return Err(Error::unsupported("no config states the number of attention heads"));
    }
    let (mut gathered, mut left_out) = (HashMap::<String, Gathered>::new(), Vec::new());
    for (at, &index) in order.iter().enumerate() {
        let Named { name, shape } = side.weights[index];
        let mut pieces = translator.parts(index, name, shape);
        if let Some(fused) = still_fused(&pieces, shape) {
            pieces = vec![fused];
        }
        if pieces.is_empty() {
            pieces.extend(translator.whole(index, name, shape));
        }
        if let Some(reason) = reason_to_leave_out(name, &pieces, family, &facts) {
            left_out.push((index, reason));
            continue;
        }
        // Several tensors under one name were to be taken apart.
        if pieces.is_empty() || pieces.iter().any(|piece| piece.key.0.contains(' ')) {
            let error = match translator.knows(name) {
                true => {
                    Error::malformed(format!("{shape:?} is not the shape that the config makes it"))
                }
                false => unknown_name(family),
            };
            return Err(error.in_tensor(name));
        }
        for mut piece in pieces {
            if family.cuts_embedding && piece.cut == Cut::ByToken {
                cut_to(&mut piece.view, tokens);
            }
            gather(&mut gathered, piece, at, name)?;
        }
    }
    let tensors = in_order(gathered).into_iter().map(|(name, found)| tensor(name, &found, side));
    Ok(Translation { tensors: tensors.collect::<Result<_>>()?, left_out })
}

fn known_family(facts: &Facts) -> Result<&'static Family> {
    let keep = |message: String| Error::unsupported(message).remedy(Remedy::KeepNames);
    if facts.dialect != Dialect::HuggingFace {
        let dialect = facts.dialect.name();
        return Err(keep(format!(
            "its names are {dialect}, and only Hugging Face's are translated"
        )));
    }
    facts.family.ok_or_else(|| match &facts.family_name {
        Some(name) => keep(format!("models of the family `{name}` are not translated")),
        None => keep("no config beside the weights says of which family the model is".to_owned()),
    })
}

/// Why a weight is not in the file, if that is known.
fn reason_to_leave_out(
    name: &str,
    pieces: &[Piece],
    family: &Family,
    facts: &Facts,
) -> Option<String> {
    let computed = COMPUTED.iter().find(|(end, _)| name.ends_with(end));
    if let Some((_, what)) = computed {
        return Some((*what).to_owned());
    }
    if is_vision(name) {
        return Some("a part of the vision model, which has a file of its own".to_owned());
    }
    if family.drops_next && facts.is_beyond_the_last_layer(name) {
        return Some(
            "a layer that predicts further tokens, which llama.cpp does not use".to_owned(),
        );
    }
    let is_head = pieces.iter().any(|piece| piece.key.0 == "output.weight");
    // Of other families the converter writes a head that is stored, though it is tied.
    let is_dropped = match family.drops_head {
        DropsHead::Never => false,
        DropsHead::Tied => facts.tied == Some(true),
        DropsHead::Always => true,
    };
    (is_dropped && is_head).then(|| "the same numbers as the embedding".to_owned())
}

/// Queries, keys and values that are one weight stay one, unless their rows change.
fn still_fused(pieces: &[Piece], shape: &[u64]) -> Option<Piece> {
    let [query, key, value] = pieces else { return None };
    let ends = [".attn_q.", ".attn_k.", ".attn_v."];
    let is_fused = [query, key, value].iter().zip(ends).all(|(piece, end)| {
        piece.key.0.contains(end) && piece.view.is_plain() && piece.key.1.is_none()
    });
    is_fused.then(|| Piece {
        key: (query.key.0.replace(ends[0], ".attn_qkv."), None),
        view: View::whole(shape),
        ..query.clone()
    })
}

fn unknown_name(family: &Family) -> Error {
    let message = format!("models of the family `{}` have no weight of that name", family.names[0]);
    Error::unsupported(message).remedy(Remedy::KeepNames)
}

fn cut_to(view: &mut View, tokens: Option<u64>) {
    if let (Some(tokens), Some(rows)) = (tokens, view.shape.first_mut()) {
        *rows = (*rows).min(tokens);
    }
}

fn gather(
    gathered: &mut HashMap<String, Gathered>,
    piece: Piece,
    at: usize,
    source: &str,
) -> Result<()> {
    let (name, expert) = piece.key.clone();
    let found = gathered.entry(name.clone()).or_default();
    found.last = at;
    found.is_stack |= expert.is_some();
    match found.pieces.insert(expert.unwrap_or(0), piece) {
        None => Ok(()),
        Some(_) => {
            let message = format!("another weight is `{name}` in a GGUF file already");
            Err(Error::malformed(message).in_tensor(source))
        }
    }
}

/// By the last of their weights. The experts of a layer come together, when all are complete.
fn in_order(gathered: HashMap<String, Gathered>) -> Vec<(String, Gathered)> {
    let layer = |name: &str| name.split('.').nth(1).unwrap_or_default().to_owned();
    let mut complete: HashMap<String, usize> = HashMap::new();
    for (name, found) in gathered.iter().filter(|(name, _)| name.contains("_exps.")) {
        let last = complete.entry(layer(name)).or_default();
        *last = (*last).max(found.last);
    }
    let mut all: Vec<_> = gathered.into_iter().collect();
    all.sort_by_cached_key(|(name, found)| {
        let experts = complete.get(&layer(name)).filter(|_| name.contains("_exps."));
        let together = experts.copied().unwrap_or(found.last);
        (together, found.last, name.clone())
    });
    all
}

fn tensor(name: String, found: &Gathered, side: &Side<'_>) -> Result<Tensor> {
    let Gathered { pieces, is_stack, .. } = found;
    let Some(first) = pieces.values().next() else {
        return Err(Error::malformed("nothing is left of it").in_tensor(&name));
    };
    // A vector in another order is seen as a column, a matrix with columns in another order as one of
    // more rows.
    let whole = side.weights[first.weight].shape;
    let is_tiled = matches!(first.view.rows, Rows::Tiled { .. });
    let is_vector = whole.len() == 1;
    let mut shape = if is_vector {
        [first.view.row_count() * first.view.row_len()].into_iter().collect()
    } else if is_tiled && whole.len() == 2 {
        whole.into()
    } else {
        first.view.shape.clone()
    };
    if *is_stack {
        let missing = (0..).zip(pieces.keys()).find(|(wanted, found)| wanted != *found);
        if let Some((expert, _)) = missing {
            let message = format!("expert {expert} is missing");
            return Err(Error::malformed(message).in_tensor(&name));
        }
        if let Some(odd) = pieces.values().find(|piece| piece.view.shape != first.view.shape) {
            let message = "its shape differs from that of other experts of the layer";
            return Err(Error::malformed(message).in_tensor(side.weights[odd.weight].name));
        }
        shape.insert(0, pieces.len() as u64);
    }
    let pieces = pieces.values().map(|piece| (piece.weight, piece.view.clone())).collect();
    Ok(Tensor { name, shape, pieces })
}

/// Whether llama.cpp wants a tensor in F32, whatever the others are: what is small, and what decides
/// between experts.
pub(crate) fn wants_single(name: &str, shape: &[u64]) -> bool {
    const SINGLE: [&str; 5] = [
        ".ffn_gate_inp.weight",
        ".ffn_gate_inp_shexp.weight",
        "position_embd.weight",
        "token_types.weight",
        ".ssm_conv1d.weight",
    ];
    shape.len() <= 1
        || name.ends_with("_norm.weight")
        || !name.ends_with(".weight")
        || SINGLE.iter().any(|end| name.ends_with(end))
}
