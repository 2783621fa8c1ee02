//! Which weights become which tensors of a projector's file.
//!
//! A row is a module's name behind its start, the tensors that are in it, and how they lie there. `#` stands for
//! a number. Names stand without `.weight` and `.bias`, or are whole ones on both sides.

use super::facts::Facts;
use crate::catalog::Shape;
use crate::change::Change;
use crate::view::{Rows, View};

/// A module, the tensors that it becomes, and how they lie in it.
pub(crate) type Row = (&'static str, &'static [&'static str], How);

/// How the tensors of a row lie in a weight.
#[derive(Clone, Copy)]
pub(crate) enum How {
    /// As it is.
    Plain,
    /// Its rows, cut into equal parts: one for each tensor.
    Split,
    /// The rows of each vision head have the two of a pair side by side, where they were half a head apart.
    Pairs,
    /// A kernel of a convolution over time, cut along it: one for each tensor.
    Slices,
    /// As it is, but for dimensions of one that go.
    Squeezed,
    /// As it is, with so many dimensions of one behind.
    Behind(usize),
    /// A constant is added.
    Plus(f32),
    /// A patch's numbers, which lie pixel by pixel, colour by colour; as a kernel.
    Pixels,
    /// Its numbers, changed one by one. For small weights: they are read when the file is planned.
    Numbers(fn(f32) -> f32),
    /// What a function makes of its numbers, and in which shape; none for a shape that the config does not make.
    /// For small weights: they are read when the file is planned.
    Read(Reading),
    /// A part of a stack of several. The last number of its name is its place.
    Stacked,
    /// The same, where parts differ in length: zeros are behind the shorter ones. For small weights.
    Padded,
    /// A vector of a norm over a batch. All of them become a weight and a bias.
    Folded,
    /// Any other way: none for a shape that the config does not make.
    Own(fn(&Facts<'_>, &[u64]) -> Option<Vec<Part>>),
}

/// What makes another tensor of a weight's shape and numbers.
pub(crate) type Reading = fn(&Facts<'_>, &[u64], &[f32]) -> Option<(Vec<u64>, Vec<f32>)>;

/// What of a weight is in one of the tensors of its row.
pub(crate) struct Part {
    /// Which of them.
    pub tensor: usize,
    /// Its place, where the tensor is a stack of several weights.
    pub stacked: Option<u64>,
    /// The shape that it has there.
    pub shape: Shape,
    /// Which numbers of the weight it has, one after the other.
    pub views: Vec<View>,
}

impl Part {
    /// All of a tensor.
    pub fn whole(shape: &[u64], view: View) -> Self {
        Self { tensor: 0, stacked: None, shape: shape.into(), views: vec![view] }
    }

    /// A weight as it is, in a shape.
    pub fn seen(shape: &[u64]) -> Vec<Self> {
        vec![Self::whole(shape, View::whole(shape))]
    }

    /// The same in another tensor of the row.
    pub fn in_tensor(self, tensor: usize) -> Self {
        Self { tensor, ..self }
    }
}

impl How {
    /// The parts of a weight; none if its shape is not one that it can have.
    pub fn parts(self, facts: &Facts<'_>, shape: &[u64], tensors: usize) -> Option<Vec<Part>> {
        Some(match self {
            Self::Plain
            | Self::Numbers(_)
            | Self::Read(_)
            | Self::Folded
            | Self::Stacked
            | Self::Padded => Part::seen(shape),
            Self::Split => split(shape, tensors)?,
            Self::Pairs => pairs(shape, facts.vision_heads()?)?,
            Self::Slices => slices(shape, tensors)?,
            Self::Squeezed => {
                let rest = shape.iter().copied().filter(|side| *side != 1);
                Part::seen(&rest.collect::<Vec<_>>())
            }
            Self::Behind(ones) => Part::seen(&[shape, &vec![1; ones]].concat()),
            Self::Plus(more) => {
                let view = View { change: Change::Add(more), ..View::whole(shape) };
                vec![Part::whole(shape, view)]
            }
            Self::Pixels => {
                let [outputs, numbers] = shape else { return None };
                let side = (numbers / 3).isqrt();
                let kernel = [*outputs, 3, side, side];
                let fits = side > 0 && side * side * 3 == *numbers;
                let view = colours(*outputs, side * side).filter(|_| fits)?;
                vec![Part::whole(&kernel, view)]
            }
            Self::Own(own) => own(facts, shape)?,
        })
    }
}

fn split(shape: &[u64], tensors: usize) -> Option<Vec<Part>> {
    let (&all, inner) = shape.split_first()?;
    let count = u64::try_from(tensors).ok()?;
    let rows = all.checked_div(count).filter(|rows| *rows > 0 && rows * count == all)?;
    // A vector is one row, which is seen as a column.
    let column = if inner.is_empty() { &[1][..] } else { inner };
    let inner_rows = column[..column.len() - 1].iter().product::<u64>();
    let own: Vec<u64> = [&[rows], inner].concat();
    let seen: Vec<u64> = [&[rows], column].concat();
    let starts = (0..tensors).zip((0..count).map(|part| part * rows * inner_rows));
    Some(
        starts
            .map(|(at, start)| Part::whole(&own, View::part(&seen, start)).in_tensor(at))
            .collect(),
    )
}

fn pairs(shape: &[u64], heads: u64) -> Option<Vec<Part>> {
    Some(vec![Part::whole(shape, View::whole(shape).by_heads(heads, false)?)])
}

/// `[out, in, time, height, width]`, at each time.
fn slices(shape: &[u64], tensors: usize) -> Option<Vec<Part>> {
    let &[outer, inner, time, height, width] = shape else { return None };
    let kernel = [outer, inner, height, width];
    let fits = u64::try_from(tensors).ok() == Some(time) && height > 0;
    let slice = |at: u64| {
        let rows = Rows::Runs { start: at * height, run: height, period: time * height };
        Part::whole(&kernel, View { rows, ..View::whole(&kernel) })
    };
    fits.then(|| (0..tensors).zip(0..time).map(|(at, time)| slice(time).in_tensor(at)).collect())
}

/// Three colours of each of so many pixels, colour by colour.
pub(crate) fn colours(outputs: u64, pixels: u64) -> Option<View> {
    let all = outputs.checked_mul(pixels)?.checked_mul(3)?;
    let rows = Rows::Tiled { start: 0, groups: pixels, members: 3, run: 1 };
    Some(View { rows, ..View::whole(&[all, 1]) })
}
