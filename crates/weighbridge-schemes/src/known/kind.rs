//! What is known about a scheme that is recognised and not decoded.

use super::Group;
use crate::catalog::Shape;
use crate::dtype::DType;
use crate::framework::Roster;

/// Something that follows from the tensors of a weight.
type Of<T> = fn(&Group<'_, '_>) -> T;

/// What is known of a scheme.
pub(super) struct Kind {
    /// Its name in the variant.
    pub(super) name: &'static str,
    /// Its name in messages.
    pub(super) title: &'static str,
    /// The suffix of the tensor that a weight is found by.
    pub(super) anchor: &'static str,
    /// The types that tensor may have; any, if there are none.
    pub(super) types: &'static [DType],
    /// Suffixes of the companions it must have.
    pub(super) needs: &'static [&'static str],
    /// Suffixes of those it may have, with blanks between them.
    pub(super) takes: &'static str,
    /// Suffixes of what belongs to activations, and to no weight.
    pub(super) drops: &'static [&'static str],
    /// The methods of the config that it needs, where the names alone do not tell.
    pub(super) method: &'static [&'static str],
    /// What else must be true.
    pub(super) fits: Of<bool>,
    /// The logical shape, where it can be told.
    pub(super) shape: Of<Option<Shape>>,
    /// More about the variant: the bits, the class.
    pub(super) detail: Of<Option<String>>,
    /// What to do instead.
    pub(super) instead: &'static str,
}

/// A scheme by its name in variants, whose weights are found by the suffix and the types of a tensor
/// and by the companions that it needs.
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

/// A method for each field that not all rows have, which sets it.
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

    /// Whether a scheme decodes it: one of its name, or one that reads models of a method so called.
    pub(super) fn is_decoded(&self, schemes: &Roster) -> bool {
        let others = schemes.owners(self.name).any(|(scheme, _)| scheme != super::NAME);
        others || schemes.names.contains(&self.name)
    }
}
