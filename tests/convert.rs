//! Every sample that can be converted is, to every type, and read back: the values, the dtype rules
//! and the sizes `inspect` promises. Everything else is refused, and leaves nothing behind.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::{image, in_parallel, root, samples};
use weighbridge::ops::{ConvertOptions, InspectOptions, OutputType};
use weighbridge::{DType, ErrorKind, FileAccess, Model, OpenOptions, Weight, bf16, f16, ops};

const TYPES: [OutputType; 4] =
    [OutputType::Auto, OutputType::F32, OutputType::Bf16, OutputType::F16];

/// What `inspect` says a conversion writes.
fn promised(model: &Model, output_type: OutputType) -> u64 {
    let decoded = ops::inspect(model, &InspectOptions::default()).unwrap().decoded_bytes;
    match output_type {
        OutputType::Auto => decoded.auto,
        OutputType::F32 => decoded.f32,
        OutputType::Bf16 => decoded.bf16,
        OutputType::F16 => decoded.f16,
        OutputType::Keep => panic!("nothing is decoded"),
    }
}

/// The rule of the guide, spelled out once more.
fn wanted_type(weight: &Weight<'_>, output_type: OutputType) -> DType {
    let native = weight.native();
    let is_plain = weight.scheme() == "plain";
    if is_plain && (output_type == OutputType::Auto || !native.unwrap().is_float()) {
        return native.unwrap();
    }
    match (output_type, native) {
        (OutputType::F32, _) => DType::F32,
        (OutputType::Bf16, _) => DType::BF16,
        (OutputType::F16, _) | (OutputType::Auto, Some(DType::F16)) => DType::F16,
        (OutputType::Auto, _) => DType::BF16,
        (OutputType::Keep, _) => panic!("nothing is decoded"),
    }
}

