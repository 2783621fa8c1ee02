//! Ways in which several classes have weights lie that are no words of rows.

use crate::projectors::facts::Facts;
use crate::projectors::rows::Part;

/// The first two dimensions are made one.
pub(crate) fn flattened(_: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let [rows, columns, inner @ ..] = shape else { return None };
    Some(Part::seen(&[&[rows.checked_mul(*columns)?], inner].concat()))
}
