//! The flags of the command, the arguments of Python and the pages name the same options. What one
//! has and another does not is in a table here, with the reason.

use std::collections::BTreeSet;
use std::path::Path;

use weighbridge::internals::PLACES;
use weighbridge::ops::QuantizeOptions;

const PYTHON: &str = "crates/weighbridge-python/python/weighbridge";

/// The verbs of Python, whose file is the same for all.
const VERBS: [&str; 9] =
    ["convert", "dequantize", "diff", "hash", "inspect", "quantize", "show", "stats", "verify"];

/// Verbs of the command that Python has no function for, with the reason.
const VERBS_ALONE: [(&str, &str); 4] = [
    ("completions", "for shells"),
    ("errors", "a page of text; `WeighbridgeError.hint` and docs/problems.md have it"),
    ("families", "`families(*names)` has no flags"),
    ("man", "for shells"),
];

/// Flags that are called otherwise in Python.
const OTHERWISE: [(&str, &str); 2] = [("kv", "metadata"), ("pre", "pre_tokenizer")];

/// Flags that no argument of a verb stands for (`*`: of any), with the reason.
const FLAGS_ALONE: [(&str, &[&str], &str); 12] = [
    ("*", &["color", "help", "json", "json-lines", "quiet", "verbose"], "about printing"),
    ("diff", &["limit", "sort"], "about printing"),
    ("inspect", &["key", "metadata", "sort", "tree"], "a report has all of it"),
    ("inspect", &["sarif"], "for code hosts, which run the command"),
    ("inspect", &["recursive"], "a loop over `pathlib.Path.rglob` chooses what is inspected"),
    ("open", &["no-mmap"], "the default"),
    (
        "dequantize",
        &[
            "allow-lossy-config",
            "config",
            "kv",
            "mmproj",
            "modelfile",
            "mtp",
            "names",
            "no-mtp",
            "pre",
            "to-layout",
        ],
        "what is dequantized keeps its names and its kind",
    ),
    ("quantize", &["cast", "dtype"], "hidden in the help: the type says it"),
    ("quantize", &["max-output", "skip-unreadable", "to-layout"], "nothing grows, all is read"),
    ("show", &["output", "raw"], "`weight.numpy().tofile(..)` writes the same bytes"),
    ("stats", &["limit"], "about printing"),
    ("verify", &["max-shard-size"], "files are found, and not made"),
];

/// Arguments that no flag stands for, with the reason.
const ARGUMENTS_ALONE: [(&str, &[&str], &str); 3] = [
    ("*", &["progress"], "the command shows it by itself"),
    ("*", &["a", "b", "name", "output", "source"], "they have their places in a command line"),
    ("open", &["limits", "name"], "limits are flags of their own, and files have names"),
];

fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

/// The arguments of a function of Python, or the fields of a class.
fn of_python(file: &str, start: &str, end: &str) -> BTreeSet<String> {
    let text = text(&format!("{PYTHON}/{file}"));
    let (_, rest) = text.split_once(&format!("\n{start}\n")).expect(start);
    let (inside, _) = rest.split_once(end).expect(start);
    let named = inside.lines().filter_map(|line| line.trim().split_once(": "));
    named.map(|(name, _)| name.to_owned()).collect()
}

/// The flags of a verb under some headings, without those that only the command has.
fn flags(verb: &str, place: &str, wanted: impl Fn(Option<&str>) -> bool) -> BTreeSet<String> {
    let command = super::command();
    let verb = command.find_subcommand(verb).expect("it is a verb");
    let arguments = verb.get_arguments().filter(|arg| wanted(arg.get_help_heading()));
    let flags = arguments.filter_map(clap::Arg::get_long);
    let alone = |flag: &&str| listed(&FLAGS_ALONE, place).any(|one| one == *flag);
    let called = |flag: &str| {
        let other = OTHERWISE.iter().find(|(one, _)| *one == flag);
        other.map_or(flag, |(_, name)| name).replace('-', "_")
    };
    flags.filter(|flag| !alone(flag)).map(called).collect()
}

fn listed<'a>(
    table: &'a [(&str, &[&'a str], &str)],
    place: &'a str,
) -> impl Iterator<Item = &'a str> {
    let of_place = move |(of, ..): &&(&str, &[&str], &str)| *of == "*" || *of == place;
    table.iter().filter(of_place).flat_map(|(_, names, _)| names.iter().copied())
}

