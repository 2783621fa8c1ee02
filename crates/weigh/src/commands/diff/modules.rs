//! A summary of many changed weights by kind of module and by layer.

use std::collections::BTreeMap;
use std::io::{self, Write};

use weighbridge::internals::text::escaped;
use weighbridge::ops::{DiffTensor, Status};

use super::render::percent;
use crate::render::Page;
use crate::render::table::{Side, Table};
use crate::render::units::grouped;

/// Fewest changed weights that are summarized.
const MANY: u64 = 8;

/// Number of layers that are named.
const LAYERS: usize = 3;

/// The weights of a kind or of a layer.
#[derive(Default)]
struct Group {
    weights: u64,
    changed: u64,
    layers: Vec<u64>,
    signal: f64,
    noise: f64,
    /// The largest relative change and its layer.
    largest: Option<(f64, Option<u64>)>,
}

impl Group {
    #[allow(clippy::cast_precision_loss)] // Shares for people.
    fn add(&mut self, tensor: &DiffTensor, layer: Option<u64>) {
        self.weights += 1;
        if tensor.status != Status::Changed {
            return;
        }
        self.changed += 1;
        self.layers.extend(layer);
        // A weight that was zero has an infinite relative change.
        let relative = tensor.relative.unwrap_or(f64::INFINITY);
        if self.largest.is_none_or(|(largest, _)| relative > largest) {
            self.largest = Some((relative, layer));
        }
        let noise = tensor.rmse.unwrap_or(0.0).powi(2) * tensor.elements as f64;
        self.noise += noise;
        if relative > 0.0 {
            self.signal += noise / (relative * relative);
        }
    }

    fn relative(&self) -> f64 {
        (self.noise / self.signal).sqrt()
    }

    fn most(&self) -> f64 {
        self.largest.map_or(0.0, |(largest, _)| largest)
    }
}

/// Changed weights by kind and by layer.
pub(super) struct Modules {
    kinds: Vec<(String, Group)>,
    /// `None` if several stacks use the same layer numbers.
    layers: Option<Vec<(u64, Group)>>,
}

impl Modules {
    /// Summarizes if many weights changed and they are of fewer kinds.
    pub(super) fn of(tensors: &[DiffTensor]) -> Option<Self> {
        let (mut kinds, mut layers) = (BTreeMap::new(), BTreeMap::new());
        let is_one_stack = is_one_stack(tensors);
        for tensor in tensors {
            let Parts { stack, layer, module } = parts(&tensor.name_a);
            let kind = match (is_one_stack, stack.is_empty()) {
                (true, _) | (_, true) => module,
                (false, false) => format!("{stack}.{module}"),
            };
            kinds.entry(kind).or_insert_with(Group::default).add(tensor, layer);
            if let Some(layer) = layer {
                layers.entry(layer).or_insert_with(Group::default).add(tensor, Some(layer));
            }
        }
        let kinds = sorted(kinds, Group::most);
        let layers = is_one_stack.then(|| sorted(layers, Group::relative));
        let changed = kinds.iter().map(|(_, group)| group.changed).sum::<u64>();
        let is_shorter = kinds.len() as u64 * 4 <= changed * 3;
        (changed >= MANY && is_shorter).then_some(Self { kinds, layers })
    }

    /// Writes a line for each kind of module and one on the layers, largest change first.
    pub(super) fn write(&self, out: &mut dyn Write, page: &Page, limit: usize) -> io::Result<()> {
        table(out, page, &self.kinds[..self.kinds.len().min(limit)])?;
        if let Some(more) = self.kinds.len().checked_sub(limit).filter(|more| *more > 0) {
            writeln!(out, "  and {} more kinds of module", grouped(more as u64))?;
        }
        by_layer(out, self.layers.as_deref().unwrap_or_default())
    }
}

/// The groups with changes, largest change first.
fn sorted<K: Ord>(groups: BTreeMap<K, Group>, by: fn(&Group) -> f64) -> Vec<(K, Group)> {
    let mut all: Vec<_> = groups.into_iter().filter(|(_, group)| group.changed > 0).collect();
    all.sort_by(|(_, a), (_, b)| by(b).total_cmp(&by(a)));
    all
}

