//! Limits hold for every sample: too little is an error of that kind, never a wrong answer.
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]

mod common;

use common::{small_files, stored};
use weighbridge::{ErrorKind, Limits, OpenOptions};

/// The name of a limit, and all limits with that one set.
type Squeeze = (&'static str, fn(u64) -> Limits);

#[test]
fn every_limit_is_an_error_or_changes_nothing() {
    let squeezed: [Squeeze; 6] = [
        ("max_allocation", |n| Limits::default().max_allocation(n)),
        ("max_total", |n| Limits::default().max_total(n)),
        ("max_items", |n| Limits::default().max_items(n)),
        ("max_depth", |n| Limits::default().max_depth(n as u32)),
        ("max_ratio", |n| Limits::default().max_ratio(n)),
        ("max_pickle_steps", |n| Limits::default().max_pickle_steps(n)),
    ];
    for (name, bytes) in small_files(64 << 10) {
        let open = |limits| OpenOptions::new().limits(limits).open_bytes(bytes.clone(), &name);
        let Ok(whole) = open(Limits::default()) else {
            continue;
        };
        let names = |model: &weighbridge::Model| -> Vec<String> {
            stored(model).map(|(_, t)| t.name.to_string()).collect()
        };
        for (what, limits) in squeezed {
            for n in [0, 1, 2, 5, 10, 100, 1000, 10_000] {
                match open(limits(n)) {
                    Ok(model) => assert_eq!(names(&model), names(&whole), "{name} {what} {n}"),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Limit, "{name} {what} {n}: {error}");
                    }
                }
            }
        }
        let nothing = open(Limits::default().max_items(0));
        assert!(nothing.is_err() || stored(&whole).count() == 0, "{name}: no items were counted");
    }
}
