//! Weights under their common names: a weight is one piece, or holds several.

use std::collections::HashMap;

use super::facts::{Dialect, Facts, is_head};
use super::grouped::{Groups, by_group};
use super::piece::{Cut, Piece};
use super::stacks::{Stack, across, blends, in_turn, key_value, stacked, vectors};
use super::view::View;
use crate::change::Change;
use crate::families::{
    BESIDE, CONSOLIDATED, Family, How, Laid, Lay, LinearPart, Place, Row, has_ending, pattern,
};

/// Translates the names of one side.
pub(super) struct Translator<'t> {
    rows: HashMap<&'static str, &'t Row>,
    /// What is known about the model; the other one fills in what it does not state of its heads.
    facts: Facts,
    family: &'t Family,
    /// Whether values have to be changed to match GGUF's.
    changes: bool,
}

impl<'t> Translator<'t> {
    /// For one model; the other one fills in what this one does not state.
    pub fn new(own: &Facts, other: &Facts, family: &'t Family) -> Self {
        let tables: &[&[Row]] = match own.dialect {
            Dialect::HuggingFace => family.rows,
            Dialect::Gguf => family.gguf,
            Dialect::Consolidated => &[CONSOLIDATED],
            Dialect::Other => &[],
        };
        let heads = own.heads.or(other.heads);
        Self {
            rows: tables.iter().copied().flatten().map(|row| (row.0, row)).collect(),
            facts: Facts {
                heads,
                kv_heads: own.kv_heads.or(other.kv_heads).or(heads),
                key_rows: own.key_rows.or(other.key_rows),
                linear: own.linear.or(other.linear),
                settings: own.settings.clone().or_else(|| other.settings.clone()),
                ..own.clone()
            },
            family,
            changes: own.dialect == Dialect::HuggingFace && other.dialect != own.dialect,
        }
    }

    /// Whether the order of query and key rows matters, but the number of heads is unknown.
    pub fn lacks_heads(&self) -> bool {
        self.changes && self.family.pairs && self.facts.heads.is_none()
    }

    /// A weight as one piece, if it is one. A fused weight is one too: the other model may have the
    /// same.
    pub fn whole(&self, weight: usize, name: &str, shape: &[u64]) -> Option<Piece> {
        if self.facts.dialect == Dialect::Gguf && self.row(name).is_none() {
            let cut = match name {
                "token_embd.weight" | "output.weight" => Cut::ByToken,
                "position_embd.weight" => Cut::ByPosition,
                _ => Cut::None,
            };
            let (key, view) = ((name.to_owned(), None), View::whole(shape));
            return Some(Piece { weight, key, view, words: Vec::new(), cut, laid: None });
        }
        let (how, names, numbers) = self.names(name)?;
        // Outside of layers there is no number before that of the expert.
        let at = usize::from(names.first().is_some_and(|name| name.starts_with("blk.")));
        let expert = (how == How::Expert).then(|| numbers.get(at).copied()).flatten();
        let cut = match how {
            How::Embedding | How::EmbeddingCopy => Cut::ByToken,
            How::Positions => Cut::ByPosition,
            _ => Cut::None,
        };
        let (key, view) = ((names.join(" "), expert), View::whole(shape));
        let piece = Piece { weight, key, view, words: Vec::new(), cut, laid: None };
        match how {
            // Parts in another order are to be seen one by one.
            How::Across | How::InTurn => None,
            How::Own(_) if self.changes => None,
            How::Qkv if self.changes && self.family.pairs => None,
            How::Grouped if self.changes => None,
            How::Linear(part) => self.linear(piece, part, shape, Change::None),
            How::Decay => self.linear(piece, LinearPart::Heads, shape, Change::MinusExp),
            How::Transposed if self.changes => Some(transposed(piece)),
            How::Halved if self.changes => self.halved(piece, *numbers.first()?),
            _ => Some(self.changed(piece, how)),
        }
    }

    /// The pieces that a weight holds, if there are several.
    pub fn parts(&self, weight: usize, name: &str, shape: &[u64]) -> Vec<Piece> {
        self.known_parts(weight, name, shape).unwrap_or_default()
    }

