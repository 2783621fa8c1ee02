//! `--sarif`: the problems as SARIF 2.1.0, which code hosts show beside the files.
//!
//! ```text
//! tool.driver.rules          every kind of problem, with the text of `weigh errors`
//! results                    the problems, dangerous ones first: hosts cut long lists at the end
//! toolExecutionNotifications files that cannot be read
//! ```
//!
//! Equal inputs give equal bytes: no times, no absolute paths below the working directory.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::{Value as Json, json};
use weighbridge::catalog::Finding;
use weighbridge::internals::text::escaped;
use weighbridge::{Error, Model};

use super::tally::{DANGEROUS, Tally};
use crate::commands::Outcome;
use crate::remedy;

mod rules;
mod uri;

/// Where the definition of the format is.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// What was found so far.
#[derive(Default)]
pub(super) struct Log {
    results: Vec<Json>,
    notifications: Vec<Json>,
    /// What was said already: a file beside a model is met again where it is a model itself.
    seen: HashSet<String>,
}

impl Log {
    /// Adds the problems of a model.
    pub(super) fn add(&mut self, model: &Model, problems: &[Finding]) {
        let files = Files::of(model, problems);
        for problem in problems {
            let file = files.of_problem(problem);
            let key = key(file, problem);
            if self.seen.insert(key.clone()) {
                self.results.push(result(file, model, problem, &key));
            }
        }
    }

    /// Adds a model or file that cannot be read.
    pub(super) fn add_failure(&mut self, path: &Path, error: &Error) {
        let kind = error.kind().name();
        let mut notification = json!({
            "descriptor": { "id": kind, "index": rules::index_of_error(kind) },
            "level": "error",
            "message": { "text": error.to_string() },
            "locations": [location(error.path().unwrap_or(path))],
        });
        if let Some(hint) = remedy::hint(error) {
            notification["properties"] = json!({ "hint": hint });
        }
        self.notifications.push(notification);
    }

    /// The whole document.
    pub(super) fn finish(mut self, tally: &Tally, outcome: Outcome) -> Json {
        self.results.sort_by_key(|result| result["level"] != "error");
        json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "weighbridge",
                    "version": env!("CARGO_PKG_VERSION"),
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules::all(),
                    "notifications": rules::errors(),
                } },
                "invocations": [{
                    "executionSuccessful": self.notifications.is_empty(),
                    "exitCode": outcome.code(),
                    "toolExecutionNotifications": self.notifications,
                }],
                "results": self.results,
                "properties": { "summary": tally },
            }],
        })
    }
}

fn result(file: &Path, model: &Model, problem: &Finding, key: &str) -> Json {
    let mut location = location(file);
    let mut properties = json!({ "model": model.path().to_string_lossy() });
    if let Some(tensor) = &problem.tensor {
        location["logicalLocations"] = json!([{ "name": tensor, "kind": "tensor" }]);
        properties["tensor"] = json!(tensor);
    }
    json!({
        "ruleId": problem.kind,
        "ruleIndex": rules::index_of(problem.kind),
        "level": level(problem.kind),
        "message": { "text": text_of(problem) },
        "locations": [location],
        "partialFingerprints": { "primaryLocationLineHash": format!("{:016x}:1", fnv(key)) },
        "properties": properties,
    })
}

/// What tells a problem from all others, in this scan and in later ones.
fn key(file: &Path, problem: &Finding) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    // A problem of a file beside a model starts with its name.
    let message = match problem.message.split_once(": ") {
        Some((before, message)) if before.contains(&*escaped(&name)) => message,
        _ => &problem.message,
    };
    let tensor = problem.tensor.as_deref().unwrap_or_default();
    [&uri::of(file), problem.kind, tensor, message].join("\0")
}

/// The files of a model, to find that of a problem.
struct Files<'a> {
    model: &'a Model,
    /// The files of the tensors that problems are about.
    of_tensors: HashMap<&'a str, &'a Path>,
}

impl<'a> Files<'a> {
    fn of(model: &'a Model, problems: &[Finding]) -> Self {
        let mut of_tensors = HashMap::new();
        if problems.iter().any(|problem| problem.file.is_none() && problem.tensor.is_some()) {
            for source in model.sources() {
                let tensors = source.catalog().tensors.iter();
                let named = tensors.map(|tensor| (&*tensor.name, source.input().name()));
                named.for_each(|(name, file)| _ = of_tensors.entry(name).or_insert(file));
            }
        }
        Self { model, of_tensors }
    }

    /// The file that a problem is in; the model itself if it is in none of them alone.
    fn of_problem<'b>(&'b self, problem: &'b Finding) -> &'b Path {
        let of_tensor = || self.of_tensors.get(problem.tensor.as_deref()?).copied();
        let only = || match self.model.sources() {
            [only] => Some(only.input().name()),
            _ => None,
        };
        let own = problem.file.as_deref().or_else(of_tensor).or_else(only);
        own.unwrap_or(self.model.path())
    }
}

/// The place of a file. It has a region because code hosts require one; lines mean nothing in a file
/// of weights, so it is the empty one at the start.
fn location(file: &Path) -> Json {
    json!({ "physicalLocation": {
        "artifactLocation": uri::location(file),
        "region": { "startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1 },
    } })
}

/// How bad a kind of problem is, in the words of the format.
fn level(kind: &str) -> &'static str {
    if kind == DANGEROUS { "error" } else { "warning" }
}

/// A problem in one line, with what to do about it.
fn text_of(problem: &Finding) -> String {
    let tensor = problem.tensor.as_ref().map_or(String::new(), |tensor| format!("{tensor}: "));
    let way_out = problem.remedy().and_then(remedy::words);
    let way_out = way_out.map_or(String::new(), |words| format!(" ({words})"));
    format!("{tensor}{}{way_out}", problem.message)
}

/// The 64-bit FNV-1a hash of a text.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
