//! Every fixture against the values its canonical library decodes, bit for bit.
//!
//! A fixture is a directory under `tests/files` with `expected.safetensors`: the values in the
//! library's own type, and where the library could be run with widened scales also
//! `expected-f32.safetensors`. `findings.json`, a list of kinds, says what is wrong with it.
//! `oracles.json` one folder up names, for each fixture in it, the library and its version;
//! `docs/schemes.md` is written from what is checked here (`BLESS=1` writes it anew).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::fixtures::{Fixture, fixtures};
use crate::common::root;
use half::{bf16, f16};
use weighbridge::Element;
use weighbridge::ops::{self, ConvertOptions};
use weighbridge::{DType, Model, OpenOptions, Scratch, Stores, Weight};

/// Numbers as bits, every NaN alike: which NaN a conversion gives is nobody's contract.
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

/// All that is expected of one fixture; what it says of each scheme and variant.
fn check(fixture: &Fixture) -> Result<Vec<Row>, String> {
    let folder = fixture.model();
    let options = OpenOptions::new().stores(Stores::none());
    let model = options.open(folder.path()).map_err(|error| error.to_string())?;
    check_findings(fixture, &model)?;
    let open = |name: &str| options.open(fixture.path.join(name));
    let expected = open("expected.safetensors").map_err(|error| error.to_string())?;
    let single = open("expected-f32.safetensors").ok();
    let weights: HashMap<String, Weight> =
        model.weights().map(|w| (w.name().to_owned(), w)).collect();
    let mut rows = Vec::new();
    for expected in expected.weights() {
        let name = expected.name();
        let weight = weights.get(name).ok_or_else(|| format!("there is no weight {name}"))?;
        check_weight(weight, &expected).map_err(|failure| format!("{name}: {failure}"))?;
        let single = single.as_ref().and_then(|single| single.weight(name).ok());
        if let Some(single) = &single {
            same(&decoded::<f32>(weight)?, &decoded::<f32>(single)?, &format!("{name} in f32"))?;
        }
        if weight.scheme() != "plain" {
            rows.push(Row::of(weight, single.is_some()));
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
        None => Ok(rows),
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

/// What was checked of one weight.
struct Row {
    kind: (&'static str, String),
    native: &'static str,
    single: bool,
}

impl Row {
    fn of(weight: &Weight, single: bool) -> Self {
        Self {
            kind: (weight.scheme(), weight.variant().to_owned()),
            native: weight.native().map_or("", DType::name),
            single: single || weight.native() == Some(DType::F32),
        }
    }
}

/// What was checked of all weights of a scheme and variant.
#[derive(Default)]
struct Checked {
    natives: BTreeSet<&'static str>,
    single: bool,
    fixtures: BTreeSet<String>,
}

type Table = BTreeMap<(&'static str, String), Checked>;

#[test]
fn every_fixture_decodes_as_its_own_library_decodes_it() {
    let all = fixtures();
    assert!(!all.is_empty(), "there are no fixtures");
    let (mut failures, mut table) = (Vec::new(), Table::new());
    for fixture in &all {
        match check(fixture) {
            Err(failure) => failures.push(format!("{}: {failure}", fixture.name)),
            Ok(rows) => {
                for row in rows {
                    let checked = table.entry(row.kind).or_default();
                    checked.natives.insert(row.native);
                    checked.single |= row.single;
                    checked.fixtures.insert(fixture.name.clone());
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} fixtures differ:\n{}", failures.len(), failures.join("\n"));
    check_page(&table);
}

/// Without its configs a file of ModelOpt's leaves several readings open: the user's answer picks
/// one, and the others give other numbers.
#[test]
fn an_answer_decides_where_the_file_cannot() {
    let fixture = fixtures().into_iter().find(|fixture| fixture.name == "nvfp4/modelopt").unwrap();
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
}

/// Files of one reading must not be completed with those of another, though their headers agree.
fn refuses_to_go_on(begun: &Model, other: &Model) {
    let place = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let heard = {
        let stop = stop.clone();
        Arc::new(move |written| stop.store(written > 600, Ordering::Relaxed))
    };
    let options = ConvertOptions::new(place.path().join("out")).max_shard_size(1);
    let stopped = options.clone().progress(heard).cancel(stop).threads(1.try_into().unwrap());
    ops::convert(begun, &stopped).unwrap_err();
    let error = ops::convert(other, &options.clone().resume(true)).unwrap_err();
    assert!(error.to_string().contains("another conversion"), "{error}");
    ops::convert(begun, &options.resume(true)).unwrap();
}

/// Scales of activations and of the KV cache are no weights.
#[test]
fn what_belongs_to_activations_is_dropped() {
    let fixtures = fixtures();
    let fixture = fixtures.iter().find(|fixture| fixture.name == "compressed/fp8-static").unwrap();
    let model = Model::open(fixture.model().path()).unwrap();
    let dropped =
        |suffix: &str| model.dropped().filter(|(info, _)| info.name.ends_with(suffix)).count();
    assert_eq!([dropped(".input_scale"), dropped(".k_scale"), dropped(".v_scale")], [3, 1, 1]);
}

const PAGE: &str = "docs/schemes.md";

const HEAD: &str = "\
# Schemes

What is decoded, and against what that is held. Every row is a scheme and variant that occurs in a sample, with the library whose values it was compared with. Samples are
written by the scheme's own library, or, where it cannot write on a CPU, laid out as its loader reads them; the second table says which. `BLESS=1 cargo test -p weighbridge
--test schemes` writes this page from the samples, after checking each of them.

- **native**: the library's own type; every weight is bit-identical in it, whole and in pieces.
- **f32**: *exact* is bit-identical to the library run with widened scales. *formula* means that it cannot be run so: f32 is the same formula without the
  roundings to 16 bits, and the other 16-bit type is that value rounded once.

GGUF's block types are held to ggml's own values by `tests/ggml.rs`. Schemes that are recognised but not decoded are listed at the end.

";

/// The page must be what the fixtures say.
fn check_page(table: &Table) {
    let path = root().join(PAGE);
    let page = page(table);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page).unwrap();
    } else {
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == page, "{PAGE} is not what the samples say: run this with BLESS=1");
    }
}

fn page(table: &Table) -> String {
    let mut page = HEAD.to_owned();
    page.push_str(
        "| scheme | variant | native | f32 | source | samples |\n|---|---|---|---|---|---|\n",
    );
    let joined = |texts: BTreeSet<String>| texts.into_iter().collect::<Vec<_>>().join("; ");
    for ((scheme, variant), checked) in table {
        let sources = joined(checked.fixtures.iter().map(|name| source(name)).collect());
        let samples = joined(checked.fixtures.iter().map(|name| sample(name)).collect());
        let natives = checked.natives.iter().copied().collect::<Vec<_>>().join(", ");
        let single = if checked.single { "exact" } else { "formula" };
        writeln!(page, "| {scheme} | {variant} | {natives} | {single} | {sources} | {samples} |")
            .unwrap();
    }
    page.push_str("\n## Who wrote the samples\n\n| sample | written by |\n|---|---|\n");
    let all: BTreeSet<&String> = table.values().flat_map(|checked| &checked.fixtures).collect();
    for name in all {
        writeln!(page, "| {name} | {} |", oracle(name, "writer")).unwrap();
    }
    page.push_str(
        "\n## Recognised, not decoded\n\n| variant | what it is | instead |\n|---|---|---|\n",
    );
    let mut seen = BTreeSet::new();
    for (name, title, instead) in weighbridge::internals::schemes::known::kinds() {
        if seen.insert((name, title)) {
            writeln!(page, "| {name} | {title} | {instead} |").unwrap();
        }
    }
    page
}

fn sample(name: &str) -> String {
    format!("[{name}](../tests/files/{name})")
}

/// The library that decoded a fixture, with its version.
fn source(name: &str) -> String {
    format!("{} {}", oracle(name, "source"), oracle(name, "version"))
}

/// What is known about the origin of a fixture.
fn oracle(name: &str, key: &str) -> String {
    let (scheme, case) = name.rsplit_once('/').unwrap_or(("", name));
    let file = Path::new("tests/files").join(scheme).join("oracles.json");
    let text = std::fs::read_to_string(root().join(&file))
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let value = json[case][key].as_str();
    value.unwrap_or_else(|| panic!("{}: {case} has no {key}", file.display())).to_owned()
}
