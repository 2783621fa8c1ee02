//! Models as ModelOpt exports them in four-bit floats: W4A16_NVFP4, which needs no data.
//!
//! ```text
//! P.weight U8 [out, in / 2], low nibble first; P.weight_scale F8_E4M3 [out, in / 16]; P.weight_scale_2 F32 []
//! ```
//!
//! Arithmetic of nvidia-modelopt 0.47.0 (`NVFP4QTensor`), all in f32: `scale_2 = amax / 2688` of all
//! weights that are fused; `scale = E4M3(clamp(amax of 16 / (6 * scale_2), 2^-9, 448))`, 1 where
//! that is zero; the code is the nearest E2M1 of `x / (scale * scale_2)`. Where all numbers of a
//! weight are zero, ModelOpt divides zero by zero: here scales are 1 and codes zero.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::GROUP;
use super::target::{ALGORITHM, LOADER_FAULTS, producer};
use crate::arithmetic::decode_again::{Coded, scaled};
use crate::arithmetic::group_codes::{largest, nibbles};
use crate::arithmetic::matrix::{Arithmetic, FLOATS4};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::conventions::fused_layers::Fused;
use crate::framework::conventions::linear_choice::choose_linear;
use crate::framework::conventions::modelopt;
use crate::framework::{
    Candidate, Chosen, Decoded, EncodedTensor, Encoder, Groups, Largest, LoaderFault, Quantizer,
    Request, WeightEncoder,
};
use crate::simd::small_floats::e4m3;
use crate::simd::{self, Isa, Task, to_e2m1, to_e4m3};

/// ModelOpt's quantizer.
pub(super) struct ModelOpt;

impl Quantizer for ModelOpt {
    facts! {
        name: "nvfp4-modelopt",
        about: "4-bit floats, one scale per 16 columns and one per tensor (ModelOpt W4A16_NVFP4)",
        types: [DType::U8, DType::F8_E4M3, DType::F32].map(Into::into).to_vec(),
    }

    fn loader_faults(&self) -> &'static [LoaderFault] {
        LOADER_FAULTS
    }

    fn choose(&self, request: &Request<'_>) -> Result<Chosen> {
        if request.wishes.group_size.is_some_and(|size| size != GROUP) {
            return Err(Error::usage(format!("NVFP4 has a fixed group size of {GROUP}")));
        }
        let fused = Fused::new(request);
        let choice = choose_linear(request, |index, weight| {
            check(weight)?;
            let largest = fused.largest(index, |other| check(other).is_ok());
            Ok(Arc::new(Nvfp4Encoder { largest }) as Arc<dyn Encoder>)
        })?;
        let mut excluded = choice.plain;
        let names = request.weights.iter().filter(|weight| is_embedding(weight));
        excluded.extend(
            names.filter_map(|weight| Some(weight.name.strip_suffix(".weight")?.to_owned())),
        );
        excluded.sort();
        let mut chosen = Chosen::stated(section(&excluded), choice.fates, choice.notes);
        chosen.additions.files.push((modelopt::FILE.name.to_owned(), file(&excluded)?));
        Ok(chosen)
    }
}

/// Whether a weight is an embedding, which ModelOpt could quantize and lists as excluded.
fn is_embedding(weight: &Candidate<'_>) -> bool {
    weight.shape.len() == 2 && weight.name.ends_with("embed_tokens.weight")
}

/// Returns why a weight cannot be encoded.
fn check(weight: &Candidate<'_>) -> Result<(), String> {
    let columns = weight.shape.last().copied().unwrap_or(0);
    match weight.dtype {
        DType::F32 | DType::BF16 | DType::F16 if columns > 0 && columns % GROUP == 0 => Ok(()),
        DType::F32 | DType::BF16 | DType::F16 => {
            Err(format!("row length {columns} is not a multiple of the group size ({GROUP})"))
        }
        dtype => Err(format!("dtype {dtype} is not supported")),
    }
}