    fn known_parts(&self, weight: usize, name: &str, shape: &[u64]) -> Option<Vec<Piece>> {
        let (how, names, _) = self.names(name)?;
        let stack = |of| Stack::of(of, shape.try_into().ok()?);
        match (how, shape) {
            (How::Experts | How::Stacked, _) => Some(stacked(weight, &names, stack("expert")?)),
            (How::Heads, &[count, 1, 1, length]) => Some(blends(weight, &names, [count, length])),
            (How::Heads, &[heads, length]) => Some(vectors(weight, &names, [heads, length])),
            (How::Heads, _) => Some(stacked(weight, &names, stack("head")?)),
            (How::InTurn, &[experts, length]) => Some(in_turn(weight, &names, [experts, length])),
            (How::Across | How::InTurn, _) => {
                Some(across(weight, &names, stack("expert")?, how == How::InTurn))
            }
            (How::KeyValue, _) => self.key_value(weight, &names, shape),
            (How::Qkv, _) => self.qkv(weight, &names, shape),
            (How::Grouped, _) => self.grouped(weight, &names, shape),
            (How::Own(lay), _) if self.changes || self.facts.dialect == Dialect::Gguf => {
                self.own(weight, &names, shape, lay)
            }
            (How::Plain, &[rows, ..]) if names.len() > 1 => {
                by_rows(weight, &names, &vec![rows / names.len() as u64; names.len()], shape)
            }
            _ => None,
        }
    }

    /// How a weight of that name lies, the common names of what it has, and the numbers in its name.
    fn names(&self, name: &str) -> Option<(How, Vec<String>, Vec<u64>)> {
        let (row, suffix, numbers) = self.row(name)?;
        Some((row.2, row.1.iter().map(|name| named(name, &numbers, suffix)).collect(), numbers))
    }

    /// The common names of what a weight of that name has; none if it is not known.
    pub fn common_names(&self, name: &str) -> Vec<String> {
        self.names(name).map_or_else(Vec::new, |(_, names, _)| names)
    }

    /// What a weight has to be instead, if it holds the rows of heads in another order than GGUF and
    /// does not divide into these heads.
    pub fn odd_heads(&self, name: &str, shape: &[u64]) -> Option<String> {
        let (how, ..) = self.names(name).filter(|_| self.changes && self.family.pairs)?;
        let (heads, keys) = (self.facts.heads?, self.facts.kv_heads?);
        let (count, what) = match how {
            How::Query => (heads, "`num_attention_heads`"),
            How::Key => (keys, "`num_key_value_heads`"),
            How::Qkv | How::Grouped => {
                (heads.checked_add(keys.checked_mul(2)?)?, "queries, keys and values")
            }
            _ => return None,
        };
        let rows = *shape.first()?;
        let width = self.facts.head_width.or_else(|| rows.checked_div(count)).unwrap_or(0);
        let fits = width > 0 && width.is_multiple_of(2) && count.checked_mul(width) == Some(rows);
        (!fits).then(|| match self.facts.head_width {
            Some(width) => format!("{count} heads of {width} rows ({what})"),
            None => format!("{count} heads of an even number of rows ({what})"),
        })
    }

    fn qkv(&self, weight: usize, names: &[String], shape: &[u64]) -> Option<Vec<Piece>> {
        let (heads, kv_heads) = (self.facts.heads?, self.facts.kv_heads?);
        let all = heads.checked_add(kv_heads.checked_mul(2)?)?;
        let head_rows = shape.first()?.checked_div(all)?;
        let sizes = [heads, kv_heads, kv_heads].map(|heads| heads * head_rows);
        let pieces = by_rows(weight, names, &sizes, shape)?;
        let how = [How::Query, How::Key, How::Plain];
        Some(pieces.into_iter().zip(how).map(|(piece, how)| self.changed(piece, how)).collect())
    }

    fn grouped(&self, weight: usize, names: &[String], shape: &[u64]) -> Option<Vec<Piece>> {
        let (heads, kv_heads) = (self.facts.heads?, self.facts.kv_heads?);
        if let [name] = names {
            return by_group(weight, name, kv_heads, shape);
        }
        let groups = Groups::of(heads, kv_heads, shape).filter(|_| self.changes)?;
        match self.family.pairs {
            true => groups.in_pairs(weight, names),
            false => Some(groups.apart(weight, names)),
        }
    }

    fn key_value(&self, weight: usize, names: &[String], shape: &[u64]) -> Option<Vec<Piece>> {
        let (&[rows, columns], [key, value], heads) = (shape, names, self.facts.heads?) else {
            return None;
        };
        let each = rows.checked_div(heads).filter(|each| each * heads == rows)?;
        let stated = self.facts.key_rows.zip(self.facts.value_rows);
        if stated.is_some_and(|(keys, values)| keys.checked_add(values) != Some(each)) {
            return None;
        }
        let heads = Stack::of("head", [heads, each, columns])?;
        Some(key_value(weight, [key, value], heads, self.facts.key_rows?))
    }

