//! Ways in which several classes have weights lie that are no words of rows.

use crate::projectors::facts::Facts;
use crate::projectors::rows::Part;

/// The first two dimensions are made one.
pub(crate) fn flattened(_: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let [rows, columns, inner @ ..] = shape else { return None };
    Some(Part::seen(&[&[rows.checked_mul(*columns)?], inner].concat()))
}

/// One dimension of one is put before the others.
pub(crate) fn row(_: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    Some(Part::seen(&[&[1], shape].concat()))
}

/// Patches that lie colour by colour, as a kernel.
pub(crate) fn kernel(_: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let &[outputs, numbers] = shape else { return None };
    let side = (numbers / 3).isqrt();
    (side * side * 3 == numbers).then(|| Part::seen(&[outputs, 3, side, side]))
}
