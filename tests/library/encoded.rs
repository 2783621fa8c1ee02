//! Numbers into blocks: the bytes are those of ggml's C (`oracles/ggml_encoded.py`), for every
//! type that is written, without and with importance.

use std::sync::Arc;

use serde_json::Value as Json;
use weighbridge::internals::schemes::{
    Candidate, Configs, Encoder, Largest, QuantizeWishes, Request, SCHEMES, TypeAssignment,
};
use weighbridge::{DType, Importance, Model, Result, StoredType};

use crate::common::{made, root, sha256};

/// Importance that is at hand.
struct Known(Arc<[f32]>);

impl Importance for Known {
    fn values(&self) -> Result<Arc<[f32]>> {
        Ok(self.0.clone())
    }
}

/// Rows of numbers and the importance of their columns.
struct Rows<'a> {
    values: &'a [f32],
    columns: usize,
    importance: Option<&'a [f32]>,
}

/// The encoder of a type, as a quantizer gives it to a weight for which users ask for the type.
fn encoder(block: &str, rows: &Rows<'_>) -> Arc<dyn Encoder> {
    // Single rows are never quantized, but encoders do not mind. The last matrix may have any type
    // without importance.
    let shape = [2, rows.columns as u64];
    let weight = Candidate { name: "output.weight", shape: &shape, dtype: DType::F32, block: None };
    let wishes = QuantizeWishes::default();
    let known = rows.importance.map(|values| Arc::new(Known(values.into())) as Arc<dyn Importance>);
    let request = Request {
        weights: &[weight],
        metadata: &|_| None,
        configs: Configs::new(&[], SCHEMES),
        takes_as_saved: &|_, _| false,
        wishes: &wishes,
        keeps: &|_| false,
        asked: &|_| Some(block.to_owned()),
        importance: &|_| known.clone(),
        largest: &|_| -> Largest { Arc::new(|| Ok(1.0)) },
    };
    let chosen = SCHEMES.quantizer("Q8_0").unwrap().choose(&request).unwrap();
    match chosen.fates.into_iter().next() {
        Some(TypeAssignment::Encode(encoder)) => encoder,
        _ => panic!("{block} is not encoded"),
    }
}

fn encoded(block: &str, rows: &Rows<'_>) -> Vec<u8> {
    let shape = [(rows.values.len() / rows.columns) as u64, rows.columns as u64];
    let encoder = encoder(block, rows);
    let outputs = encoder.outputs("output.weight", &shape).unwrap();
    let mut bytes = vec![0; usize::try_from(outputs[0].bytes).unwrap()];
    let elements = 0..rows.values.len() as u64;
    encoder.begin(&shape).encode(elements, rows.values, &mut [&mut bytes]).unwrap();
    bytes
}

/// The block types that numbers can be stored in.
fn types() -> Vec<&'static str> {
    let block = |encoder: Arc<dyn Encoder>| match &encoder.types()[..] {
        [StoredType::Block(block)] => Some(block.name),
        _ => None,
    };
    SCHEMES.encoders().filter_map(block).collect()
}

/// Every type that ggml stores weights in.
const ALL: [&str; 25] = [
    "IQ1_M", "IQ1_S", "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ3_S", "IQ3_XXS", "IQ4_NL", "IQ4_XS",
    "MXFP4", "NVFP4", "Q1_0", "Q2_0", "Q2_K", "Q3_K", "Q4_0", "Q4_1", "Q4_K", "Q5_0", "Q5_1",
    "Q5_K", "Q6_K", "Q8_0", "TQ1_0", "TQ2_0",
];

#[test]
fn every_type_of_ggml_is_written() {
    let mut types = types();
    types.sort_unstable();
    assert_eq!(types, ALL);
}

fn open(name: &str) -> Model {
    Model::open(root().join("tests/files/encoded").join(name)).unwrap()
}

#[test]
fn blocks_are_those_of_ggml() {
    let inputs = open("inputs.safetensors");
    let values = |name: &str| inputs.weight(name).unwrap().decode_to_vec::<f32>().unwrap();
    for block in types() {
        let expected = open(&format!("{block}.safetensors"));
        let mut count = 0;
        for blocks in expected.weights() {
            let name = blocks.name().trim_end_matches(".importance");
            let columns = name.rsplit('.').next().unwrap();
            let (values, known) = (values(name), values(&format!("importance.{columns}")));
            let by_importance = name != blocks.name();
            let rows = Rows {
                values: &values,
                columns: columns.parse().unwrap(),
                importance: by_importance.then_some(&known[..]),
            };
            check(
                block,
                blocks.name(),
                rows.columns,
                &encoded(block, &rows),
                blocks.bytes().unwrap(),
            );
            count += 1;
        }
        assert!(count >= 18, "{block} has {count} samples");
    }
}

/// A number, which is text where JSON has none.
fn number(value: &Json) -> f32 {
    value
        .as_str()
        .map_or_else(|| value.as_f64().unwrap().to_string(), str::to_owned)
        .parse()
        .unwrap()
}

/// What ggml makes of NaN and infinity (`oracles/ggml_non_finite.py`).
#[test]
fn what_is_not_finite_is_stored_as_ggml_stores_it() {
    let path = root().join("tests/files/encoded/non-finite.json");
    let goldens: Vec<Json> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for golden in &goldens {
        let values: Vec<f32> = golden["values"].as_array().unwrap().iter().map(number).collect();
        assert_eq!(values.iter().filter(|value| !value.is_finite()).count(), 1);
        let blocks: Vec<u8> = serde_json::from_value(golden["blocks"].clone()).unwrap();
        let rows = Rows { values: &values, columns: 64, importance: None };
        let kind = golden["kind"].as_str().unwrap();
        check(kind, golden["bad"].as_str().unwrap(), 64, &encoded(kind, &rows), &blocks);
    }
    assert_eq!(goldens.len(), 6);
}

/// Says which block differs first.
fn check(block: &str, name: &str, columns: usize, found: &[u8], expected: &[u8]) {
    assert_eq!(found.len(), expected.len(), "{block} {name}");
    if let Some(at) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
        panic!("{block} of {name}, rows of {columns}: byte {at} differs");
    }
}

#[test]
fn blocks_of_many_numbers_are_those_of_ggml() {
    let path = root().join("tests/files/encoded/made.json");
    let json: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for block in types() {
        for (name, hash) in json["types"][block].as_object().unwrap() {
            let columns = name.trim_end_matches(".importance");
            let rows = usize::try_from(json["rows"][columns].as_u64().unwrap()).unwrap();
            let count: usize = columns.parse().unwrap();
            let bits = made::weights(&format!("encoded.{columns}"), rows * count);
            let values = made::widened(&bits);
            let known = made::importance(&format!("importance.{columns}"), count);
            let importance = (name != columns).then_some(&known[..]);
            let rows = Rows { values: &values, columns: count, importance };
            let found = sha256(&encoded(block, &rows));
            assert_eq!(found, hash.as_str().unwrap(), "{block} {name}");
        }
    }
}
