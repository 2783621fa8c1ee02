//! Builds the module tree and folds identical modules.
//!
//! Names are split at dots. Children with numbers as names are identical if their weights have the
//! same names, shapes and storage. Identical children become one module named by its ranges. Folding
//! starts at the leaves, so experts are folded before their layers.

use std::collections::HashMap;

use weighbridge::ops::TensorReport;

use super::super::sort::by_name;
use super::{Kind, Module};

/// Most pieces that a name is split into.
const DEEPEST: usize = 32;

/// A module before folding.
#[derive(Default)]
struct Branch<'n> {
    weights: Vec<&'n TensorReport>,
    inner: HashMap<&'n str, Branch<'n>>,
}

pub(super) fn tree(tensors: &[TensorReport]) -> Vec<Module> {
    let mut root = Branch::default();
    for tensor in tensors {
        let mut branch = &mut root;
        for name in tensor.name.splitn(DEEPEST, '.') {
            branch = branch.inner.entry(name).or_default();
        }
        branch.weights.push(tensor);
    }
    let mut shapes = Shapes::default();
    let mut modules = folded(root.inner, &mut shapes).0;
    modules.iter_mut().for_each(joined);
    modules
}

/// The weights of a module, and the names and content numbers of its modules.
type Contents = (Vec<Kind>, Vec<(String, usize)>);

/// Numbers distinct module contents.
#[derive(Default)]
struct Shapes {
    known: HashMap<Contents, usize>,
}

impl Shapes {
    fn number(&mut self, weights: Vec<Kind>, inner: Vec<(String, usize)>) -> usize {
        let next = self.known.len();
        *self.known.entry((weights, inner)).or_insert(next)
    }
}

/// Identical modules.
struct Group {
    numbers: Vec<u64>,
    sort: usize,
    sum: Module,
}

/// Folds the modules of one level, and returns their names and content numbers too.
fn folded(
    branches: HashMap<&str, Branch<'_>>,
    shapes: &mut Shapes,
) -> (Vec<Module>, Vec<(String, usize)>) {
    let mut branches: Vec<_> = branches.into_iter().collect();
    branches.sort_by(|(a, _), (b, _)| by_name(a, b));
    let (mut all, mut by_sort): (Vec<Group>, HashMap<usize, usize>) = Default::default();
    for (name, branch) in branches {
        let (sum, sort) = module(name, branch, shapes);
        let number = number(name);
        match number.and_then(|_| by_sort.get(&sort).copied()) {
            Some(known) => {
                all[known].numbers.extend(number);
                merge(&mut all[known].sum, &sum);
            }
            None => {
                if number.is_some() {
                    by_sort.insert(sort, all.len());
                }
                all.push(Group { numbers: number.into_iter().collect(), sort, sum });
            }
        }
    }
    for group in all.iter_mut().filter(|group| group.numbers.len() > 1) {
        group.sum.name = ranges(&group.numbers);
    }
    let sorts = all.iter().map(|group| (group.sum.name.clone(), group.sort)).collect();
    (all.into_iter().map(|group| group.sum).collect(), sorts)
}

/// Builds a module with its children, and returns its content number.
fn module(name: &str, branch: Branch<'_>, shapes: &mut Shapes) -> (Module, usize) {
    let (modules, sorts) = folded(branch.inner, shapes);
    let kinds: Vec<Kind> = branch.weights.iter().map(|tensor| kind(tensor)).collect();
    let weight = kinds.first().cloned();
    let own = |of: fn(&TensorReport) -> u64| {
        branch.weights.iter().map(|tensor| of(tensor)).fold(0, u64::saturating_add)
    };
    let inner = |of: fn(&Module) -> u64| modules.iter().map(of).fold(0, u64::saturating_add);
    let module = Module {
        name: name.to_owned(),
        weights: own(|_| 1) + inner(|module| module.weights),
        parameters: own(|tensor| tensor.parameters).saturating_add(inner(|one| one.parameters)),
        bytes: own(|tensor| tensor.bytes).saturating_add(inner(|one| one.bytes)),
        weight,
        modules,
    };
    (module, shapes.number(kinds, sorts))
}

fn kind(tensor: &TensorReport) -> Kind {
    let (scheme, variant) = (tensor.scheme, tensor.variant.clone());
    Kind { shape: tensor.shape.clone(), scheme, variant }
}