/// The bytes a weight must have in the output, by decoding it whole.
fn wanted_bytes(weight: &Weight<'_>, dtype: DType) -> Vec<u8> {
    if weight.scheme() == "plain" && weight.native() == Some(dtype) {
        let (_, source, info) = weight.parts().next().unwrap();
        return image(source, info).unwrap();
    }
    fn decoded<T: weighbridge::schemes::Element, const N: usize>(
        weight: &Weight<'_>,
        bytes: fn(T) -> [u8; N],
    ) -> Vec<u8> {
        let mut out = vec![T::default(); weight.len()];
        weight.decode_into(&mut out).unwrap();
        out.into_iter().flat_map(bytes).collect()
    }
    match dtype {
        DType::F32 => decoded(weight, f32::to_le_bytes),
        DType::BF16 => decoded(weight, bf16::to_le_bytes),
        DType::F16 => decoded(weight, f16::to_le_bytes),
        other => panic!("{} cannot become {other}", weight.name()),
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Converts and compares; or is refused and leaves nothing. Says whether it was written.
fn check(model: &Model, output_type: OutputType, name: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let options = ConvertOptions::new(&target).dtype(output_type);
    let plan = ops::convert(model, &options.clone().dry_run(true));
    assert!(names_in(folder.path()).is_empty(), "{name}: a dry run wrote something");
    let report = match ops::convert(model, &options) {
        Ok(report) => report,
        Err(error) => {
            assert_eq!(plan.unwrap_err().to_string(), error.to_string(), "{name}");
            assert!(names_in(folder.path()).is_empty(), "{name}: {error}");
            return false;
        }
    };
    assert_eq!(plan.unwrap().write_bytes, report.write_bytes, "{name}");
    assert_eq!(names_in(folder.path()), ["out.safetensors"]);
    let written = Model::open(&target).unwrap();
    assert_eq!(written.findings(), [], "{name}");
    let tied = |name: &str| report.tied.iter().find(|tied| tied.name == name);
    assert_eq!(written.weights().len() + report.tied.len(), model.weights().len(), "{name}");
    let mut payload = 0;
    for weight in model.weights() {
        let to = tied(weight.name());
        let out = written.weight(to.map_or(weight.name(), |tied| &tied.to)).unwrap();
        let dtype = wanted_type(&weight, output_type);
        assert_eq!(out.native(), Some(dtype), "{name} {}", weight.name());
        assert_eq!(out.shape(), weight.shape(), "{name} {}", weight.name());
        let bytes = wanted_bytes(&weight, dtype);
        assert!(out.bytes() == Some(&bytes[..]), "{name} {} {output_type:?}", weight.name());
        match to {
            None => payload += bytes.len() as u64,
            Some(tied) => {
                let noted = written.sources()[0].catalog().metadata.get(&tied.name);
                assert_eq!(noted.and_then(|to| to.as_str()), Some(&*tied.to), "{name}");
            }
        }
    }
    assert_eq!(promised(model, output_type), payload, "{name} {output_type:?}");
    let length = std::fs::metadata(&target).unwrap().len();
    assert_eq!((report.write_bytes, report.files[0].bytes), (length, length), "{name}");
    true
}

#[test]
fn every_sample_converts_to_every_type_or_is_refused() {
    let written = std::sync::atomic::AtomicUsize::new(0);
    in_parallel(&samples(), |sample| {
        let Ok(model) = OpenOptions::new().access(FileAccess::Read).open(&sample.path) else {
            return;
        };
        // What has neither problems nor odd types nor blocks must go through.
        let is_easy = |weight: Weight<'_>| {
            weight.undecodable().is_none() && !matches!(weight.native(), None | Some(DType::C128))
        };
        let easy = model.findings().is_empty()
            && model.weights().len() > 0
            && model.weights().all(is_easy);
        for output_type in TYPES {
            let done = check(&model, output_type, &sample.name());
            assert!(done || !easy, "{} {output_type:?} was refused", sample.name());
            written.fetch_add(usize::from(done), std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(written.into_inner() > 200);
}

/// Any stretch of elements is that stretch of the whole, wherever it begins and ends.
#[test]
fn stretches_of_elements_are_cut_from_the_whole() {
    let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
    in_parallel(&samples(), |sample| {
        let Ok(model) = OpenOptions::new().access(FileAccess::Read).open(&sample.path) else {
            return;
        };
        let able = |weight: &Weight<'_>| weight.has_element_access() && weight.len() < 1 << 16;
        for weight in model.weights().filter(able) {
            let mut whole = vec![0f32; weight.len()];
            if let Err(error) = weight.decode_into(&mut whole) {
                let odd = weight.undecodable().is_some() || !model.findings().is_empty();
                assert!(odd, "{} {}: {error}", sample.name(), weight.name());
                continue;
            }
            seen.lock().unwrap().insert(format!("{}/{}", weight.scheme(), weight.variant()));
            let mut scratch = weighbridge::Scratch::default();
            for step in [37, 256, 1000] {
                let mut start = 0;
                for wanted in whole.chunks(step) {
                    let (range, mut out) =
                        (start..start + wanted.len() as u64, vec![0f32; wanted.len()]);
                    weight.decode_elements_with(range.clone(), &mut out, &mut scratch).unwrap();
                    let same = out.iter().zip(wanted).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "{} {} {range:?}", sample.name(), weight.name());
                    start = range.end;
                }
            }
            let past = weight.elements()..weight.elements() + 1;
            assert!(weight.decode_elements_with(past, &mut [0f32], &mut scratch).is_err());
        }
    });
    let seen = seen.into_inner().unwrap();
    let wanted = ["plain/F64", "ggml/Q4_K", "ggml/NVFP4", "apr/Q4_K", "apr/APR_Q8", "apr/APR_Q4"];
    for wanted in wanted.into_iter().chain(["mlx/3bit-g32", "mlx/nvfp4", "mlx/mxfp8"]) {
        assert!(seen.contains(wanted), "{wanted} is not in {seen:?}");
    }
}

/// A safetensors file of one tensor, in memory.
fn one(dtype: &str, shape: &[u64], data: &[u8], metadata: &str) -> Vec<u8> {
    let header = format!(
        r#"{{{metadata}"t":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[0,{}]}}}}"#,
        data.len()
    );
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(data);
    file
}

fn convert_one(file: Vec<u8>, output_type: OutputType) -> (ops::ConvertReport, Vec<u8>) {
    let model = Model::open_bytes(file, "one.safetensors").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let report = ops::convert(&model, &ConvertOptions::new(&target).dtype(output_type)).unwrap();
    let written = Model::open(&target).unwrap();
    let bytes = written.weight("t").unwrap().bytes().unwrap().to_vec();
    (report, bytes)
}

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

/// Type, dimensions as GGUF has them (innermost first), bytes.
type Tensor = (u32, Vec<u64>, Vec<u8>);

/// A GGUF file in memory.
fn gguf(tensors: &[(&str, Tensor)]) -> Vec<u8> {
    let (mut header, mut data) = (b"GGUF".to_vec(), Vec::new());
    header.extend(3u32.to_le_bytes());
    header.extend([tensors.len() as u64, 0].map(u64::to_le_bytes).concat());
    for (name, (kind, dimensions, bytes)) in tensors {
        header.extend((name.len() as u64).to_le_bytes());
        header.extend(name.as_bytes());
        header.extend(u32::try_from(dimensions.len()).unwrap().to_le_bytes());
        header.extend(dimensions.iter().flat_map(|dimension| dimension.to_le_bytes()));
        header.extend(kind.to_le_bytes());
        data.resize(data.len().next_multiple_of(32), 0);
        header.extend((data.len() as u64).to_le_bytes());
        data.extend(bytes);
    }
    header.resize(header.len().next_multiple_of(32), 0);
    [header, data].concat()
}

/// The number of ggml's type Q8_0: one half-precision scale, 32 codes.
const Q8_0: u32 = 8;

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
            Arc::new(move |bytes| _ = told.fetch_max(bytes, Ordering::Relaxed))
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
fn metadata_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let entries = |model: &Model| -> Vec<(String, String)> {
        let text = |value: &weighbridge::catalog::Value| value.as_str().unwrap().to_owned();
        model.metadata().iter().map(|(key, value, _)| ((*key).to_owned(), text(value))).collect()
    };
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let file = one("F32", &[1], &[0; 4], r#""__metadata__":{"b":"2","format":"mlx"},"#);
    let model = Model::open_bytes(file, "one").unwrap();
    ops::convert(&model, &ConvertOptions::new(&target)).unwrap();
    let kept = entries(&Model::open(&target).unwrap());
    assert_eq!(kept, [pair("b", "2"), pair("format", "mlx")]);
    let gguf = Model::open(root().join("tests/files/gguf/vocabulary.gguf")).unwrap();
    let options = ConvertOptions::new(&target).force(true);
    let report = ops::convert(&gguf, &options).unwrap();
    assert!(report.metadata_left_out.contains(&"gguf.tokenizer.ggml.tokens".to_owned()));
    let kept = entries(&Model::open(&target).unwrap());
    assert_eq!(kept[0], pair("format", "pt"));
    assert!(kept.iter().any(|(key, _)| key == "gguf.general.architecture"), "{kept:?}");
    assert!(!kept.iter().any(|(key, _)| key == "gguf.tokenizer.ggml.tokens"));
}

/// The error, after making sure that the folder was left as it was.
fn refused(model: &Model, options: &ConvertOptions, folder: &Path) -> weighbridge::Error {
    let before = names_in(folder);
    let error = ops::convert(model, options).unwrap_err();
    assert_eq!(names_in(folder), before, "{error}");
    error
}

#[test]
fn names_that_cannot_be_written_are_refused() {
    let model = Model::open_bytes(one("F32", &[1], &[0; 4], ""), "one.safetensors").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["out.bin", "out.onnx"] {
        let target = folder.path().join(name);
        let error = refused(&model, &ConvertOptions::new(target), folder.path());
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.hint_text().unwrap().contains("safetensors"), "{error}");
    }
    for (name, problem) in [(".safetensors", "needs a name"), ("/dev/full", "exists already")] {
        let target = folder.path().join(name);
        let error = refused(&model, &ConvertOptions::new(target), folder.path());
        assert!(error.message().contains(problem), "{error}");
    }
    let target = folder.path().join("nowhere/out.safetensors");
    for dry_run in [false, true] {
        let options = ConvertOptions::new(&target).dry_run(dry_run);
        let error = refused(&model, &options, folder.path());
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.hint_text().unwrap().ends_with("nowhere does not exist"), "{error}");
    }
    let empty = Model::open_bytes(b"\x02\0\0\0\0\0\0\0{}".to_vec(), "empty").unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    let error = refused(&empty, &options, folder.path());
    assert!(error.to_string().contains("has no weights"), "{error}");
    assert_eq!(error.hint_text(), None);
}

#[test]
fn an_existing_output_is_replaced_only_by_force_and_only_when_complete() {
    let model = Model::open_bytes(one("F32", &[1], &[7; 4], ""), "one.safetensors").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    std::fs::write(&target, b"precious").unwrap();
    let error = refused(&model, &ConvertOptions::new(&target), folder.path());
    assert!(error.to_string().contains("exists already"), "{error}");
    let stopped = Arc::new(AtomicBool::new(true));
    let options = ConvertOptions::new(&target).force(true);
    let error = refused(&model, &options.clone().cancel(stopped), folder.path());
    assert!(error.to_string().contains("stopped"), "{error}");
    assert_eq!(std::fs::read(&target).unwrap(), b"precious");
    ops::convert(&model, &options).unwrap();
    assert_eq!(Model::open(&target).unwrap().weight("t").unwrap().bytes(), Some(&[7; 4][..]));
    assert_eq!(names_in(folder.path()), ["out.safetensors"]);
}

/// By its own name, through links of both kinds, and as one shard of several.
#[cfg(unix)]
#[test]
fn the_input_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("in.safetensors"), one("F32", &[1], &[7; 4], "")).unwrap();
    std::fs::write(at("more.safetensors"), one("F32", &[1], &[8; 4], "")).unwrap();
    std::os::unix::fs::symlink(at("in.safetensors"), at("soft.safetensors")).unwrap();
    std::fs::hard_link(at("in.safetensors"), at("hard.safetensors")).unwrap();
    let before = std::fs::read(at("in.safetensors")).unwrap();
    for input in ["in.safetensors", "soft.safetensors"] {
        let model = Model::open(at(input)).unwrap();
        for output in ["in.safetensors", "soft.safetensors", "hard.safetensors"] {
            let options = ConvertOptions::new(at(output)).dtype(OutputType::F16).force(true);
            let error = refused(&model, &options, folder.path());
            assert!(error.to_string().contains("never written over"), "{error}");
        }
    }
    assert_eq!(std::fs::read(at("in.safetensors")).unwrap(), before);
    // A copy: should this ever fail, the sample itself must not be what is lost.
    let shards = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(root().join("tests/files/safetensors/sharded")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, shards.path().join(path.file_name().unwrap())).unwrap();
    }
    let model = Model::open(shards.path()).unwrap();
    let last = model.sources().last().unwrap().input().name().to_owned();
    let before = std::fs::read(&last).unwrap();
    let error = refused(&model, &ConvertOptions::new(&last).force(true), shards.path());
    assert!(error.to_string().contains("never written over"), "{error}");
    assert_eq!(std::fs::read(&last).unwrap(), before);
}

