//! Two encoders of the tests' own, through the real plan, tiles, workers and files: one whose
//! blocks stand alone, and one with two tensors and a first pass.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use smallvec::smallvec;
use weighbridge::catalog::Value;
use weighbridge::internals::blocks::Block;
use weighbridge::internals::containers::writing::Writer;
use weighbridge::internals::pipeline::formats_for;
use weighbridge::internals::schemes::{Additions, EncodedTensor, Encoder, Groups, WeightEncoder};
use weighbridge::{DType, Model, Result, Select, StoredType, f16};

use super::run::{Run, decoded, encoded, matrix, stored};

/// ggml's blocks of 32 numbers: a scale in half precision and a byte for each.
struct Q8;

impl Encoder for Q8 {
    fn name(&self) -> &'static str {
        "Q8_0"
    }

    fn types(&self) -> Vec<StoredType> {
        Block::from_name("Q8_0").map(StoredType::Block).into_iter().collect()
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let block = Block::from_name("Q8_0").ok_or("the type is not known")?;
        let (elements, bytes) = (u64::from(block.elements), u64::from(block.bytes));
        let columns = shape.last().copied().unwrap_or(1);
        if columns % elements != 0 {
            return Err(format!(
                "row length {columns} is not a multiple of the block size ({elements})"
            ));
        }
        Ok(vec![EncodedTensor {
            name: name.to_owned(),
            stored: StoredType::Block(block),
            shape: shape.into(),
            bytes: shape.iter().product::<u64>() / elements * bytes,
            groups: Groups::Of { elements, bytes },
        }])
    }

    fn begin(&self, _shape: &[u64]) -> Box<dyn WeightEncoder> {
        Box::new(Self)
    }

    fn additions(&self) -> Additions {
        stated()
    }
}

/// A metadata entry that the encoders here ask for.
fn stated() -> Additions {
    let metadata = vec![("stored.by".to_owned(), "a test".to_owned())];
    Additions { metadata, ..Additions::default() }
}

impl WeightEncoder for Q8 {
    fn encode(&self, _: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        for (values, block) in values.chunks_exact(32).zip(out[0].chunks_exact_mut(34)) {
            let scale = values.iter().fold(0f32, |most, value| most.max(value.abs())) / 127.0;
            let inverse = if scale == 0.0 { 0.0 } else { 1.0 / scale };
            block[..2].copy_from_slice(&f16::from_f32(scale).to_le_bytes());
            for (value, code) in values.iter().zip(&mut block[2..]) {
                #[allow(clippy::cast_possible_truncation)] // Within -127 and 127.
                let rounded = (value * inverse).round() as i8;
                *code = rounded.to_le_bytes()[0];
            }
        }
        Ok(())
    }
}

/// A byte for each number and a scale for each row: two tensors, after a pass for the maxima.
struct RowFp8;

struct RowMaxima {
    columns: u64,
    /// The bits of each row's largest magnitude, which are in the order of the magnitudes.
    maxima: Vec<AtomicU32>,
}

const LARGEST: f32 = 448.0;

impl Encoder for RowFp8 {
    fn name(&self) -> &'static str {
        "fp8-rows"
    }

    fn types(&self) -> Vec<StoredType> {
        vec![DType::F8_E4M3.into(), DType::F32.into()]
    }

    fn additions(&self) -> Additions {
        let settings = serde_json::json!({"quant_method": "fp8"});
        let config_keys = vec![("quantization_config".to_owned(), settings)];
        Additions { config_keys, ..stated() }
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let &[rows, columns] = shape else { return Err("it is not a matrix".to_owned()) };
        let tensor = |name: String, dtype, shape, bytes, groups| EncodedTensor {
            name,
            stored: StoredType::Element(dtype),
            shape,
            bytes,
            groups,
        };
        let (each, row) =
            (Groups::Of { elements: 1, bytes: 1 }, Groups::Of { elements: columns, bytes: 4 });
        Ok(vec![
            tensor(name.to_owned(), DType::F8_E4M3, shape.into(), rows * columns, each),
            tensor(format!("{name}_scale"), DType::F32, smallvec![rows, 1], rows * 4, row),
        ])
    }

    fn begin(&self, shape: &[u64]) -> Box<dyn WeightEncoder> {
        let maxima = (0..shape[0]).map(|_| AtomicU32::new(0)).collect();
        Box::new(RowMaxima { columns: shape[1], maxima })
    }
}

impl RowMaxima {
    fn rows<'a>(
        &'a self,
        elements: &Range<u64>,
        values: &'a [f32],
    ) -> impl Iterator<Item = (&'a AtomicU32, &'a [f32])> {
        let first = usize::try_from(elements.start / self.columns).unwrap();
        self.maxima[first..].iter().zip(values.chunks_exact(self.columns.try_into().unwrap()))
    }
}

impl WeightEncoder for RowMaxima {
    fn needs_first_pass(&self) -> bool {
        true
    }

    fn see(&self, elements: Range<u64>, values: &[f32]) {
        for (maximum, row) in self.rows(&elements, values) {
            let most = row.iter().fold(0f32, |most, value| most.max(value.abs()));
            maximum.fetch_max(most.to_bits(), Ordering::Relaxed);
        }
    }

