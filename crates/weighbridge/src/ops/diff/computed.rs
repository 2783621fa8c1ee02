//! Tensors of a GGUF file that no weight of the original has: rotary factors, which follow from its
//! config. They are computed as a conversion computes them, and compared.

use crate::config;
use crate::error::{Error, Result};
use crate::model::{Derived, MadeOf, Model, Weight};
use crate::names::{Pair, Pairing, View, Which, keys};

/// By how much factors may differ: versions of the converter round their last digits differently.
const ROUNDING: f32 = 1e-5;

/// Compares the factors that a name alone explains. Those that differ become pairs with the computed
/// ones; those that the config does not have are missing there.
pub(super) fn check(
    models: [&Model; 2],
    weights: &mut [Vec<Weight>; 2],
    pairing: &mut Pairing,
    reads_values: bool,
) -> Result<()> {
    for (which, index, reason) in std::mem::take(&mut pairing.explained) {
        let side = usize::from(which == Which::B);
        let weight = weights[side][index].clone();
        if !keys::is_computed(weight.name()) {
            pairing.explained.push((which, index, reason));
            continue;
        }
        let other = models[1 - side];
        let verdict = if reads_values {
            verdict(&weight, other)?
        } else {
            Verdict::Explained("rotary scaling factors, values not compared")
        };
        match verdict {
            Verdict::Explained(reason) => pairing.explained.push((which, index, reason.into())),
            Verdict::Missing if side == 0 => pairing.only_a.push(index),
            Verdict::Missing => pairing.only_b.push(index),
            Verdict::Different(numbers) => {
                let computed = computed(other, weight.name(), numbers)?;
                pairing.pairs.push(pair(
                    side,
                    index,
                    weights[1 - side].len(),
                    [&weight, &computed],
                ));
                weights[1 - side].push(computed);
            }
        }
    }
    pairing.only_a.sort_unstable();
    pairing.only_b.sort_unstable();
    Ok(())
}

/// What comes of a comparison with the config.
enum Verdict {
    /// The factors need no counterpart.
    Explained(&'static str),
    /// The config has no such factors.
    Missing,
    /// The config has these factors.
    Different(Vec<f32>),
}

fn verdict(weight: &Weight, other: &Model) -> Result<Verdict> {
    let config = config::find(other.configs(), config::HUGGING_FACE);
    let Some(config) = config.filter(|config| keys::architecture(config).is_some()) else {
        let reason = "rotary scaling factors, not compared: no config of a known family";
        return Ok(Verdict::Explained(reason));
    };
    let mut expected = keys::computed_tensors(config).into_iter();
    let expected = expected.find(|(name, _)| *name == weight.name()).map(|(_, numbers)| numbers);
    let has_as_many =
        expected.as_ref().is_none_or(|numbers| numbers.len() as u64 == weight.elements());
    let stored = if has_as_many && weight.undecodable().is_none() {
        weight.decode_to_vec::<f32>()?
    } else {
        Vec::new()
    };
    let are_close = |numbers: &[f32]| {
        numbers.len() == stored.len() && numbers.iter().zip(&stored).all(|(a, b)| is_close(*a, *b))
    };
    Ok(match expected {
        Some(numbers) if are_close(&numbers) => {
            Verdict::Explained("rotary scaling factors, equal to the config's")
        }
        Some(numbers) => Verdict::Different(numbers),
        None if !stored.is_empty() && stored.iter().all(|factor| *factor == 1.0) => {
            Verdict::Explained("rotary scaling factors of 1, equal to no scaling")
        }
        None => Verdict::Missing,
    })
}

fn is_close(a: f32, b: f32) -> bool {
    a == b || (a - b).abs() <= ROUNDING * a.abs()
}

/// Numbers that follow from a config, as a weight of its model.
fn computed(model: &Model, name: &str, numbers: Vec<f32>) -> Result<Weight> {
    let shape = [numbers.len() as u64].into_iter().collect();
    let derived = Derived { name: name.to_owned(), shape, from: MadeOf::Numbers(numbers) };
    let model = model.derived(vec![derived])?;
    let weight = model.weights().next();
    weight.ok_or_else(|| Error::malformed("the config has no rotary factors").in_tensor(name))
}

/// The pair of a stored weight and a computed one.
fn pair(side: usize, stored: usize, computed: usize, [weight, other]: [&Weight; 2]) -> Pair {
    let views = [View::whole(weight.shape()), View::whole(other.shape())];
    let transform = Some("computed from config.json".to_owned());
    let [view_a, view_b] = if side == 0 {
        views
    } else {
        let [b, a] = views;
        [a, b]
    };
    let (a, b) = if side == 0 { (stored, computed) } else { (computed, stored) };
    Pair { a, b, view_a, view_b, transform }
}
