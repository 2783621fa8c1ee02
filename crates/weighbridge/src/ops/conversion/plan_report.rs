//! The whole plan of a conversion, for those who want to see it before anything is written.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::catalog::Value;
use crate::containers::writing::MetadataValue;
use crate::ops::reports::reports;
use crate::pipeline::{Plan, Target};

/// Arrays with more elements are stated by their type and length.
const MOST_ELEMENTS: usize = 64;

reports! {
    /// Every tensor that would be written, and the metadata. The field names are the JSON contract.
    #[derive(Default)]
    pub struct PlanReport {
        pub tensors: Vec<PlannedTensor>,
        pub metadata: Map<String, Json>,
        pub metadata_types: BTreeMap<String, String>,
    }

    /// A tensor that would be written.
    pub struct PlannedTensor {
        pub name: String,
        pub dtype: String,
        pub shape: Vec<u64>,
        pub bytes: u64,
        pub file: String,
        /// How the numbers are stored that it is made from.
        pub scheme: &'static str,
        pub variant: String,
    }
}

/// Adds a plan to what is shown.
pub(super) fn show_plan(report: &mut PlanReport, target: &Target, plan: &Plan) {
    for file in &plan.files {
        for (job, output) in
            file.jobs.iter().flat_map(|job| job.outputs.iter().map(move |o| (job, o)))
        {
            let (scheme, variant) = job.scheme();
            report.tensors.push(PlannedTensor {
                name: output.name.clone(),
                dtype: output.stored.name().to_owned(),
                shape: output.shape.to_vec(),
                bytes: output.bytes,
                file: target.path_of(&file.name),
                scheme,
                variant: variant.to_owned(),
            });
        }
    }
    for (key, value) in plan.described.iter().flatten() {
        let (kind, json) = match value {
            MetadataValue::Value(value) => (value.type_name(), shown(value)),
            MetadataValue::Raw(_) => ("array".to_owned(), Json::Null),
        };
        report.metadata.insert(key.clone(), json);
        report.metadata_types.insert(key.clone(), kind);
    }
}

fn shown(value: &Value) -> Json {
    match value.list_len() {
        Some(length) if length > MOST_ELEMENTS => {
            json!({ "array": value.element_type(), "length": length })
        }
        _ => value.to_json(),
    }
}
