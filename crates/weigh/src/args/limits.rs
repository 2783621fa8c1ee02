//! Limits on what opening a file may cost.

use clap::Args as ClapArgs;
use weighbridge::Limits;

use crate::size::parse_size;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
#[command(next_help_heading = "Limits")]
#[allow(clippy::struct_field_names)] // Named like their flags.
pub(super) struct LimitArgs {
    /// Largest single allocation, e.g. 64MiB or 5GB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_allocation: Option<u64>,

    /// Total memory for headers and metadata [default: 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_total: Option<u64>,

    /// Total tensors, metadata entries, archive members and similar items [default: 10000000]
    #[arg(long, value_name = "COUNT")]
    max_items: Option<u64>,

    /// Nesting depth of arrays, dictionaries and archives [default: 64]
    #[arg(long, value_name = "COUNT")]
    max_depth: Option<u32>,

    /// Compression ratio: decompressed bytes per compressed byte [default: 1100]
    #[arg(long, value_name = "RATIO")]
    max_ratio: Option<u64>,

    /// Number of pickle instructions [default: 50000000]
    #[arg(long, value_name = "COUNT")]
    max_pickle_steps: Option<u64>,
}

impl LimitArgs {
    /// Converts to library limits.
    pub(super) fn limits(&self) -> Limits {
        let usual = Limits::default();
        let Limits { max_allocation, max_total, max_items, max_depth, max_ratio, .. } = usual;
        let max_pickle_steps = usual.max_pickle_steps;
        usual
            .max_allocation(self.max_allocation.unwrap_or(max_allocation))
            .max_total(self.max_total.unwrap_or(max_total))
            .max_items(self.max_items.unwrap_or(max_items))
            .max_depth(self.max_depth.unwrap_or(max_depth))
            .max_ratio(self.max_ratio.unwrap_or(max_ratio))
            .max_pickle_steps(self.max_pickle_steps.unwrap_or(max_pickle_steps))
    }
}