#[test]
fn what_cannot_be_converted_is_named_and_can_be_left_out() {
    let model = Model::open(root().join("tests/files/gguf/ik-llama-types.gguf")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    let error = refused(&model, &options, folder.path());
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("weights cannot be converted: "), "{error}");
    assert!(error.hint_text().unwrap().contains("--exclude"));
    let good: Vec<String> = model
        .weights()
        .filter(|weight| weight.undecodable().is_none())
        .map(|weight| weight.name().to_owned())
        .collect();
    let nothing = options.clone().select(Arc::new(|_| false));
    let error = refused(&model, &nothing, folder.path());
    assert!(error.to_string().contains("nothing to convert"), "{error}");
    assert!(!good.is_empty());
    let only = good.clone();
    let some = options.select(Arc::new(move |name| only.iter().any(|good| good == name)));
    assert_eq!(ops::convert(&model, &some).unwrap().files[0].tensors, good.len() as u64);
}

/// Reasons that differ in the block type alone are one reason.
#[test]
fn equal_reasons_are_given_once() {
    let model = Model::open(root().join("tests/files/gguf/ik-llama-types.gguf")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    let error = refused(&model, &options, folder.path()).to_string();
    assert_eq!(error.matches("ik_llama.cpp only").count(), 1, "{error}");
    assert!(error.contains("IQ2_K, IQ3_K") && error.contains("iq2_k.weight"), "{error}");
}

/// Cut short: the weight that lacks bytes is refused, the others can still be had.
#[test]
fn a_cut_file_gives_what_is_there() {
    let header = br#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header);
    file.extend_from_slice(&[1; 6]);
    let model = Model::open_bytes(file, "cut.safetensors").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    let error = refused(&model, &options, folder.path());
    assert_eq!(error.tensor(), Some("b"), "{error}");
    let report = ops::convert(&model, &options.select(Arc::new(|name| name == "a"))).unwrap();
    assert_eq!(report.files[0].tensors, 1);
}

/// One line about the file, not one about each of its tensors.
#[test]
fn a_file_that_lacks_many_tensors_is_cut_short() {
    let header = br#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"c":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header);
    file.extend_from_slice(&[1; 6]);
    let model = Model::open_bytes(file, "cut.safetensors").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    let error = refused(&model, &options, folder.path());
    assert!(error.message().starts_with("the file was cut short"), "{error}");
    assert!(error.hint_text().unwrap().contains("fetch the file again"), "{error}");
    assert_eq!((error.tensor(), error.message().matches("missing").count()), (None, 0), "{error}");
    let report = ops::convert(&model, &options.select(Arc::new(|name| name == "a"))).unwrap();
    assert_eq!(report.files[0].tensors, 1);
}

/// A part's problem is told of the weight, by whose name it can be left out.
#[test]
fn a_problem_of_a_part_names_the_weight() {
    let nvfp4 = (40, vec![64, 1], vec![0; 36]);
    // Its second scale must be one number.
    let scale = (0, vec![2], vec![0; 8]);
    let cut = (0, vec![1], Vec::new());
    for (tensor, wanted) in [(scale, "its scale a.scale is F32"), (cut, "its scale a.scale: ")] {
        let file = gguf(&[("a.weight", nvfp4.clone()), ("a.scale", tensor)]);
        let model = Model::open_bytes(file, "parts.gguf").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = ConvertOptions::new(folder.path().join("out.safetensors"));
        let error = refused(&model, &options, folder.path());
        assert_eq!(error.tensor(), Some("a.weight"), "{error}");
        assert!(error.message().starts_with(wanted), "{error}");
    }
}

/// A file that shrinks after it was opened fails in the middle, and leaves nothing.
#[test]
fn a_file_that_shrinks_meanwhile_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.safetensors");
    std::fs::write(&input, one("F32", &[1 << 20], &vec![1; 4 << 20], "")).unwrap();
    let model = OpenOptions::new().access(FileAccess::Read).open(&input).unwrap();
    std::fs::OpenOptions::new().write(true).open(&input).unwrap().set_len(3 << 20).unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    for output_type in [OutputType::Auto, OutputType::F16] {
        let error = refused(&model, &options.clone().dtype(output_type), folder.path());
        assert!(error.message().starts_with("the file became shorter"), "{error}");
    }
}

