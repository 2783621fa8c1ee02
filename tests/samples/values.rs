//! Every fixture against the values its canonical library decodes, bit for bit.
//!
//! A fixture is a directory under `tests/files` with `expected.safetensors`: the values in the
//! library's own type, and where the library could be run with widened scales also
//! `expected-f32.safetensors`. `findings.json`, a list of kinds, says what is wrong with it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::fixtures::Fixture;
use crate::{FIXTURES, counts, every_fixture, trial};
use half::{bf16, f16};
use libtest_mimic::Trial;
use weighbridge::Element;
use weighbridge::ops::{self, ConvertOptions, Names, Progress};
use weighbridge::{DType, Model, OpenOptions, Scratch, Stores, Weight};

/// Numbers as bits, every NaN alike: which NaN a conversion gives is not specified.
trait Bits: Element + PartialEq {
    fn bits(self) -> u32;
    fn of_f32(value: f32) -> Self;
}

impl Bits for f32 {
    fn bits(self) -> u32 {
        if self.is_nan() { u32::MAX } else { self.to_bits() }
    }
    fn of_f32(value: f32) -> Self {
        value
    }
}

impl Bits for bf16 {
    fn bits(self) -> u32 {
        if self.is_nan() { u32::MAX } else { self.to_bits().into() }
    }
    fn of_f32(value: f32) -> Self {
        Self::from_f32(value)
    }
}

impl Bits for f16 {
    fn bits(self) -> u32 {
        if self.is_nan() { u32::MAX } else { self.to_bits().into() }
    }
    fn of_f32(value: f32) -> Self {
        Self::from_f32(value)
    }
}

fn decoded<T: Element>(weight: &Weight) -> Result<Vec<T>, String> {
    let mut out = vec![T::default(); weight.len()];
    weight.decode_into(&mut out).map_err(|error| error.to_string())?;
    Ok(out)
}

fn same<T: Bits>(found: &[T], expected: &[T], what: &str) -> Result<(), String> {
    let differ = |(a, b): (&T, &T)| a.bits() != b.bits();
    match found.iter().zip(expected).position(differ) {
        None if found.len() == expected.len() => Ok(()),
        None => Err(format!("{what}: {} elements, not {}", found.len(), expected.len())),
        Some(at) => {
            let (found, expected) = (found[at].bits(), expected[at].bits());
            Err(format!("{what}: element {at} is {found:#x} and should be {expected:#x}"))
        }
    }
}

/// Pieces of it must be what the whole has there: each row, and odd stretches.
fn check_rows<T: Bits>(weight: &Weight, whole: &[T]) -> Result<(), String> {
    let (rows, columns) = weight.rows_and_columns();
    let columns = usize::try_from(columns).unwrap();
    let at = |row: u64| usize::try_from(row).unwrap() * columns;
    let pieces = [(rows / 3, rows / 3 + rows.div_ceil(2)), (1, rows)];
    let pieces = (0..rows).map(|row| (row, row + 1)).chain(pieces);
    for (start, end) in pieces.filter(|(start, end)| start < end && *end <= rows) {
        let mut piece = vec![T::default(); at(end) - at(start)];
        weight.decode_rows(start..end, &mut piece).map_err(|error| error.to_string())?;
        same(&piece, &whole[at(start)..at(end)], &format!("rows {start}..{end}"))?;
    }
    Ok(())
}

/// Stretches that begin and end anywhere, where the scheme can do that.
fn check_elements<T: Bits>(weight: &Weight, whole: &[T]) -> Result<(), String> {
    if !weight.has_element_access() {
        return Ok(());
    }
    let len = whole.len();
    for range in [0..len, 1..len, 0..len - 1, len / 3..len / 2 + 1, len / 5..len - len / 7] {
        let mut piece = vec![T::default(); range.len()];
        let elements = range.start as u64..range.end as u64;
        let done = weight.decode_elements_with(elements, &mut piece, &mut Scratch::default());
        done.map_err(|error| error.to_string())?;
        same(&piece, &whole[range.clone()], &format!("elements {range:?}"))?;
    }
    Ok(())
}

