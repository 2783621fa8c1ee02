//! Contests: the same job done by several contestants, in turns, many times.
//!
//! Turns alternate, and the order rotates and reverses, so that a slow minute of the machine
//! affects all contestants, and none always follows the same one. The report gives the best, the
//! median and the spread (tenth to ninetieth percentile), and each contestant's ratio to the first
//! one, by best and by median.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Does the job and returns the seconds it took.
pub struct Contestant<'a> {
    name: String,
    run: Box<dyn FnMut() -> f64 + 'a>,
    /// Turns it still takes.
    turns: usize,
}

/// A contestant that takes longer than this many seconds gets no further turn.
const PATIENCE: f64 = 10.0;

impl<'a> Contestant<'a> {
    /// A contestant whose call is timed here.
    pub fn timed<T>(name: &str, mut job: impl FnMut() -> T + 'a) -> Self {
        let run = move || {
            let start = Instant::now();
            let result = job();
            let seconds = start.elapsed().as_secs_f64();
            drop(std::hint::black_box(result));
            seconds
        };
        Self { name: name.into(), run: Box::new(run), turns: usize::MAX }
    }

    /// A contestant that times itself: a child process, for example.
    pub fn reporting(name: &str, run: impl FnMut() -> f64 + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run), turns: usize::MAX }
    }

    /// The same with at most this many turns, warm-up included.
    pub fn turns(self, turns: usize) -> Self {
        Self { turns, ..self }
    }

    /// The same with each turn run inside `turn`, which is not timed itself.
    pub fn around(self, turn: impl Fn(&mut dyn FnMut() -> f64) -> f64 + 'a) -> Self {
        let mut run = self.run;
        Self { run: Box::new(move || turn(&mut *run)), ..self }
    }
}

/// How often to repeat.
#[derive(Clone, Copy)]
pub struct Rounds {
    /// Untimed turns, which come first.
    pub warm_up: usize,
    /// Timed turns.
    pub timed: usize,
}

/// What one contestant achieved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub contestant: String,
    /// Seconds.
    pub best: f64,
    /// Seconds.
    pub median: f64,
    /// Seconds, tenth percentile.
    pub low: f64,
    /// Seconds, ninetieth percentile.
    pub high: f64,
    /// Times the first contestant's best.
    pub best_ratio: f64,
    /// Times the first contestant's median.
    pub median_ratio: f64,
}

/// Runs the contestants in turns.
pub fn contest(mut contestants: Vec<Contestant<'_>>, rounds: Rounds) -> Vec<Row> {
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); contestants.len()];
    for round in 0..rounds.warm_up + rounds.timed {
        for turn in 0..contestants.len() {
            let turn = if round % 2 == 0 { turn } else { contestants.len() - 1 - turn };
            let index = (turn + round) % contestants.len();
            let contestant = &mut contestants[index];
            if contestant.turns == 0 {
                continue;
            }
            let seconds = (contestant.run)();
            contestant.turns = if seconds > PATIENCE { 0 } else { contestant.turns - 1 };
            if round >= rounds.warm_up || contestant.turns == 0 {
                times[index].push(seconds);
            }
        }
    }
    let mut rows: Vec<Row> =
        contestants.iter().zip(times).map(|(c, times)| summary(&c.name, times)).collect();
    let (best, median) = (rows[0].best, rows[0].median);
    for row in &mut rows {
        row.best_ratio = row.best / best;
        row.median_ratio = row.median / median;
    }
    rows
}

/// The statistics of one contestant's times.
pub fn summary(name: &str, mut times: Vec<f64>) -> Row {
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    Row {
        contestant: name.into(),
        best: times[0],
        median: at(50),
        low: at(10),
        high: at(90),
        best_ratio: 1.0,
        median_ratio: 1.0,
    }
}