/// The number that a name spells canonically.
fn number(name: &str) -> Option<u64> {
    name.parse().ok().filter(|number: &u64| number.to_string() == name)
}

/// Adds the totals of an identical module.
fn merge(sum: &mut Module, other: &Module) {
    sum.weights += other.weights;
    sum.parameters = sum.parameters.saturating_add(other.parameters);
    sum.bytes = sum.bytes.saturating_add(other.bytes);
    for (sum, other) in sum.modules.iter_mut().zip(&other.modules) {
        merge(sum, other);
    }
}

/// Formats ranges: `0-31`, or `{0-3,8}` with gaps.
fn ranges(numbers: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let shown = |&(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    match &ranges[..] {
        [one] => shown(one),
        several => format!("{{{}}}", several.iter().map(shown).collect::<Vec<_>>().join(",")),
    }
}

/// Joins a module with its only child: `q_proj.weight`.
fn joined(module: &mut Module) {
    while module.weight.is_none()
        && let [_] = module.modules[..]
        && let Some(inner) = module.modules.pop()
    {
        let name = format!("{}.{}", module.name, inner.name);
        *module = Module { name, ..inner };
    }
    module.modules.iter_mut().for_each(joined);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(module: &Module, depth: usize, out: &mut Vec<String>) {
        let (name, weights, sum) = (&module.name, module.weights, module.parameters);
        out.push(format!("{:1$}{name} {weights} {sum}", "", depth));
        module.modules.iter().for_each(|inner| line(inner, depth + 1, out));
    }

    /// The tree of weights with these names and lengths.
    fn tree_of(weights: &[(&str, u64)]) -> Vec<String> {
        let json = serde_json::json!({
            "a": { "dtype": "U8", "shape": [1], "data_offsets": [0, 1] },
        });
        let header = json.to_string();
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header.as_bytes());
        file.push(0);
        let model = weighbridge::Model::open_bytes(file, "a").unwrap();
        let options = weighbridge::ops::InspectOptions { tensors: true, ..Default::default() };
        let tensors: Vec<TensorReport> = weights
            .iter()
            .map(|(name, len)| {
                let report = weighbridge::ops::inspect(&model, &options).unwrap();
                let mut tensor = report.tensors.unwrap().pop().unwrap();
                tensor.name = (*name).to_owned();
                (tensor.shape, tensor.parameters, tensor.bytes) = (vec![*len], *len, *len);
                tensor
            })
            .collect();
        let mut out = Vec::new();
        tree(&tensors).iter().for_each(|module| line(module, 0, &mut out));
        out
    }

    #[test]
    fn layers_and_experts_that_are_alike_are_one() {
        let names: Vec<String> = (0..3)
            .flat_map(|layer| (0..2).map(move |expert| format!("m.l.{layer}.e.{expert}.w")))
            .chain(["m.norm".to_owned()])
            .collect();
        let weights: Vec<_> = names.iter().map(|name| (&**name, 5)).collect();
        assert_eq!(tree_of(&weights), ["m 7 35", " l.0-2.e.0-1.w 6 30", " norm 1 5"]);
    }

    #[test]
    fn one_that_differs_stands_alone() {
        let weights =
            [("l.0.w", 5), ("l.1.w", 5), ("l.2.w", 6), ("l.3.w", 5), ("l.10.w", 5), ("l.02.w", 5)];
        let want = ["l 6 31", " {0-1,3,10}.w 4 20", " 2.w 1 6", " 02.w 1 5"];
        assert_eq!(tree_of(&weights), want);
        let extra = [("0.a", 1), ("1.a", 1), ("1.b", 1)];
        assert_eq!(tree_of(&extra), ["0.a 1 1", "1 2 2", " a 1 1", " b 1 1"]);
    }

    #[test]
    fn a_weight_may_hold_others() {
        assert_eq!(tree_of(&[("a", 1), ("a.b", 2)]), ["a 2 3", " b 1 2"]);
        let deep = vec!["x"; 10_000].join(".");
        assert_eq!(tree_of(&[(&deep, 1)]), [format!("{deep} 1 1")]);
        assert_eq!(tree_of(&[]), [""; 0]);
    }
}
