//! Weights of many tiles, cut in any way and by any number of threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Q8_0, convert_one, gguf, one};
use crate::common::decoded::{TYPES, names_in, wanted_bytes};
use crate::common::root;
use weighbridge::ops::{ConvertOptions, OutputType, Progress};
use weighbridge::{DType, ErrorKind, FileAccess, Model, OpenOptions, Remedy, bf16, f16, ops};

#[test]
fn what_becomes_infinite_is_counted_and_nothing_else() {
    let values = [65519.0, 65520.0, -1e6, f32::INFINITY, f32::NAN, 1.0, f32::MAX];
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let file = || one("F32", &[7], &data, "");
    let (report, bytes) = convert_one(file(), OutputType::F16);
    assert_eq!(report.overflowed, Some(3));
    let halves: Vec<f16> =
        bytes.as_chunks().0.iter().map(|chunk| f16::from_le_bytes(*chunk)).collect();
    assert_eq!(halves[0].to_f32(), 65504.0);
    assert_eq!(halves[1..4], [f16::INFINITY, f16::NEG_INFINITY, f16::INFINITY]);
    assert!(halves[4].is_nan());
    assert_eq!(convert_one(file(), OutputType::Bf16).0.overflowed, Some(1));
    assert_eq!(convert_one(file(), OutputType::F32).0.overflowed, Some(0));
    let doubles: Vec<u8> =
        [1e300, f64::NEG_INFINITY, 1.0].iter().flat_map(|v| f64::to_le_bytes(*v)).collect();
    let wide = || one("F64", &[3], &doubles, "");
    for (output_type, overflowed) in TYPES.into_iter().zip([Some(0), Some(1), Some(1), Some(1)]) {
        assert_eq!(convert_one(wide(), output_type).0.overflowed, overflowed, "{output_type:?}");
    }
}

/// Weights of several tiles, with rows of every length: each element is its scale times its code.
#[test]
fn a_scheme_is_decoded_over_many_tiles() {
    for shape in [&[96_000][..], &[900, 320], &[2, 144_000], &[3, 1000, 96]] {
        let blocks = shape.iter().product::<u64>() / 32;
        let (mut bytes, mut wanted) = (Vec::new(), Vec::new());
        for block in 0..blocks {
            let scale = f16::from_f32(0.001 + (block % 1013) as f32 / 512.0);
            bytes.extend(scale.to_le_bytes());
            for index in 0..32 {
                let code =
                    (block * 32 + index).wrapping_mul(0x9e37_79b1).to_le_bytes()[1].cast_signed();
                bytes.push(code.cast_unsigned());
                wanted.push(scale.to_f32() * f32::from(code));
            }
        }
        let file = gguf(&[("t", (Q8_0, shape.iter().rev().copied().collect(), bytes))]);
        let (_, f32s) = convert_one(file.clone(), OutputType::F32);
        let exact: Vec<u8> = wanted.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert!(f32s == exact, "{shape:?}");
        let (_, bf16s) = convert_one(file, OutputType::Bf16);
        let rounded = wanted.iter().flat_map(|&value| bf16::from_f32(value).to_le_bytes());
        assert!(bf16s == rounded.collect::<Vec<u8>>(), "{shape:?}");
    }
}

/// Many tensors of many tiles, in several types: the file is the same whoever did which tile.
#[test]
fn the_output_does_not_depend_on_the_number_of_threads() {
    let blocks = |count: u64| -> Vec<u8> {
        (0..count * 34)
            .map(|i| (i.wrapping_mul(0x9e37_79b1) >> 9).to_le_bytes()[0] & 0x3f)
            .collect()
    };
    let shapes = [[640u64, 500], [32, 1], [96_000, 3], [64, 4001], [128, 9]];
    let tensors: Vec<_> = shapes
        .iter()
        .map(|shape| (Q8_0, shape.to_vec(), blocks(shape.iter().product::<u64>() / 32)))
        .collect();
    let names = ["a", "b", "c", "d", "e"];
    let file = gguf(&names.into_iter().zip(tensors).collect::<Vec<_>>());
    let folder = tempfile::tempdir().unwrap();
    let outputs = [1, 2, 3, 16].map(|threads: usize| {
        let model = Model::open_bytes(file.clone(), "in.gguf").unwrap();
        let target = folder.path().join(format!("{threads}.safetensors"));
        let told = Arc::new(AtomicU64::new(0));
        let options = ConvertOptions::new(&target).threads(threads.try_into().unwrap()).progress({
            let told = told.clone();
            Arc::new(move |progress: Progress| {
                assert!(progress.done <= progress.total);
                told.fetch_max(progress.done, Ordering::Relaxed);
            })
        });
        let report = ops::convert(&model, &options).unwrap();
        let data: u64 = report.conversions.iter().map(|row| row.write_bytes).sum();
        assert_eq!(told.load(Ordering::Relaxed), data, "the last that is told is all");
        std::fs::read(&target).unwrap()
    });
    assert_eq!(names_in(folder.path()).len(), outputs.len());
    let [first, others @ ..] = &outputs;
    let numbers: u64 = shapes.iter().map(|shape| shape.iter().product::<u64>()).sum();
    assert!(first.len() as u64 > 2 * numbers && others.iter().all(|output| output == first));
}

