//! Models of a type that a loader cannot load, or loads with other numbers.
//!
//! A type states them beside its encoder. Each is measured by `oracles/check_loaders.py`, and so is
//! that all other models of the type load.

use serde_json::Value as Json;

use crate::dtype::DType;
use crate::framework::Candidate;
use crate::warning::Warning;

/// A model as a loader gets it.
pub struct StoredModel<'a> {
    /// Its encoded weights.
    pub encoded: Vec<&'a Candidate<'a>>,
}

/// A kind of model that a loader fails with.
#[derive(Clone, Copy)]
pub struct LoaderFault {
    /// Kind of the warning.
    pub kind: &'static str,
    /// Whether it concerns a model.
    pub concerns: fn(&StoredModel<'_>) -> bool,
    /// Which loader it is, and what it does.
    pub message: &'static str,
}

impl LoaderFault {
    /// Returns the warnings about a model. `key` and `value` say how it is stored.
    pub fn warnings(all: &[Self], key: &str, value: &str, model: &StoredModel<'_>) -> Vec<Warning> {
        let found = all.iter().filter(|fault| !model.encoded.is_empty() && (fault.concerns)(model));
        let warning =
            |fault: &Self| Warning::new(fault.kind, key, Json::from(value), fault.message);
        found.map(warning).collect()
    }
}

impl StoredModel<'_> {
    /// Whether any encoded weight is like that.
    pub(crate) fn has(&self, is_like: impl Fn(&Candidate<'_>) -> bool) -> bool {
        self.encoded.iter().any(|weight| is_like(weight))
    }
}

/// Every model.
pub(crate) fn any(_: &StoredModel<'_>) -> bool {
    true
}

/// Models with a matrix for each expert, which transformers 5 fuses.
pub(crate) fn has_expert_matrices(model: &StoredModel<'_>) -> bool {
    model.has(|weight| weight.shape.len() == 2 && weight.name.contains(".experts."))
}

/// Models with another type than BF16.
pub(crate) fn is_not_bf16(model: &StoredModel<'_>) -> bool {
    model.has(|weight| weight.dtype != DType::BF16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::LOADS_WRONG;

    #[test]
    fn a_fault_concerns_models_with_such_weights_only() {
        let weight = |name, dtype| Candidate { name, shape: &[4, 4], dtype, block: None };
        let dense = &weight("model.layers.0.mlp.shared_expert.up_proj.weight", DType::BF16);
        let expert = &weight("model.layers.0.mlp.experts.3.up_proj.weight", DType::BF16);
        let half = &weight("model.layers.0.mlp.up_proj.weight", DType::F16);
        let fault = |concerns| LoaderFault { kind: LOADS_WRONG, concerns, message: "wrong" };
        let all = [fault(any), fault(has_expert_matrices), fault(is_not_bf16)];
        let warnings = |faults: &[LoaderFault], weights: &[&Candidate<'_>]| {
            let model = StoredModel { encoded: weights.to_vec() };
            LoaderFault::warnings(faults, "type", "x", &model)
        };
        assert_eq!(warnings(&all, &[]).len(), 0);
        assert_eq!(warnings(&all, &[dense]).len(), 1);
        assert_eq!(warnings(&all, &[dense, expert]).len(), 2);
        assert_eq!(warnings(&all, &[dense, half]).len(), 2);
        let warning = &warnings(&all[1..2], &[expert])[0];
        let said = (warning.kind, &*warning.key, &warning.value, &*warning.message);
        assert_eq!(said, (LOADS_WRONG, "type", &Json::from("x"), "wrong"));
    }
}
