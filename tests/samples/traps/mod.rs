//! The mistakes that other readers of these files make, each against a file in which it shows.
//!
//! A trap is a weight of a fixture, read here from its raw tensors in a few lines: rightly, and
//! as the trap has it. The right reading must be what the canonical library decoded and what we
//! decode; the wrong one must not be. So a fixture that stops showing its trap fails too.

mod codes;
mod floats;
mod fours;
mod raw;
mod wholes;

use half::{bf16, f16};
use libtest_mimic::Trial;
use weighbridge::Element;
use weighbridge::{DType, OpenOptions, Stores, Weight};

use crate::{FIXTURES, trial};
use codes::in_bf16;
use floats::FLOATS;
use fours::FOURS;
use raw::Raw;
use wholes::WHOLES;

/// A weight read rightly (`false`) or wrongly (`true`).
type Reading = fn(&Raw, bool) -> Vec<f32>;

/// What goes wrong, where it shows, and both readings.
type Trap = (&'static str, &'static str, &'static str, Reading);

const L: &str = "model.layers.0.";

fn native<T: Element>(weight: &Weight, widen: fn(T) -> f32) -> Vec<f32> {
    let mut out = vec![T::default(); weight.len()];
    weight.decode_into(&mut out).unwrap();
    out.into_iter().map(widen).collect()
}

fn decoded(weight: &Weight, dtype: DType) -> Vec<f32> {
    match dtype {
        DType::BF16 => native(weight, bf16::to_f32),
        DType::F16 => native(weight, f16::to_f32),
        _ => native(weight, |value: f32| value),
    }
}

fn rounded(values: Vec<f32>, dtype: DType) -> Vec<f32> {
    let round: fn(f32) -> f32 = match dtype {
        DType::BF16 => in_bf16,
        DType::F16 => |value| f16::from_f32(value).to_f32(),
        _ => |value| value,
    };
    values.into_iter().map(round).collect()
}

pub fn trials() -> Vec<Trial> {
    let all = [FLOATS, FOURS, WHOLES].concat();
    let named = |trap: &Trap| format!("{}::trap: {}", trap.1, trap.0);
    all.into_iter().map(|trap| trial(named(&trap), move || check(trap))).collect()
}

fn check((_, fixture, name, reading): Trap) -> Result<(), String> {
    let fixture = FIXTURES.iter().find(|known| known.name == fixture).expect(fixture);
    let name = match name {
        "" => "single_blocks.0.linear1.weight".to_owned(),
        name => format!("{L}{name}"),
    };
    let folder = fixture.model();
    let options = OpenOptions::new().stores(Stores::none());
    let model = options.open(folder.path()).unwrap();
    let expected = options.open(fixture.path.join("expected.safetensors")).unwrap();
    let expected = expected.weight(&name).map_err(|error| error.to_string())?;
    let dtype = expected.native().unwrap();
    let library = decoded(&expected, dtype);
    let raw = Raw::of(fixture);
    assert!(decoded(&model.weight(&name).unwrap(), dtype) == library, "ours");
    assert!(rounded(reading(&raw, false), dtype) == library, "the right reading");
    assert!(rounded(reading(&raw, true), dtype) != library, "does not show");
    Ok(())
}
