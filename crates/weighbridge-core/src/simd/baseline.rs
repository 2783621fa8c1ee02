//! What every CPU of the architecture has: the scalar definitions.

use super::blocks::BlockForms;
use super::isa::{Isa, Operations, Task};
use super::scalars::Scalars;
use super::vector::LANES;

/// Always.
pub(super) fn is_available() -> bool {
    true
}

/// Runs a task with the definitions.
#[inline(never)]
pub(super) fn run<K: Task>(task: K) -> K::Output {
    task.run(Baseline)
}

/// Stands for the definitions within a task.
#[derive(Clone, Copy)]
struct Baseline;

impl BlockForms for Baseline {}

impl Operations for Baseline {}

impl Isa for Baseline {
    type Vector = Scalars;

    #[inline(always)]
    fn splat(self, value: f32) -> Scalars {
        Scalars([value; LANES])
    }

    #[inline(always)]
    fn load(self, lanes: &[f32; LANES]) -> Scalars {
        Scalars(*lanes)
    }
}