/// In the library's own type, in pieces, and rounded from f32 to the 16-bit type that is not it.
fn check_native<T: Bits>(weight: &Weight, expected: &Weight) -> Result<(), String> {
    let found = decoded::<T>(weight)?;
    same(&found, &decoded::<T>(expected)?, T::DTYPE.name())?;
    if !found.is_empty() {
        check_rows(weight, &found)?;
        check_elements(weight, &found)?;
    }
    match T::DTYPE {
        DType::BF16 => check_rounded::<f16>(weight),
        DType::F16 => check_rounded::<bf16>(weight),
        _ => check_rounded::<f16>(weight).and_then(|()| check_rounded::<bf16>(weight)),
    }
}

fn check_rounded<T: Bits>(weight: &Weight) -> Result<(), String> {
    let rounded: Vec<T> = decoded::<f32>(weight)?.into_iter().map(T::of_f32).collect();
    same(&decoded::<T>(weight)?, &rounded, &format!("{} rounded from f32", T::DTYPE.name()))
}

fn check_weight(weight: &Weight, expected: &Weight) -> Result<(), String> {
    if weight.shape() != expected.shape() {
        return Err(format!("shape {:?} instead of {:?}", weight.shape(), expected.shape()));
    }
    let dtype = expected.native().ok_or("its expected type has no name")?;
    if weight.scheme() != "plain" && weight.native() != Some(dtype) {
        return Err(format!("native type {:?} instead of {dtype:?}", weight.native()));
    }
    match dtype {
        DType::F32 => check_native::<f32>(weight, expected),
        DType::BF16 => check_native::<bf16>(weight, expected),
        DType::F16 => check_native::<f16>(weight, expected),
        _ if weight.native() == Some(dtype) && weight.bytes() == expected.bytes() => Ok(()),
        other => Err(format!("the stored {} differ", other.name())),
    }
}

pub fn trials() -> Vec<Trial> {
    let mut trials = every_fixture("values", check);
    trials.push(trial("nvfp4/modelopt::answer".into(), an_answer_decides_where_the_file_cannot));
    trials.push(trial(
        "compressed/fp8-static::dropped".into(),
        what_belongs_to_activations_is_dropped,
    ));
    trials
}

/// All that is expected of one fixture.
fn check(fixture: &Fixture) -> Result<(), String> {
    counts::add("fixtures", 1);
    let folder = fixture.model();
    let options = OpenOptions::new().stores(Stores::none());
    let model = options.open(folder.path()).map_err(|error| error.to_string())?;
    check_findings(fixture, &model)?;
    let open = |name: &str| options.open(fixture.path.join(name));
    let expected = open("expected.safetensors").map_err(|error| error.to_string())?;
    let single = open("expected-f32.safetensors").ok();
    let weights: HashMap<String, Weight> =
        model.weights().map(|w| (w.name().to_owned(), w)).collect();
    for expected in expected.weights() {
        let name = expected.name();
        let weight = weights.get(name).ok_or_else(|| format!("there is no weight {name}"))?;
        check_weight(weight, &expected).map_err(|failure| format!("{name}: {failure}"))?;
        let single = single.as_ref().and_then(|single| single.weight(name).ok());
        if let Some(single) = &single {
            same(&decoded::<f32>(weight)?, &decoded::<f32>(single)?, &format!("{name} in f32"))?;
        }
    }
    if let Some(single) = &single {
        let unknown = single.weights().find(|single| expected.weight(single.name()).is_err());
        if let Some(unknown) = unknown {
            return Err(format!("{} is expected in f32 only", unknown.name()));
        }
    }
    let unchecked = |w: &&Weight| w.scheme() != "plain" && expected.weight(w.name()).is_err();
    match weights.values().find(unchecked) {
        Some(weight) => Err(format!("{} is not expected", weight.name())),
        None => Ok(()),
    }
}