fn table(out: &mut dyn Write, page: &Page, kinds: &[(String, Group)]) -> io::Result<()> {
    let mut table = Table::new([
        ("changed", Side::Left),
        ("weights", Side::Right),
        ("layers", Side::Left),
        ("relative", Side::Right),
        ("largest", Side::Right),
        ("", Side::Left),
    ])
    .dropping(&["weights", "layers"]);
    for (kind, group) in kinds {
        let layer = group.largest.and_then(|(_, layer)| layer);
        let weights = if group.changed == group.weights {
            grouped(group.changed)
        } else {
            format!("{} of {}", grouped(group.changed), grouped(group.weights))
        };
        table.row([
            escaped(kind).into_owned(),
            weights,
            ranges(&group.layers),
            share(group.relative()),
            share(group.most()),
            layer.map_or(String::new(), |layer| format!("in layer {layer}")),
        ]);
    }
    table.write(out, 2, page.width)
}

fn by_layer(out: &mut dyn Write, layers: &[(u64, Group)]) -> io::Result<()> {
    let said =
        |(layer, group): &(u64, Group)| format!("{} in layer {layer}", share(group.relative()));
    let most: Vec<String> = layers.iter().take(LAYERS).map(said).collect();
    let least = layers.last().filter(|_| layers.len() > LAYERS);
    let least = least.map_or(String::new(), |least| format!(", .. {}", said(least)));
    match layers.len() {
        0 | 1 => Ok(()),
        count => {
            writeln!(out, "  by layer: {}{least} ({count} layers changed)", most.join(", "))
        }
    }
}

fn share(relative: f64) -> String {
    if relative.is_finite() { percent(relative) } else { "from zero".to_owned() }
}

/// `0-11, 13`.
fn ranges(layers: &[u64]) -> String {
    let mut sorted = layers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for layer in sorted {
        match ranges.last_mut().filter(|range| range.1 + 1 == layer) {
            Some(range) => range.1 = layer,
            None => ranges.push((layer, layer)),
        }
    }
    const SHOWN: usize = 4;
    let shown = |&(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let mut text: Vec<String> = ranges.iter().take(SHOWN).map(shown).collect();
    if ranges.len() > SHOWN {
        text.push("..".to_owned());
    }
    text.join(", ")
}

/// The parts of a weight's name: the stack of layers, the layer, and the module in it.
struct Parts {
    stack: String,
    layer: Option<u64>,
    module: String,
}

/// Splits a name. The first number is the layer; others are experts or similar.
fn parts(name: &str) -> Parts {
    let name = name.strip_suffix(".weight").unwrap_or(name);
    let words: Vec<&str> = name.split('.').collect();
    let number = |word: &&str| word.parse::<u64>().ok();
    let at = words.iter().position(|word| number(word).is_some());
    let (stack, layer, rest) = match at.filter(|at| at + 1 < words.len()) {
        Some(at) => (&words[..at], number(&words[at]), &words[at + 1..]),
        None => (&[][..], None, &words[..]),
    };
    let is_other = |word: &&str| layer.is_some() && number(word).is_some();
    let module: Vec<&str> =
        rest.iter().map(|word| if is_other(word) { "*" } else { *word }).collect();
    Parts { stack: stack.join("."), layer, module: module.join(".") }
}

fn is_one_stack(tensors: &[DiffTensor]) -> bool {
    let mut stacks = tensors.iter().map(|tensor| parts(&tensor.name_a).stack);
    let first = stacks.find(|stack| !stack.is_empty());
    stacks.all(|stack| stack.is_empty() || Some(&stack) == first.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_weight_is() {
        let said = |name| {
            let Parts { stack, layer, module } = parts(name);
            (stack, layer, module)
        };
        let wanted = |stack: &str, layer, module: &str| (stack.into(), layer, module.into());
        assert_eq!(
            said("model.layers.3.self_attn.q_proj.weight"),
            wanted("model.layers", Some(3), "self_attn.q_proj")
        );
        assert_eq!(said("blk.12.attn_q.bias"), wanted("blk", Some(12), "attn_q.bias"));
        assert_eq!(said("model.norm.weight"), wanted("", None, "model.norm"));
        assert_eq!(
            said("model.layers.3.mlp.experts.17.up_proj.weight"),
            wanted("model.layers", Some(3), "mlp.experts.*.up_proj")
        );
        assert_eq!(said("0.weight"), wanted("", None, "0"));
    }

    #[test]
    fn layers_that_follow_each_other_are_one_range() {
        assert_eq!(ranges(&[3, 0, 1, 2, 5]), "0-3, 5");
        assert_eq!(ranges(&[7, 7]), "7");
        assert_eq!(ranges(&[0, 2, 4, 6, 8]), "0, 2, 4, 6, ..");
        assert_eq!(ranges(&[]), "");
    }
}
