//! How a line of the table of instruction sets becomes a level.
//!
//! A set is a folder with an [`Isa`](super::Isa) and two functions. `is_available` says whether
//! this CPU has the instructions. `run` runs a task with them. The folder's name is the level's.

/// Declares the instruction sets: their modules, [`Set`](super::Set), the rows of the levels, and
/// [`run`](super::run). It is named and written like the standard library's macro, because rustfmt
/// finds modules in that one only.
macro_rules! cfg_match {
    ($($condition:meta => { mod $set:ident; })*) => {
        $(#[cfg($condition)]
        mod $set;)*

        /// The instruction sets that kernels are compiled for, the slowest first.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(non_camel_case_types)] // Named as their modules.
        enum Set {
            $(#[cfg($condition)]
            $set,)*
        }

        /// A row for each set, in the same order.
        static ROWS: &[level::Row] = &[
            $(#[cfg($condition)]
            level::Row { set: Set::$set, name: stringify!($set), is_available: $set::is_available },)*
        ];

        /// Runs a task at a level.
        #[inline(always)]
        #[allow(unsafe_code, unused_unsafe)] // The baseline's `run` needs nothing.
        pub fn run<K: Task>(level: Level, task: K) -> K::Output {
            match level.set() {
                // SAFETY: a `Level` exists only if the CPU has its instructions.
                $(#[cfg($condition)]
                Set::$set => unsafe { $set::run(task) },)*
            }
        }
    };
}
