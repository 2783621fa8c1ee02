//! Limits hold for every sample: too little is an error of that kind, never a wrong answer.
#![allow(clippy::cast_possible_truncation)]

use libtest_mimic::Trial;
use weighbridge::{ErrorKind, Limits, Model, OpenOptions};

use crate::common::{small_files, stored};
use crate::trial;

/// The name of a limit, and all limits with that one set.
type Squeeze = (&'static str, fn(u64) -> Limits);

const SQUEEZED: [Squeeze; 6] = [
    ("max_allocation", |n| Limits::default().max_allocation(n)),
    ("max_total", |n| Limits::default().max_total(n)),
    ("max_items", |n| Limits::default().max_items(n)),
    ("max_depth", |n| Limits::default().max_depth(n as u32)),
    ("max_ratio", |n| Limits::default().max_ratio(n)),
    ("max_pickle_steps", |n| Limits::default().max_pickle_steps(n)),
];

pub fn trials() -> Vec<Trial> {
    let files = small_files(64 << 10).into_iter();
    let named = |name: &str| format!("{name}::limits");
    files.map(|(name, bytes)| trial(named(&name), move || check(&name, &bytes))).collect()
}

/// Every limit is an error or changes nothing.
fn check(name: &str, bytes: &[u8]) -> Result<(), String> {
    let open = |limits| OpenOptions::new().limits(limits).open_bytes(bytes.to_vec(), name);
    let Ok(whole) = open(Limits::default()) else {
        return Ok(());
    };
    let names = |model: &Model| -> Vec<String> {
        stored(model).map(|(_, tensor)| tensor.name.to_string()).collect()
    };
    for (what, limits) in SQUEEZED {
        for n in [0, 1, 2, 5, 10, 100, 1000, 10_000] {
            match open(limits(n)) {
                Ok(model) if names(&model) == names(&whole) => {}
                Ok(_) => return Err(format!("other tensors with {what} {n}")),
                Err(error) if error.kind() == ErrorKind::Limit => {}
                Err(error) => return Err(format!("{what} {n}: {error}")),
            }
        }
    }
    match open(Limits::default().max_items(0)) {
        Ok(_) if stored(&whole).count() > 0 => Err("no items were counted".to_owned()),
        _ => Ok(()),
    }
}