    /// Pieces that lie in a way of the family's own.
    fn own(&self, weight: usize, names: &[String], shape: &[u64], lay: Lay) -> Option<Vec<Piece>> {
        let laid = (lay.0)(self.facts.settings.as_deref()?, shape)?.into_iter();
        let piece = |Laid { tensor, place, view, words }| {
            let number = match place {
                Place::Whole => None,
                Place::Stacked(number) | Place::Joined(number) => Some(number),
            };
            let words = if words.is_empty() { Vec::new() } else { vec![words] };
            let piece = Piece::part(weight, (names.get(tensor)?.clone(), number), view, words);
            Some(Piece { laid: Some(place), ..piece })
        };
        laid.map(piece).collect()
    }

    /// A piece of linear attention.
    fn linear(
        &self,
        mut piece: Piece,
        part: LinearPart,
        shape: &[u64],
        change: Change,
    ) -> Option<Piece> {
        let is_gguf = self.facts.dialect == Dialect::Gguf;
        if !self.changes && !is_gguf {
            return Some(piece);
        }
        let linear = self.facts.linear?;
        piece.view = linear.view(part, shape, self.changes)?;
        if self.changes {
            piece.words.extend(linear.words());
            piece.view.change = change;
            piece.words.extend((change == Change::MinusExp).then(|| "-exp".to_owned()));
        }
        Some(piece)
    }

    /// A piece of a layer, halved once more every so many layers.
    fn halved(&self, mut piece: Piece, layer: u64) -> Option<Piece> {
        let every = self.facts.settings.as_deref()?.count("rescale_every").unwrap_or(0);
        let times = i32::try_from(layer.checked_div(every).unwrap_or(0)).ok()?;
        if times > 0 {
            piece.view.change = Change::Times(0.5f32.powi(times));
            piece.words.push(format!("halved {times} times"));
        }
        Some(piece)
    }

    /// Whether a weight of that name is the embedding under one of its other names.
    pub fn is_copy(&self, name: &str) -> bool {
        self.row(name).is_some_and(|(row, ..)| row.2 == How::EmbeddingCopy)
    }

    /// Whether there are weights of that name, in whatever shape.
    pub fn knows(&self, name: &str) -> bool {
        self.row(name).is_some()
    }

    /// The piece with GGUF's values, if the weight's differ.
    fn changed(&self, mut piece: Piece, how: How) -> Piece {
        let heads = match how {
            _ if !self.changes => None,
            How::Query if self.family.pairs => self.facts.heads,
            How::Key if self.family.pairs => self.facts.kv_heads,
            _ => None,
        };
        if let Some(view) = heads.and_then(|heads| piece.view.by_heads(heads, false)) {
            piece.view = view;
            piece.words.push(format!("permute heads={}", heads.unwrap_or(0)));
        }
        let is_weight = piece.key.0.ends_with(".weight");
        if how == How::Norm && is_weight && self.changes && self.family.norm_add != 0.0 {
            piece.view.change = Change::Add(self.family.norm_add);
            piece.words.push(format!("norm + {}", self.family.norm_add));
        }
        piece
    }

    /// What a layer that stands beside the model is called as one of its layers: those behind the
    /// last one.
    fn behind(&self, name: &str) -> Option<String> {
        let module = beside(name)?;
        let first = self.facts.layers?;
        if let Some(layer) = module.strip_prefix("layers.") {
            let (number, module) = layer.split_once('.')?;
            let number = number.parse::<u64>().ok()?.checked_add(first)?;
            return Some(format!("layers.{number}.{module}"));
        }
        let (module, ending) = module.rsplit_once('.')?;
        let (_, inside) = BESIDE.iter().find(|(beside, _)| *beside == module)?;
        Some(format!("layers.{first}.{inside}.{ending}"))
    }

    /// The row of a name, with its ending and the numbers in it.
    fn row(&self, name: &str) -> Option<(&'t Row, &'static str, Vec<u64>)> {
        if self.changes && self.family.leaves_out(name, &self.facts.prefix).is_some() {
            return None;
        }
        let behind = self.behind(name);
        let rest = match name.strip_prefix(&self.facts.prefix) {
            _ if behind.is_some() => behind.as_deref()?,
            // The head's name is not below the model's prefix.
            Some(rest) if !is_head(name) => rest,
            _ if is_head(name) => &name[name.rfind("lm_head")?..],
            _ if name.starts_with("classifier.") => name,
            _ => return self.outside(name),
        };
        self.below("", rest).or_else(|| self.outside(name))
    }