    fn encode(&self, elements: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        let [codes, scales] = out else { panic!("two tensors") };
        let rows = self.rows(&elements, values);
        let outs = codes.chunks_exact_mut(self.columns.try_into().unwrap());
        for (((maximum, row), codes), scale_out) in rows.zip(outs).zip(scales.chunks_exact_mut(4)) {
            let scale = f32::from_bits(maximum.load(Ordering::Relaxed)) / LARGEST;
            scale_out.copy_from_slice(&scale.to_le_bytes());
            for (value, code) in row.iter().zip(codes) {
                *code = e4m3(value / scale);
            }
        }
        Ok(())
    }
}

/// The magnitude of a code of E4M3.
fn magnitude(code: u8) -> f32 {
    let (exponent, fraction) = (i32::from(code >> 3), f32::from(code & 7) / 8.0);
    match exponent {
        0 => fraction * 2f32.powi(-6),
        _ => (1.0 + fraction) * 2f32.powi(exponent - 7),
    }
}

/// The nearest code, the even one of two.
fn e4m3(value: f32) -> u8 {
    let away = |code: &u8| (magnitude(*code) - value.abs()).abs();
    let nearest =
        (0..127u8).min_by(|a, b| away(a).total_cmp(&away(b)).then((a % 2).cmp(&(b % 2)))).unwrap();
    nearest | if value.is_sign_negative() { 0x80 } else { 0 }
}

#[test]
fn blocks_are_those_that_llama_cpp_writes() {
    let files = super::quantizing::samples("names/qwen3-q8");
    let [source, golden] = ["hf", "model.gguf"].map(|name| Model::open(files.join(name)).unwrap());
    let golden = stored(&golden);
    let pairs = [
        ("model.embed_tokens.weight", "token_embd.weight"),
        ("model.layers.0.mlp.up_proj.weight", "blk.0.ffn_up.weight"),
        ("model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight"),
        ("model.layers.0.self_attn.v_proj.weight", "blk.0.attn_v.weight"),
    ];
    let select = Select::new().include(move |name| pairs.iter().any(|(from, _)| *from == name));
    let run = Run { format: "gguf", workers: 2, max_memory: None, select: &select };
    let file = run.file(&source, &(Arc::new(Q8) as _));
    let written = stored(&Model::open_bytes(file, "out.gguf").unwrap());
    assert_eq!(written.len(), pairs.len());
    for (from, to) in pairs {
        assert!(written[from] == golden[to], "{from}");
    }
}

#[test]
fn blocks_of_many_tiles_are_read_back() {
    let (model, values) = matrix(300, 512);
    let file = encoded(&model, &(Arc::new(Q8) as _), "gguf");
    let read = Model::open_bytes(file, "out.gguf").unwrap();
    let weight = read.weight("w.weight").unwrap();
    assert_eq!((weight.variant(), weight.shape()), ("Q8_0", &[300, 512][..]));
    let decoded = decoded(&weight);
    let is_near = |(a, b): (&f32, &f32)| (a - b).abs() < 0.3 / 127.0 * 0.6;
    assert!(values.iter().zip(&decoded).all(is_near));
}

#[test]
fn two_tensors_after_a_pass_for_the_maxima() {
    let ((model, values), encoder) = (matrix(300, 512), Arc::new(RowFp8) as Arc<dyn Encoder>);
    let file = encoded(&model, &encoder, "safetensors");
    let read = Model::open_bytes(file, "out.safetensors").unwrap();
    let tensors = stored(&read);
    let scales: Vec<f32> = tensors["w.weight_scale"]
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    for ((row, codes), scale) in
        values.chunks(512).zip(tensors["w.weight"].chunks(512)).zip(&scales)
    {
        let most = row.iter().fold(0f32, |most, value| most.max(value.abs()));
        assert_eq!(*scale, most / LARGEST);
        assert!(codes.iter().any(|code| code & 0x7f == 0x7e), "the largest has the largest code");
    }
    let weight = read.weight("w.weight").unwrap();
    let is_near = |(a, b): (&f32, &f32)| (a - b).abs() <= a.abs() / 15.9 + 1e-4;
    assert!(values.iter().zip(&decoded(&weight)).all(is_near), "{}", weight.variant());
}

#[test]
fn formats_that_have_the_types_can_hold_them() {
    let formats =
        |encoder: &dyn Encoder| -> Vec<_> { formats_for(encoder).map(Writer::format).collect() };
    assert_eq!(formats(&Q8), ["gguf"]);
    assert_eq!(formats(&RowFp8), ["safetensors"]);
}

#[test]
fn what_an_encoder_adds_to_the_metadata_is_written() {
    let (model, _) = matrix(4, 32);
    let cases: [(_, Arc<dyn Encoder>); 2] =
        [("safetensors", Arc::new(RowFp8)), ("gguf", Arc::new(Q8))];
    for (format, encoder) in cases {
        let run = Run { format, workers: 1, max_memory: None, select: &Select::new() };
        let written = Model::open_bytes(run.file(&model, &encoder), "out").unwrap();
        let metadata = written.metadata();
        let found =
            metadata.iter().find(|(key, ..)| *key == "stored.by").map(|(_, value, _)| *value);
        assert_eq!(found, Some(&Value::text("a test")), "{format}");
    }
}

#[test]
fn what_is_no_whole_block_is_refused() {
    let (model, _) = matrix(3, 40);
    let reason = Q8.outputs("w", model.weights().next().unwrap().shape()).unwrap_err();
    assert_eq!(reason, "row length 40 is not a multiple of the block size (32)");
}