#[test]
fn what_is_kept_is_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut same = 0;
    for name in
        ["alignment-64", "bf16", "key-values", "nested-arrays", "tensor-types", "vocabulary"]
    {
        let source = root().join(format!("tests/files/gguf/{name}.gguf"));
        let target = folder.path().join(format!("{name}.gguf"));
        let options = ConvertOptions::new(&target).dtype(OutputType::Keep);
        ops::convert(&Model::open(&source).unwrap(), &options).unwrap();
        assert!(std::fs::read(&source).unwrap() == std::fs::read(&target).unwrap(), "{name}");
        same += 1;
    }
    assert_eq!(same, 6);
}

/// What was opened from bytes and written to bytes never touches a disk.
#[test]
fn a_small_model_is_converted_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::open(root().join("tests/files/pth/old_1_10_shared.pt")).unwrap();
    for format in ["safetensors", "gguf", "npz"] {
        let options = ConvertOptions::new("-").to(format);
        let mut bytes = Vec::new();
        let report = ops::convert_to(&model, &options, &mut bytes).unwrap();
        assert_eq!(report.write_bytes, bytes.len() as u64, "{format}");
        let target = folder.path().join(format!("out.{format}"));
        ops::convert(&model, &ConvertOptions::new(&target)).unwrap();
        // An archive has its sums in other places when it goes out front to back.
        assert!(format == "npz" || bytes == std::fs::read(&target).unwrap(), "{format}");
        for written in [Model::open_bytes(bytes, "bytes").unwrap(), Model::open(&target).unwrap()] {
            let report = ops::verify(&written, &model, &options).unwrap();
            assert!(report.ok && written.findings().is_empty(), "{format}: {report:?}");
            assert_eq!(report.tied > 0, format == "safetensors");
        }
    }
}