    /// The row of a name outside of the model's prefix.
    fn outside(&self, name: &str) -> Option<(&'t Row, &'static str, Vec<u64>)> {
        self.below("/", name)
    }

    /// The row that begins so. It may state more than the layer's number leaves open: other numbers,
    /// and the ending.
    fn below(&self, start: &str, name: &str) -> Option<(&'t Row, &'static str, Vec<u64>)> {
        let (module, suffix, numbers) = parsed(name);
        let ending = with_ending(&module, name);
        let forms = [ending.as_deref(), Some(&module)].into_iter().flatten();
        let most = numbers.len();
        // All numbers, all but the first, none.
        let kept = [0, 1.min(most), most];
        kept.into_iter().enumerate().find_map(|(at, open)| {
            let is_new = at == 0 || kept[at - 1] != open;
            forms.clone().filter(|_| is_new).find_map(|form| {
                let form = start.to_owned() + &with_numbers(form, open, &numbers[open..]);
                Some((*self.rows.get(&*form)?, suffix, numbers[..open].to_vec()))
            })
        })
    }
}

/// A name's module with `#` for its numbers, its ending, and the numbers.
fn parsed(name: &str) -> (String, &'static str, Vec<u64>) {
    let ending = ENDINGS.iter().find(|(end, _)| name.ends_with(end));
    let module = ending.map_or(name, |(end, _)| &name[..name.len() - end.len()]);
    let (pattern, numbers) = pattern(module);
    (pattern, ending.map_or(".weight", |(_, suffix)| *suffix), numbers)
}

/// The rest of the name of a weight that stands beside the model, to predict further tokens.
pub(super) fn beside(name: &str) -> Option<&str> {
    name.strip_prefix("mtp.").or_else(|| name.strip_prefix("model.mtp."))
}

/// A module's pattern with the ending that a name has today.
fn with_ending(module: &str, name: &str) -> Option<String> {
    let (_, suffix) = ENDINGS.iter().find(|(end, _)| name.ends_with(end))?;
    Some(format!("{module}{suffix}"))
}

/// A pattern with numbers in the places of `#`, but for the first ones.
fn with_numbers(pattern: &str, open: usize, numbers: &[u64]) -> String {
    let mut found = String::with_capacity(pattern.len());
    for (at, part) in pattern.split('#').enumerate() {
        match at.checked_sub(1) {
            None => {}
            Some(place) if place < open => found.push('#'),
            Some(place) => found.push_str(&numbers[place - open].to_string()),
        }
        found.push_str(part);
    }
    found
}

/// Endings of names, and what they are called today.
const ENDINGS: &[(&str, &str)] =
    &[(".weight", ".weight"), (".bias", ".bias"), (".gamma", ".weight"), (".beta", ".bias")];

/// A common name with the layer's number in it, and with an ending unless it has its own.
fn named(name: &str, numbers: &[u64], suffix: &str) -> String {
    let suffix = if has_ending(name) { "" } else { suffix };
    let name = name.trim_end_matches('!');
    match (name.split_once('#'), numbers.first()) {
        (Some((before, after)), Some(number)) => format!("{before}{number}{after}{suffix}"),
        _ => format!("{name}{suffix}"),
    }
}

/// The transposed matrix; what is none stays as it is.
fn transposed(mut piece: Piece) -> Piece {
    if let Some(view) = piece.view.transpose() {
        piece.view = view;
        piece.words.push("transpose".to_owned());
    }
    piece
}

/// Consecutive pieces of one weight, each with its number of rows (of a vector: of numbers).
fn by_rows(weight: usize, names: &[String], sizes: &[u64], shape: &[u64]) -> Option<Vec<Piece>> {
    let (&rows, inner) = shape.split_first()?;
    let fits = sizes.iter().sum::<u64>() == rows && inner.len() <= 1 && !sizes.contains(&0);
    let columns = inner.first().copied().unwrap_or(1);
    let mut start = 0;
    let pieces = names.iter().zip(sizes).map(|(name, &size)| {
        let view = View::part(&[size, columns], start);
        let words = vec![format!("rows {start}..{} of {rows}", start + size)];
        start += size;
        Piece::part(weight, (name.clone(), None), view, words)
    });
    fits.then(|| pieces.collect())
}
