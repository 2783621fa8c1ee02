//! The facts by which an unsupported scheme is recognised.

use super::Group;
use crate::catalog::Shape;
use crate::dtype::DType;
use crate::framework::Roster;

/// A fact derived from the tensors of a weight.
type Of<T> = fn(&Group<'_, '_>) -> T;

/// Facts about an unsupported scheme.
pub(super) struct Kind {
    /// Name in the variant.
    pub(super) name: &'static str,
    /// Name in messages.
    pub(super) title: &'static str,
    /// Suffix of the tensor by which a weight is found.
    pub(super) anchor: &'static str,
    /// Types that this tensor may have; any if empty.
    pub(super) types: &'static [DType],
    /// Suffixes of required companions.
    pub(super) needs: &'static [&'static str],
    /// Suffixes of optional companions, separated by spaces.
    pub(super) takes: &'static str,
    /// Suffixes of tensors that belong to activations, not to weights.
    pub(super) drops: &'static [&'static str],
    /// Methods of the config that are required if the names alone are ambiguous.
    pub(super) method: &'static [&'static str],
    /// Further conditions.
    pub(super) fits: Of<bool>,
    /// Logical shape, if known.
    pub(super) shape: Of<Option<Shape>>,
    /// More about the variant: the bits, the class.
    pub(super) detail: Of<Option<String>>,
    /// Advice on what to do instead.
    pub(super) instead: &'static str,
}

/// Creates a scheme by its name in variants. Its weights are found by the suffix and the types of a
/// tensor, and by the required companions.
pub(super) const fn found(
    name: &'static str,
    anchor: &'static str,
    types: &'static [DType],
    needs: &'static [&'static str],
) -> Kind {
    Kind {
        name,
        title: "",
        anchor,
        types,
        needs,
        takes: "",
        drops: &[],
        method: &[],
        fits: |_| true,
        shape: |_| None,
        detail: |_| None,
        instead: "convert the original model",
    }
}

/// Defines a setter for each optional field.
macro_rules! setters {
    ($($field:ident: $type:ty,)*) => {
        $(pub(super) const fn $field(self, $field: $type) -> Self {
            Self { $field, ..self }
        })*
    };
}

impl Kind {
    setters! {
        title: &'static str,
        takes: &'static str,
        drops: &'static [&'static str],
        method: &'static [&'static str],
        fits: Of<bool>,
        shape: Of<Option<Shape>>,
        detail: Of<Option<String>>,
        instead: &'static str,
    }

    /// Whether another scheme decodes it: one of its name, or one that reads models of a method of
    /// that name.
    pub(super) fn is_decoded(&self, schemes: &Roster) -> bool {
        let others = schemes.owners(self.name).any(|(scheme, _)| scheme != super::NAME);
        others || schemes.names.contains(&self.name)
    }
}
