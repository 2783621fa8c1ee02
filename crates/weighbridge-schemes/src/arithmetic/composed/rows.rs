//! Which runs of rows of a weight a stretch shows.

use crate::view::Rows;

/// Rows in the order of a stretch that are equally long, equally spaced runs of rows of the weight,
/// and equally spaced where they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowRuns {
    /// The first row of the weight.
    pub first: u64,
    /// Rows of a run.
    pub run: u64,
    /// From one run to the next in the weight.
    pub step: u64,
    /// How many runs.
    pub count: u64,
    /// How many rows of the stretch come before the first run.
    pub at: u64,
    /// From one run to the next in the stretch.
    pub every: u64,
}

impl RowRuns {
    fn one(first: u64, run: u64) -> Self {
        Self { first, run, step: run, count: 1, at: 0, every: run }
    }
}

/// Some of the next `rows` rows of a stretch, at least one: how many, and the runs that they
/// are.
pub(super) fn runs(order: Rows, row: u64, rows: u64) -> (u64, [Option<RowRuns>; 2]) {
    let first = order.row(row);
    match order {
        Rows::From(_) => (rows, [Some(RowRuns::one(first, rows)), None]),
        Rows::Runs { run, period, .. } => {
            let run = run.max(1);
            let (inside, count) = (row % run, rows / run);
            if inside > 0 || count == 0 {
                let some = rows.min(run - inside);
                return (some, [Some(RowRuns::one(first, some)), None]);
            }
            let runs = RowRuns { first, run, step: period, count, at: 0, every: run };
            (count * run, [Some(runs), None])
        }
        Rows::Tiled { start, .. } if row < start => {
            let some = rows.min(start - row);
            (some, [Some(RowRuns::one(first, some)), None])
        }
        Rows::Tiled { start, groups, members, run } => {
            let (run, groups) = (run.max(1), groups.max(1));
            let (inside, group) = ((row - start) % run, (row - start) / run % groups);
            // The same member of the groups that follow.
            let count = (rows / run).min(groups - group);
            if inside > 0 || count == 0 {
                let some = rows.min(run - inside);
                return (some, [Some(RowRuns::one(first, some)), None]);
            }
            let step = members.max(1) * run;
            (count * run, [Some(RowRuns { first, run, step, count, at: 0, every: run }), None])
        }
        // Every second row of a head lies in the same half of it.
        Rows::Heads { head_rows, to_halves: false, .. } => {
            let (half, at) = in_head(head_rows, row);
            let rows = rows.min(2 * half - at);
            let of = |at: u64, count: u64| {
                let first = order.row(row + at);
                (count > 0).then_some(RowRuns { first, run: 1, step: 1, count, at, every: 2 })
            };
            (rows, [of(0, rows.div_ceil(2)), of(1, rows / 2)])
        }
        Rows::Heads { head_rows, .. } => {
            let (half, at) = in_head(head_rows, row);
            let count = rows.min(half - at % half);
            let runs = RowRuns { first, run: 1, step: 2, count, at: 0, every: 1 };
            (count, [Some(runs), None])
        }
    }
}

/// Half the rows of a head, and where in its head a row is.
fn in_head(head_rows: u64, row: u64) -> (u64, u64) {
    let half = (head_rows / 2).max(1);
    (half, row % (2 * half))
}
