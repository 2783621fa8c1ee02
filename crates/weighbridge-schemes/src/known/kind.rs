//! What is known about a scheme that is recognised and not decoded.

use super::Group;
use crate::catalog::Shape;
use crate::dtype::DType;
use crate::framework::Registry;

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
    /// Suffixes of those it may have.
    pub(super) takes: &'static [&'static str],
    /// Suffixes of what belongs to activations, and to no weight.
    pub(super) drops: &'static [&'static str],
    /// The methods of the config that it needs, where the names alone do not tell.
    pub(super) method: &'static [&'static str],
    /// What else must be true.
    pub(super) fits: fn(&Group<'_, '_>) -> bool,
    /// The logical shape, where it can be told.
    pub(super) shape: fn(&Group<'_, '_>) -> Option<Shape>,
    /// More about the variant: the bits, the class.
    pub(super) detail: fn(&Group<'_, '_>) -> Option<String>,
    /// What is added to the module's name to make the weight's.
    pub(super) weight: &'static str,
    /// What to do instead.
    pub(super) instead: &'static str,
}

impl Kind {
    /// Whether a scheme decodes it: one of its name, or one that reads models of a method so called.
    pub(super) fn is_decoded(&self, schemes: Registry<'_>) -> bool {
        let others = schemes.of_method(self.name).any(|scheme| scheme != super::NAME);
        others || schemes.scheme(self.name).is_some()
    }
}
