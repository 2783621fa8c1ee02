//! Runs of rows of a weight that a stretch selects.

use crate::view::Rows;

/// Equally long, equally spaced runs of rows of the weight, which are also equally spaced in the
/// stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowRuns {
    /// First row of the weight.
    pub first: u64,
    /// Rows per run.
    pub run: u64,
    /// Distance from one run to the next in the weight.
    pub step: u64,
    /// Number of runs.
    pub count: u64,
    /// Rows of the stretch before the first run.
    pub at: u64,
    /// Distance from one run to the next in the stretch.
    pub every: u64,
}

/// Returns some of the next `rows` rows of a stretch, at least one: their number, and their runs.
pub(super) fn runs(order: Rows, row: u64, rows: u64) -> (u64, [Option<RowRuns>; 2]) {
    let first = order.row(row);
    let one = |rows: u64| {
        let run = RowRuns { first, run: rows, step: rows, count: 1, at: 0, every: rows };
        (rows, [Some(run), None])
    };
    // Whole runs, if it begins with one; otherwise the rest of a run.
    let whole = |inside: u64, run: u64, step: u64, count: u64| {
        if inside > 0 || count == 0 {
            return one(rows.min(run - inside));
        }
        (count * run, [Some(RowRuns { first, run, step, count, at: 0, every: run }), None])
    };
    match order {
        Rows::From(_) => one(rows),
        Rows::Runs { run, period, .. } => {
            let run = run.max(1);
            whole(row % run, run, period, rows / run)
        }
        Rows::Tiled { start, .. } if row < start => one(rows.min(start - row)),
        Rows::Tiled { start, groups, members, run } => {
            let (run, groups) = (run.max(1), groups.max(1));
            let (inside, group) = ((row - start) % run, (row - start) / run % groups);
            // That member of the groups that follow.
            whole(inside, run, members.max(1) * run, (rows / run).min(groups - group))
        }
        // Every second row of a head is in the same half of it.
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
            (count, [Some(RowRuns { first, run: 1, step: 2, count, at: 0, every: 1 }), None])
        }
    }
}

/// Returns half the rows of a head, and the position of a row in its head.
fn in_head(head_rows: u64, row: u64) -> (u64, u64) {
    let half = (head_rows / 2).max(1);
    (half, row % (2 * half))
}
