//! Every sample that can be converted is, to every type, and read back: the values, the dtype rules
//! and the sizes `inspect` promises.

use crate::common::Sample;
use crate::common::decoded::{TYPES, names_in, wanted_bytes};
use crate::{counts, every_sample};
use libtest_mimic::Trial;
use weighbridge::ops::{ConvertOptions, InspectOptions, Names, OutputType};
use weighbridge::{DType, FileAccess, Model, OpenOptions, Weight, ops};

/// What `inspect` says a conversion writes.
fn promised(model: &Model, output_type: OutputType) -> u64 {
    let decoded = ops::inspect(model, &InspectOptions::default()).unwrap().decoded_bytes;
    match output_type {
        OutputType::Auto | OutputType::Native => decoded.auto,
        OutputType::F32 => decoded.f32,
        OutputType::Bf16 => decoded.bf16,
        OutputType::F16 => decoded.f16,
        OutputType::Keep => panic!("nothing is decoded"),
    }
}

/// The rule of the guide, spelled out once more.
fn wanted_type(weight: &Weight, output_type: OutputType) -> DType {
    // Without a repository there is no config to follow.
    let output_type = match output_type {
        OutputType::Native => OutputType::Auto,
        other => other,
    };
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
        (OutputType::Keep | OutputType::Native, _) => panic!("nothing is decoded"),
    }
}

/// Converts and compares; or is refused and leaves nothing. Says whether it was written.
fn check(model: &Model, output_type: OutputType, name: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let options = ConvertOptions::new(&target).dtype(output_type).names(Names::Keep);
    let plan = ops::convert(model, &options.clone().dry_run(true));
    assert!(names_in(folder.path()).is_empty(), "{name}: a dry run wrote something");
    let report = match ops::convert(model, &options) {
        Ok(report) => report,
        // What a plan cannot know.
        Err(error) if error.to_string().contains("has CRC-32") => {
            assert!(names_in(folder.path()).is_empty(), "{name}: {error}");
            return false;
        }
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

pub fn trials() -> Vec<Trial> {
    let mut trials = every_sample("converted", to_every_type);
    trials.extend(every_sample("stretches", stretches));
    trials
}

/// It converts to every type, or is refused.
fn to_every_type(sample: &Sample) -> Result<(), String> {
    let Ok(model) = OpenOptions::new().access(FileAccess::Read).open(&sample.path) else {
        return Ok(());
    };
    // What has neither problems nor unusual types nor blocks must go through.
    let is_easy = |weight: Weight| {
        weight.undecodable().is_none() && !matches!(weight.native(), None | Some(DType::C128))
    };
    let is_whole = model.findings().is_empty() && !sample.is_damaged();
    let easy = is_whole && model.weights().len() > 0 && model.weights().all(is_easy);
    for output_type in TYPES {
        let done = check(&model, output_type, &sample.name());
        if !done && easy {
            return Err(format!("{output_type:?} was refused"));
        }
        counts::add("conversions", usize::from(done));
    }
    Ok(())
}

/// Any stretch of elements is that stretch of the whole, wherever it begins and ends.
fn stretches(sample: &Sample) -> Result<(), String> {
    let Ok(model) = OpenOptions::new().access(FileAccess::Read).open(&sample.path) else {
        return Ok(());
    };
    let able = |weight: &Weight| weight.has_element_access() && weight.len() < 1 << 16;
    for weight in model.weights().filter(able) {
        let mut whole = vec![0f32; weight.len()];
        if let Err(error) = weight.decode_into(&mut whole) {
            let is_damaged = sample.is_damaged() && error.to_string().contains("CRC-32");
            let expected =
                weight.undecodable().is_some() || !model.findings().is_empty() || is_damaged;
            assert!(expected, "{}: {error}", weight.name());
            continue;
        }
        counts::seen(format!("{}/{}", weight.scheme(), weight.variant()));
        check_stretches(&weight, &whole);
    }
    Ok(())
}

fn check_stretches(weight: &Weight, whole: &[f32]) {
    let mut scratch = weighbridge::Scratch::default();
    for step in [37, 256, 1000] {
        let mut start = 0;
        for wanted in whole.chunks(step) {
            let (range, mut out) = (start..start + wanted.len() as u64, vec![0f32; wanted.len()]);
            weight.decode_elements_with(range.clone(), &mut out, &mut scratch).unwrap();
            let same = out.iter().zip(wanted).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{} {range:?}", weight.name());
            start = range.end;
        }
    }
    let past = weight.elements()..weight.elements() + 1;
    assert!(weight.decode_elements_with(past, &mut [0f32], &mut scratch).is_err());
}
