//! Stores four-bit floats of other schemes in ModelOpt's layout, with unquantized activations.

use serde_json::{Value as Json, json};

use super::{GROUP, modelopt};
use crate::arithmetic::SmallFloats;
use crate::framework::loader_faults::any;
use crate::framework::{
    CodeNumbers, CodedWeight, LaidOut, LayoutMismatch, LoaderFault, TargetLayout, ToLayOut,
};
use crate::warning::WILL_NOT_LOAD;

/// ModelOpt's layout.
pub(super) struct ModelOptLayout;

/// Its tensors. ModelOpt's reader reads code 8 as zero, so minus zero loses its sign there.
const TENSORS: SmallFloats = SmallFloats {
    ends: ["weight", "weight_scale", "weight_scale_2"],
    factor_shape: &[],
    divides: false,
    has_minus_zero: false,
};

const SIGNS: &str = "codes of minus zero are kept, but ModelOpt's own reader reads them as zero";

impl TargetLayout for ModelOptLayout {
    fn name(&self) -> Option<&'static str> {
        Some(modelopt::METHOD.name)
    }

    fn lay_out(&self, model: &ToLayOut<'_>) -> Result<LaidOut, Vec<LayoutMismatch>> {
        let weights = model.each(|weight| TENSORS.packed(weight))?;
        let ignore: Vec<&str> = model.plain_modules().collect();
        let file = serde_json::to_vec_pretty(&json!({
            "producer": producer(),
            "quantization": {
                "exclude_modules": ignore,
                "group_size": GROUP,
                "kv_cache_quant_algo": null,
                "quant_algo": ALGORITHM,
            },
        }));
        let mut laid_out = LaidOut::described(weights, settings(&ignore));
        laid_out.loader_faults = LOADER_FAULTS;
        laid_out.additions.files.push((modelopt::FILE.name.to_owned(), file.unwrap_or_default()));
        let loses_signs = |weight: &CodedWeight<'_>| {
            weight.form.numbers == CodeNumbers::Floats { has_minus_zero: true }
        };
        if model.weights.iter().any(loses_signs) {
            laid_out.notes.push(SIGNS.to_owned());
        }
        Ok(laid_out)
    }
}

/// Programs that know the layout are ModelOpt and vLLM.
pub(super) const LOADER_FAULTS: &[LoaderFault] = &[LoaderFault {
    kind: WILL_NOT_LOAD,
    concerns: any,
    message: "transformers 5.22.2 has no loader for ModelOpt's layout",
}];

/// ModelOpt's name for four-bit floats with unquantized activations.
pub(super) const ALGORITHM: &str = "W4A16_NVFP4";

fn settings(ignore: &[&str]) -> Json {
    json!({
        "config_groups": { "group_0": {
            "targets": ["Linear"],
            "weights": { "dynamic": false, "group_size": GROUP, "num_bits": 4, "type": "float" },
        } },
        "ignore": ignore,
        "producer": producer(),
        "quant_algo": ALGORITHM,
        "quant_method": modelopt::METHOD.name,
    })
}

/// Returns ModelOpt as producer, in the version that writes this.
pub(super) fn producer() -> Json {
    json!({ "name": modelopt::METHOD.name, "version": "0.47.0" })
}