/// Fails with the names that only one side has.
fn same(place: &str, flags: &BTreeSet<String>, arguments: &BTreeSet<String>) {
    let alone: Vec<&str> = listed(&ARGUMENTS_ALONE, place).collect();
    let missing: Vec<_> = flags.difference(arguments).collect();
    let more = arguments.difference(flags).filter(|name| !alone.contains(&name.as_str()));
    let more: Vec<_> = more.collect();
    assert!(missing.is_empty(), "{place}: Python has no argument for the flags {missing:?}");
    assert!(more.is_empty(), "{place}: no flag is called as Python's arguments {more:?}");
}

/// Whether a flag is about opening, which `open` does in Python.
fn is_of_opening(heading: Option<&str>) -> bool {
    matches!(heading, Some("Opening" | "Network"))
}

#[test]
fn python_has_the_flags_of_each_verb() {
    let limits = flags("inspect", "limits", |heading| heading == Some("Limits"));
    for verb in VERBS {
        let start = format!("def {verb}(");
        let arguments = of_python("_verbs.py", &start, "\n) ->");
        let own = flags(verb, verb, |heading| !is_of_opening(heading));
        same(verb, &own.difference(&limits).cloned().collect(), &arguments);
    }
}

#[test]
fn python_has_the_verbs_or_a_reason() {
    let command = super::command();
    let verbs: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let alone = VERBS_ALONE.iter().map(|(verb, _)| *verb);
    let listed: BTreeSet<&str> = VERBS.into_iter().chain(alone).chain(["help"]).collect();
    let missing: Vec<_> = verbs.difference(&listed).collect();
    assert!(missing.is_empty(), "Python has no functions for the verbs {missing:?}");
    let gone: Vec<_> = listed.difference(&verbs).filter(|verb| **verb != "help").collect();
    assert!(gone.is_empty(), "unknown verbs {gone:?}");
}

#[test]
fn python_opens_with_the_flags_of_opening() {
    let opening = flags("inspect", "open", is_of_opening);
    for start in ["def open(", "def open_all("] {
        let mut arguments = of_python("_open.py", start, "\n) ->");
        arguments.remove("path");
        same("open", &opening, &arguments);
    }
    let limits = flags("inspect", "limits", |heading| heading == Some("Limits"));
    let fields = of_python("_open.py", "class Limits(TypedDict, total=False):", "\n\n\n");
    same("limits", &limits, &fields);
    let page = text("docs/python.md");
    for option in flags("inspect", "open", |heading| heading == Some("Network")) {
        assert!(page.contains(&format!("\n| `{option}` | ")), "docs/python.md has no {option}");
    }
}

/// What the tables list is there, on one side only.
#[test]
fn the_tables_list_nothing_in_vain() {
    let command = super::command();
    for (verb, names, _) in FLAGS_ALONE.iter().filter(|(verb, ..)| VERBS.contains(verb)) {
        let arguments = of_python("_verbs.py", &format!("def {verb}("), "\n) ->");
        let of_verb = command.find_subcommand(verb).expect("it is a verb");
        let flags: Vec<&str> = of_verb.get_arguments().filter_map(clap::Arg::get_long).collect();
        for name in *names {
            assert!(flags.contains(name), "{verb} has no --{name}");
            assert!(!arguments.contains(&name.replace('-', "_")), "{verb} of Python has {name}");
        }
    }
}

/// Flags that pages name belong to the command, or to another program.
#[test]
fn pages_name_flags_that_exist() {
    const OTHERS: [&str; 9] =
        ["from", "locked", "no-deps", "only", "outtype", "path", "quick", "release", "test"];
    let command = super::command();
    let verbs = command.get_subcommands().chain([&command]);
    let known: BTreeSet<&str> =
        verbs.flat_map(clap::Command::get_arguments).filter_map(clap::Arg::get_long).collect();
    let flag = regex::Regex::new(r"(?:^|[^-\w])--([a-z][a-z-]+)").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for entry in std::fs::read_dir(root).unwrap() {
        let page = entry.unwrap().path();
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        for (_, [flag]) in flag.captures_iter(&text).map(|found| found.extract()) {
            let exists = known.contains(flag) || OTHERS.contains(&flag);
            assert!(exists, "{}: there is no --{flag}", page.display());
        }
    }
}

#[test]
fn pages_name_every_place() {
    let pages = ["docs/opening.md", "docs/remote.md"].map(text).concat();
    for start in PLACES.iter().map(|place| place.starts[0]) {
        assert!(pages.contains(start), "no page names {start}");
    }
}

#[test]
fn pages_name_the_usual_type() {
    let usual = QuantizeOptions::USUAL;
    assert!(text("docs/quantizing.md").contains(&format!("`{usual}`")), "{usual}");
}