/// A name that another one stands for must be noted; without the note it is missing.
#[test]
fn verifying_knows_tied_weights() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::open(root().join("tests/files/pth/old_1_10_shared.pt")).unwrap();
    let target = folder.path().join("out.safetensors");
    let options = ConvertOptions::new(&target);
    let report = ops::convert(&model, &options).unwrap();
    assert!(!report.tied.is_empty());
    let text = std::fs::read(&target).unwrap();
    let note = format!("\"{}\":\"{}\"", report.tied[0].name, report.tied[0].to);
    let at = text.windows(note.len()).position(|part| part == note.as_bytes()).unwrap();
    let mut without = text;
    without[at + 1] ^= 1;
    std::fs::write(&target, without).unwrap();
    let report = ops::verify(&Model::open(&target).unwrap(), &model, &options).unwrap();
    assert_eq!((report.ok, report.missing.len()), (false, 1));
}

#[test]
fn what_said_how_weights_were_stored_goes_with_it() {
    let source = root().join("tests/files/fp8/comfy-metadata/qwen-image-fp8.safetensors");
    let model = Model::open(source).unwrap();
    for (dtype, is_kept) in [(OutputType::Auto, false), (OutputType::Keep, true)] {
        let mut bytes = Vec::new();
        ops::convert_to(&model, &ConvertOptions::new("-").dtype(dtype), &mut bytes).unwrap();
        let written = Model::open_bytes(bytes, "out").unwrap();
        let said = written.metadata().iter().any(|(key, ..)| *key == "_quantization_metadata");
        assert_eq!(said, is_kept);
        assert_eq!(written.findings(), []);
    }
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
    assert!(error.hint_text().unwrap().contains("--max-memory"), "{error}");
}

/// Weights that are read in wide panels come out as they do when they are decoded whole, however
/// the panels are cut.
#[test]
fn panels_are_cut_from_the_whole() {
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