/// What a scheme computes may be too large as well: here a scale times a code.
#[test]
fn what_a_scheme_decodes_to_too_much_is_counted() {
    let mut block = f16::from_f32(30_000.0).to_le_bytes().to_vec();
    block.extend((0..32u8).map(|code| code % 4));
    let file = gguf(&[("t", (Q8_0, vec![32], block))]);
    let (report, bytes) = convert_one(file.clone(), OutputType::F16);
    // 0, 30,000 and 60,000 fit, 90,000 does not.
    assert_eq!(report.overflowed, Some(8));
    let halves = bytes.as_chunks().0.iter().map(|chunk| f16::from_le_bytes(*chunk).to_f32());
    let wanted = [0.0, 30_000.0, 60_000.0, f32::INFINITY];
    assert!(halves.zip(wanted.into_iter().cycle()).all(|(found, wanted)| found == wanted));
    assert_eq!(convert_one(file, OutputType::Bf16).0.overflowed, Some(0));
}

/// A tensor of many tiles whose rows are longer than a tile.
#[test]
fn long_rows_are_cut_into_tiles() {
    let values: Vec<f32> =
        (0..200_001u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b1))).collect();
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let (_, bytes) = convert_one(one("F32", &[1, 200_001], &data, ""), OutputType::Bf16);
    let wanted: Vec<u8> = values.iter().flat_map(|&v| bf16::from_f32(v).to_le_bytes()).collect();
    assert!(bytes == wanted);
    let (_, bytes) = convert_one(one("F32", &[1, 200_001], &data, ""), OutputType::Auto);
    assert!(bytes == data);
}

#[test]
fn memory_is_held_to_what_is_allowed() {
    let model = Model::open(root().join("samples/tiny-llama-gptq")).unwrap();
    let whole = ConvertOptions::new("-").threads(2.try_into().unwrap());
    let (mut wanted, mut bytes) = (Vec::new(), Vec::new());
    let usual = ops::convert_to(&model, &whole, &mut wanted).unwrap();
    for most in [usual.tile_memory, 40_000, 10_000, 1_000] {
        let options = whole.clone().max_memory(most);
        bytes.clear();
        let report = ops::convert_to(&model, &options, &mut bytes).unwrap();
        assert!(report.tile_memory <= most, "{most}: {}", report.tile_memory);
        assert!(bytes == wanted, "{most}");
    }
    let error = ops::convert_to(&model, &whole.max_memory(10), &mut bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.remedies().contains(&Remedy::RaiseLimit("max_memory")), "{error}");
}

/// Weights whose rows are read together and decoded in steps come out as they do when they are
/// decoded whole, however long the steps.
#[test]
fn rows_decoded_in_steps_are_the_rows() {
    let (inputs, outputs, groups) = (256u64, 98_304u64, 2u64);
    let config = r#"{"quantization_config":{"quant_method":"gptq","bits":4,"group_size":128,"checkpoint_format":"gptq_v2","desc_act":false}}"#;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let sizes = [inputs / 8 * outputs * 4, groups * outputs / 2, groups * outputs * 2];
    let ends: Vec<u64> = sizes
        .iter()
        .scan(0, |end, size| {
            *end += size;
            Some(*end)
        })
        .collect();
    let header = format!(
        r#"{{"a.qweight":{{"dtype":"I32","shape":[{},{outputs}],"data_offsets":[0,{}]}},"a.qzeros":{{"dtype":"I32","shape":[{groups},{}],"data_offsets":[{},{}]}},"a.scales":{{"dtype":"F16","shape":[{groups},{outputs}],"data_offsets":[{},{}]}}}}"#,
        inputs / 8,
        ends[0],
        outputs / 8,
        ends[0],
        ends[1],
        ends[1],
        ends[2],
    );
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    let mut state = 1u32;
    for at in (0..ends[2]).step_by(4) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Scales between 1 and 2, and of a few outputs so large that values overflow.
        let scale = if at % 65_536 == 0 { 0x7bff_7bff } else { 0x3c00_3c00 | state & 0x03ff_03ff };
        file.extend((if at < ends[1] { state } else { scale }).to_le_bytes());
    }
    std::fs::write(folder.path().join("model.safetensors"), file).unwrap();
    let model = OpenOptions::new().access(FileAccess::Read).open(folder.path()).unwrap();
    let weight = model.weight("a.weight").unwrap();
    assert_eq!(weight.shape(), [outputs, inputs]);
    let mut overflowed = Vec::new();
    for (name, dtype) in [("f16", OutputType::F16), ("f32", OutputType::F32)] {
        let wanted = match dtype {
            OutputType::F32 => wanted_bytes(&weight, DType::F32),
            _ => wanted_bytes(&weight, DType::F16),
        };
        for (threads, memory) in [(1, u64::MAX), (2, u64::MAX), (2, 3 << 20), (1, 300_000)] {
            let target = folder.path().join(format!("{name}.safetensors"));
            let options = ConvertOptions::new(&target).dtype(dtype).max_memory(memory).force(true);
            let report =
                ops::convert(&model, &options.threads(threads.try_into().unwrap())).unwrap();
            let written = Model::open(&target).unwrap();
            let bytes = written.weight("a.weight").unwrap().bytes().unwrap().to_vec();
            assert!(bytes == wanted, "{name} {threads} {memory}");
            overflowed.push(report.overflowed.unwrap());
        }
    }
    assert!(overflowed[0] > 0 && overflowed[..4].iter().all(|n| *n == overflowed[0]));
    assert_eq!(overflowed[4..], [0; 4]);
}
