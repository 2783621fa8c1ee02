//! Everything that is checked of every sample, each check of each sample a test of its own name:
//! `cargo test -- gptq/asym` runs those of the samples with that in their paths.

#[path = "../common/mod.rs"]
mod common;

mod blocks;
mod compared;
mod converted;
mod counts;
mod damage;
mod forms;
mod limits;
mod page;
mod paired;
mod read;
mod settled;
mod torch;
mod traps;
mod values;
mod written;

use std::process::ExitCode;
use std::sync::LazyLock;

use common::Sample;
use common::fixtures::{Fixture, fixtures};
use libtest_mimic::{Arguments, Failed, Trial};

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(common::samples);
static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(fixtures);

fn main() -> ExitCode {
    let modules = [
        blocks::trials,
        compared::trials,
        converted::trials,
        damage::trials,
        forms::trials,
        limits::trials,
        page::trials,
        paired::trials,
        read::trials,
        settled::trials,
        torch::trials,
        traps::trials,
        values::trials,
        written::trials,
    ];
    let trials = modules.iter().flat_map(|trials| trials()).collect();
    let arguments = Arguments::from_args();
    let chosen = arguments.filter.is_some() || !arguments.skip.is_empty();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !chosen && !arguments.list && !arguments.ignored && !conclusion.has_failed() {
        counts::check();
    }
    conclusion.exit_code()
}

/// A test with a name.
fn trial<E: ToString>(name: String, job: impl FnOnce() -> Result<(), E> + Send + 'static) -> Trial {
    Trial::test(name, || job().map_err(|failure| Failed::from(failure.to_string())))
}

/// A check of every sample.
fn every_sample(check: &str, job: fn(&Sample) -> Result<(), String>) -> Vec<Trial> {
    let named = |sample: &Sample| format!("{}::{check}", sample.name());
    SAMPLES.iter().map(|sample| trial(named(sample), move || job(sample))).collect()
}

/// A check of every directory whose weights a canonical library has decoded.
fn every_fixture(check: &str, job: fn(&Fixture) -> Result<(), String>) -> Vec<Trial> {
    let named = |fixture: &Fixture| format!("{}::{check}", fixture.name);
    FIXTURES.iter().map(|fixture| trial(named(fixture), move || job(fixture))).collect()
}
