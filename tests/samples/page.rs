//! `docs/schemes.md`, written from the fixtures. `oracles.json` in the folder above a fixture names
//! the library that wrote it, the one that decoded it, and their versions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use libtest_mimic::Trial;
use weighbridge::internals::schemes::{SCHEMES, known};
use weighbridge::{DType, OpenOptions, Stores, Weight};

use crate::common::fixtures::Fixture;
use crate::common::root;
use crate::{FIXTURES, trial};

pub fn trials() -> Vec<Trial> {
    vec![trial(PAGE.into(), check_page)]
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

const PAGE: &str = "docs/schemes.md";

const HEAD: &str = "\
# Schemes

Each row is a decoded scheme and variant that occurs in a test sample, with the library whose values it was compared with.

Most samples are written by the scheme's own library. Where it cannot write on a CPU, the sample has the layout that its loader reads. [Who wrote the samples](#who-wrote-the-samples) names the writer of each.

- **native**: the library's own dtype. In this dtype every weight is bit-identical, decoded whole or in pieces.
- **f32**, *exact*: bit-identical to the library run with widened scales.
- **f32**, *formula*: the library cannot be run with widened scales. f32 uses the same formula without the roundings to 16 bits. The other 16-bit dtype is that value, rounded once.

`tests/library/ggml.rs` compares GGUF's block types with ggml's own values. [Recognised, not decoded](#recognised-not-decoded) lists the schemes that are rejected by name.

`BLESS=1 cargo test --test samples` writes this page from the samples and checks each of them.

";

/// The page must be what the fixtures say.
fn check_page() -> Result<(), String> {
    let mut table = Table::new();
    for fixture in FIXTURES.iter() {
        for row in rows(fixture).map_err(|error| format!("{}: {error}", fixture.name))? {
            let checked = table.entry(row.kind).or_default();
            checked.natives.insert(row.native);
            checked.single |= row.single;
            checked.fixtures.insert(fixture.name.clone());
        }
    }
    let (path, page) = (root().join(PAGE), page(&table));
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(&path, page).map_err(|error| error.to_string());
    }
    match std::fs::read_to_string(&path).unwrap_or_default() == page {
        true => Ok(()),
        false => Err("it is not what the samples say: run this with BLESS=1".to_owned()),
    }
}

/// What a fixture says of the schemes and variants in it.
fn rows(fixture: &Fixture) -> weighbridge::Result<Vec<Row>> {
    let folder = fixture.model();
    let options = OpenOptions::new().stores(Stores::none());
    let model = options.open(folder.path())?;
    let expected = options.open(fixture.path.join("expected.safetensors"))?;
    let single = options.open(fixture.path.join("expected-f32.safetensors")).ok();
    let mut rows = Vec::new();
    for weight in expected.weights() {
        let single = single.as_ref().is_some_and(|single| single.weight(weight.name()).is_ok());
        let weight = model.weight(weight.name())?;
        if weight.scheme() != "plain" {
            rows.push(Row::of(&weight, single));
        }
    }
    Ok(rows)
}

fn page(table: &Table) -> String {
    let mut page = HEAD.to_owned();
    page.push_str(
        "| scheme | variant | native | f32 | compared with | samples |\n|---|---|---|---|---|---|\n",
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
        "\n## Recognised, not decoded\n\n| variant | description | instead |\n|---|---|---|\n",
    );
    let mut seen = BTreeSet::new();
    for (name, title, instead) in known::kinds(SCHEMES) {
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
