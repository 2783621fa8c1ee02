//! Internal items for the command, the benchmarks, the fuzz targets and the tests.
//!
//! This module is not part of the stable API. Names and signatures change without notice.

/// Makes the public items of private modules reachable, each module under its own name.
macro_rules! rooms {
    ($($module:ident)*) => {
        $(#[allow(missing_docs)] // They are documented where they are defined.
        pub mod $module {
            pub use crate::$module::*;
        })*
    };
}

rooms!(
    blocks config containers cursor dtype inflate input limits number output pipeline schemes
    near simd source stop text
);

pub use crate::model::{PLACES, Place};
pub use crate::sys::give_memory_back;

#[cfg(feature = "families")]
rooms!(families names projectors tokenizer);
#[cfg(feature = "remote")]
rooms!(remote);
