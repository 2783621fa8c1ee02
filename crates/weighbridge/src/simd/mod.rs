//! Room 3: what this CPU can do, and the few primitives that kernels are built from.
//!
//! A kernel's scalar function is its definition. It is compiled once for each [`Level`], and
//! written with intrinsics where a benchmark asks for it; which one runs is decided at run time,
//! so a plain `cargo install` is as fast as a build for this very CPU. Multiply-add
//! is fused only where the product is exact: elsewhere it would round once where the definition
//! rounds twice.
//!
//! **Not a number.** Where the definition gives NaN, every level and every output type gives NaN.
//! Which NaN (its sign and its payload) is not part of the promise, as it is not in IEEE 754's
//! arithmetic; everything else, the sign of zero included, is the same to the bit.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Result};
use crate::text::escaped;

#[cfg(test)]
pub(crate) mod agreement;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
pub(crate) mod number;
mod slices;
mod transpose;

pub(crate) use number::{Number, half_to_f32};
pub(crate) use slices::{map, narrow, prefetch};
pub(crate) use transpose::{Sides, transpose};

/// A set of instructions that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// What every CPU of the architecture has; the scalar definition.
    Baseline,
    /// x86-64 with AVX2, F16C and FMA.
    Avx2,
}

impl Level {
    /// Every level this CPU has, the slowest first.
    #[must_use]
    pub fn available() -> &'static [Self] {
        static AVAILABLE: LazyLock<&[Level]> = LazyLock::new(|| {
            #[cfg(target_arch = "x86_64")]
            if std::is_x86_feature_detected!("avx2")
                && std::is_x86_feature_detected!("f16c")
                && std::is_x86_feature_detected!("fma")
            {
                return &[Level::Baseline, Level::Avx2];
            }
            &[Level::Baseline]
        });
        *AVAILABLE
    }

    /// Its name, as `WEIGHBRIDGE_SIMD` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Avx2 => "avx2",
        }
    }

    fn best() -> Self {
        let asked = asked().ok().flatten();
        asked.or(Self::available().last().copied()).unwrap_or(Self::Baseline)
    }
}

/// The level that the environment variable `WEIGHBRIDGE_SIMD` asks for; an error if this CPU has
/// none of that name.
pub fn asked() -> Result<Option<Level>> {
    let Some(name) = std::env::var_os("WEIGHBRIDGE_SIMD").filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let level = Level::available().iter().find(|level| name == level.name());
    level.copied().map(Some).ok_or_else(|| {
        let names: Vec<_> = Level::available().iter().map(|level| level.name()).collect();
        Error::usage(format!("WEIGHBRIDGE_SIMD is {}", escaped(&name.to_string_lossy())))
            .hint(format!("this CPU has {}", names.join(", ")))
    })
}

/// The level that is forced: 0 for none, else its place in [`Level::available`] plus one.
static FORCED: AtomicU8 = AtomicU8::new(0);

/// The level that kernels run at: the best this CPU has, unless one is forced or [`asked`] for.
#[must_use]
pub fn level() -> Level {
    static BEST: LazyLock<Level> = LazyLock::new(Level::best);
    let forced = usize::from(FORCED.load(Ordering::Relaxed)).checked_sub(1);
    forced.and_then(|index| Level::available().get(index)).copied().unwrap_or(*BEST)
}

/// Makes all kernels of this process run at `level`, for tests and benchmarks; `None` undoes it.
///
/// Answers whether the CPU has that level; if not, nothing changes.
pub fn force(level: Option<Level>) -> bool {
    let place = |level| Level::available().iter().position(|&one| one == level);
    let code = match level {
        None => Some(0),
        Some(level) => place(level).and_then(|index| u8::try_from(index + 1).ok()),
    };
    code.map(|code| FORCED.store(code, Ordering::Relaxed)).is_some()
}