fn check_findings(fixture: &Fixture, model: &Model) -> Result<(), String> {
    let mut found: Vec<&str> = model.findings().iter().map(|finding| finding.kind).collect();
    let document = fixture.document("findings.json");
    let listed = document.iter().flat_map(|json| json.as_array().unwrap());
    let mut expected: Vec<&str> = listed.map(|kind| kind.as_str().unwrap()).collect();
    found.sort_unstable();
    expected.sort_unstable();
    match found == expected {
        true => Ok(()),
        false => Err(format!("findings {:?} instead of {expected:?}", model.findings())),
    }
}

/// Without its configs, a file from ModelOpt can be read in several ways: the user's choice picks one,
/// and the others give other numbers.
fn an_answer_decides_where_the_file_cannot() -> Result<(), String> {
    let fixture = fixture("nvfp4/modelopt");
    let folder = fixture.model();
    for config in ["config.json", "hf_quant_config.json"] {
        std::fs::remove_file(folder.path().join(config)).unwrap();
    }
    let options = || OpenOptions::new().stores(Stores::none());
    let kinds = |model: &Model| -> BTreeSet<&str> {
        model.findings().iter().map(|finding| finding.kind).collect()
    };
    let model = options().open(folder.path()).unwrap();
    assert_eq!(kinds(&model), BTreeSet::from(["ambiguous"]));
    let right = options().scheme(|_| true, "nvfp4/modelopt").open(folder.path()).unwrap();
    assert_eq!(kinds(&right), BTreeSet::new(), "{:?}", right.findings());
    let wrong = options().scheme(|_| true, "nvfp4/comfy-linear").open(folder.path()).unwrap();
    let expected = options().open(fixture.path.join("expected.safetensors")).unwrap();
    for expected in expected.weights() {
        check_weight(&right.weight(expected.name()).unwrap(), &expected).unwrap();
        assert!(check_weight(&wrong.weight(expected.name()).unwrap(), &expected).is_err());
    }
    let none = options().scheme(|name| name == "nothing", "nvfp4/modelopt").open(folder.path());
    assert!(kinds(&none.unwrap()).contains("unused-answer"));
    assert!(options().scheme(|_| true, "nothing/v1").open(folder.path()).is_err());
    refuses_to_go_on(&right, &wrong);
    Ok(())
}

/// Files of one reading must not be completed with those of another, though their headers agree.
fn refuses_to_go_on(begun: &Model, other: &Model) {
    let place = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let heard = {
        let stop = stop.clone();
        Arc::new(move |at: Progress| stop.store(at.done > 600, Ordering::Relaxed))
    };
    let options =
        ConvertOptions::new(place.path().join("out")).names(Names::Keep).max_shard_size(1);
    let stopped = options.clone().progress(heard).cancel(stop).threads(1.try_into().unwrap());
    ops::convert(begun, &stopped).unwrap_err();
    let error = ops::convert(other, &options.clone().resume(true)).unwrap_err();
    assert!(error.to_string().contains("another conversion"), "{error}");
    ops::convert(begun, &options.resume(true)).unwrap();
}

/// Scales of activations and of the KV cache are not weights.
fn what_belongs_to_activations_is_dropped() -> Result<(), String> {
    let fixture = fixture("compressed/fp8-static");
    let model = Model::open(fixture.model().path()).unwrap();
    let dropped =
        |suffix: &str| model.dropped().filter(|(info, _)| info.name.ends_with(suffix)).count();
    assert_eq!([dropped(".input_scale"), dropped(".k_scale"), dropped(".v_scale")], [3, 1, 1]);
    Ok(())
}

fn fixture(name: &str) -> &'static Fixture {
    FIXTURES.iter().find(|fixture| fixture.name == name).expect(name)
}