/// Returns the section of the model's config.
fn section(excluded: &[String]) -> Json {
    json!({
        "config_groups": {
            "group_0": {
                "weights": { "dynamic": false, "num_bits": 4, "type": "float", "group_size": GROUP },
                "targets": ["Linear"],
            },
        },
        "ignore": excluded,
        "quant_algo": ALGORITHM,
        "producer": producer(),
        "quant_method": modelopt::METHOD.name,
    })
}

/// Returns ModelOpt's own file.
fn file(excluded: &[String]) -> Result<Vec<u8>> {
    let quantization = json!({
        "quant_algo": ALGORITHM,
        "kv_cache_quant_algo": null,
        "group_size": GROUP,
        "exclude_modules": excluded,
    });
    let all = json!({ "producer": producer(), "quantization": quantization });
    serde_json::to_vec_pretty(&all).map_err(|error| Error::usage(error.to_string()))
}

/// Encodes one weight, with the largest number of all that it is fused with.
#[derive(Clone)]
struct Nvfp4Encoder {
    largest: Largest,
}

impl Encoder for Nvfp4Encoder {
    fn name(&self) -> &'static str {
        Quantizer::name(&ModelOpt)
    }

    fn types(&self) -> Vec<StoredType> {
        Quantizer::types(&ModelOpt)
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let &[rows, columns] = shape else { return Err("it is not a matrix".to_owned()) };
        refuse_if!(
            columns % GROUP != 0,
            "row length {columns} is not a multiple of the group size ({GROUP})"
        );
        let tensor = |end: &str, dtype: DType, shape: &[u64], groups| {
            EncodedTensor::of(format!("{name}{end}"), dtype, shape, groups)
        };
        let each = |bytes| Groups::Of { elements: GROUP, bytes };
        Ok(vec![
            tensor("", DType::U8, &[rows, columns / 2], each(GROUP / 2)),
            tensor("_scale", DType::F8_E4M3, &[rows, columns / GROUP], each(1)),
            tensor("_scale_2", DType::F32, &[], Groups::Once),
        ])
    }

    fn begin(&self, _: &[u64]) -> Box<dyn WeightEncoder> {
        Box::new(self.clone())
    }
}

impl WeightEncoder for Nvfp4Encoder {
    fn encode(&self, _: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        let [codes, scales, second] = out else {
            return Err(Error::usage("expected three tensors: codes and two levels of scales"));
        };
        let global = (self.largest)()? / (6.0 * 448.0);
        second.iter_mut().zip(global.to_le_bytes()).for_each(|(to, byte)| *to = byte);
        simd::run(simd::level(), Encode { global, values, codes, scales });
        Ok(())
    }

    fn decode(&self, _: Range<u64>, encoded: &[&[u8]], decoded: &mut Decoded) -> Result<bool> {
        let [codes, scales, _] = encoded else { return Ok(false) };
        let global = (self.largest)()? / (6.0 * 448.0);
        let coded = Coded {
            codes: &FLOATS4,
            arithmetic: Arithmetic::Times,
            group: 16,
            bytes: codes,
            factors: &scaled(scales.iter().map(|scale| e4m3(*scale) * global)),
            step: Some(1.0),
        };
        coded.decode(&mut decoded.numbers, &mut decoded.levels);
        Ok(true)
    }
}

/// Groups, one after the other.
struct Encode<'a> {
    global: f32,
    values: &'a [f32],
    codes: &'a mut [u8],
    scales: &'a mut [u8],
}

impl Task for Encode<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        const LEAST: f32 = 1.0 / 512.0;
        let groups = self.values.as_chunks::<16>().0.iter();
        for ((group, codes), scale) in groups.zip(self.codes.chunks_mut(8)).zip(self.scales) {
            let wanted = largest(group) / (6.0 * self.global);
            let wanted = if wanted > 0.0 { wanted } else { 1.0 };
            *scale = to_e4m3(if wanted < LEAST { LEAST } else { wanted });
            let step = e4m3(*scale) * self.global;
            nibbles(group, codes, |value| to_e2m1(value / step));
        }
    }
}
