//! Every sample's stored tensors are each used once, in any order of the schemes.

use std::path::Path;

use libtest_mimic::Trial;
use weighbridge::{OpenOptions, Stores};

use crate::common::fixtures::Fixture;
use crate::common::ledger::check_ledger;
use crate::common::{Sample, name_of, root};
use crate::{counts, every_fixture, every_sample, trial};

pub fn trials() -> Vec<Trial> {
    let demos = std::fs::read_dir(root().join("samples")).unwrap();
    let demos = demos.map(|entry| entry.unwrap().path());
    let named = |path: &Path| format!("{}::settled alone", name_of(path));
    let mut trials: Vec<Trial> =
        demos.map(|demo| trial(named(&demo), move || check(&demo))).collect();
    trials.extend(every_sample("settled", |sample: &Sample| check(&sample.path)));
    trials.extend(every_fixture("uncontested", check_fixture));
    trials
}

fn check(path: &Path) -> Result<(), String> {
    let opened = OpenOptions::new().stores(Stores::none()).open_all(path).unwrap_or_default();
    for model in &opened {
        check_ledger(&path.display().to_string(), model);
    }
    counts::add("models settled", opened.len());
    Ok(())
}

fn check_fixture(fixture: &Fixture) -> Result<(), String> {
    let folder = fixture.model();
    let model = OpenOptions::new().open(folder.path()).map_err(|error| error.to_string())?;
    check_ledger(&fixture.name, &model);
    match model.findings().iter().any(|finding| finding.kind == "contested") {
        true => Err(format!("{:?}", model.findings())),
        false => Ok(()),
    }
}
