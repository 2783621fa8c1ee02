//! The SHA-256 of a file that is read once, in pieces that arrive nearly in order.
//!
//! Pieces are hashed in the order of the file. One that arrives early waits, for as long as somebody
//! else holds it in memory anyway, or if it is short. When more would have to be kept, or bytes are
//! fetched twice, the sum says nothing about what was read, and that is said.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ring::digest::{Context, SHA256, SHA256_OUTPUT_LEN};

use crate::stop::lock;

/// Bytes of early pieces that nobody else holds.
const MOST_KEPT: usize = 8 << 20;

/// A SHA-256 as the Hub states it.
pub(crate) type Sum = [u8; SHA256_OUTPUT_LEN];

/// The sum of 64 hexadecimal digits.
pub(crate) fn sum_of(text: &str) -> Option<Sum> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| u8::try_from(c.to_digit(16)?).ok()).collect();
    let bytes: Vec<u8> = digits?.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    (text.len() == 2 * SHA256_OUTPUT_LEN).then(|| bytes.try_into().ok())?
}

/// What is known of a file's sum.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// All bytes have come, once each, and have the sum.
    Right,
    /// All bytes up to this place have come, and all that came is before it.
    UpTo(u64),
    /// Bytes came twice, or in another order.
    Unknown,
    /// All bytes have come, and have another sum.
    Wrong,
}

/// The sum of one file, as far as it has come.
pub(crate) struct Whole(Mutex<State>);

struct State {
    expected: Sum,
    hashed: Context,
    /// How far it is hashed.
    at: u64,
    /// Pieces behind that place, by where they start.
    early: BTreeMap<u64, Arc<Vec<u8>>>,
    is_doubtful: bool,
    is_given_up: bool,
}

impl Whole {
    pub(crate) fn new(expected: Sum) -> Self {
        Self(Mutex::new(State {
            expected,
            hashed: Context::new(&SHA256),
            at: 0,
            early: BTreeMap::new(),
            is_doubtful: false,
            is_given_up: false,
        }))
    }

    /// Takes a piece that others may hold as well.
    pub(crate) fn add(&self, start: u64, bytes: &Arc<Vec<u8>>) {
        let mut state = lock(&self.0);
        if !state.take(start, bytes) {
            state.wait(start, bytes.clone());
        }
    }

    /// Takes a piece that is copied if it is early.
    pub(crate) fn add_copy(&self, start: u64, bytes: &[u8]) {
        let mut state = lock(&self.0);
        if state.take(start, bytes) {
            return;
        }
        if bytes.len() > MOST_KEPT {
            state.give_up();
        } else {
            state.wait(start, Arc::new(bytes.to_vec()));
        }
    }

    /// What is known of a file of this length.
    pub(crate) fn found(&self, len: u64) -> Found {
        let state = lock(&self.0);
        if state.is_given_up || !state.early.is_empty() {
            return Found::Unknown;
        }
        if state.at < len {
            return if state.is_doubtful { Found::Unknown } else { Found::UpTo(state.at) };
        }
        match state.hashed.clone().finish().as_ref() == state.expected {
            false => Found::Wrong,
            true if state.is_doubtful => Found::Unknown,
            true => Found::Right,
        }
    }
}

impl State {
    /// Hashes a piece if it is its turn; `false` if it is early.
    fn take(&mut self, start: u64, bytes: &[u8]) -> bool {
        let end = start.saturating_add(bytes.len() as u64);
        let known = self.early.range(..end).next_back();
        let is_known = known.is_some_and(|(at, piece)| at + piece.len() as u64 > start);
        // Bytes that came before may have been others.
        self.is_doubtful |= start < self.at || is_known;
        if self.is_given_up || is_known || end <= self.at {
            return true;
        }
        if start > self.at {
            return false;
        }
        let new = usize::try_from(self.at - start).ok().and_then(|known| bytes.get(known..));
        self.hash(new.unwrap_or_default());
        while let Some(next) = self.early.remove(&self.at) {
            self.hash(&next);
        }
        true
    }

    fn hash(&mut self, bytes: &[u8]) {
        self.hashed.update(bytes);
        self.at += bytes.len() as u64;
    }

    /// Keeps an early piece, unless that takes too much memory that nobody else needs.
    fn wait(&mut self, start: u64, bytes: Arc<Vec<u8>>) {
        self.early.insert(start, bytes);
        let alone = self.early.values().filter(|piece| Arc::strong_count(piece) == 1);
        if alone.map(|piece| piece.len()).sum::<usize>() > MOST_KEPT {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.is_given_up = true;
        self.early.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(len: usize) -> Vec<u8> {
        (0..251u8).cycle().take(len).collect()
    }

    fn whole(of: &[u8]) -> Whole {
        let sum = ring::digest::digest(&SHA256, of);
        Whole::new(sum.as_ref().try_into().unwrap())
    }

    #[test]
    fn sums_are_read() {
        let text = "0123456789abcdef".repeat(4);
        assert_eq!(sum_of(&text).unwrap()[..3], [0x01, 0x23, 0x45]);
        for wrong in ["", "00", &text[1..], &format!("{text}0"), &text.replace('a', "x")] {
            assert_eq!(sum_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn pieces_in_nearly_any_order() {
        let all = bytes(100_000);
        let whole = whole(&all);
        for start in [0, 30_000, 20_000, 10_000, 50_000, 40_000] {
            whole.add_copy(start as u64, &all[start..start + 10_000]);
        }
        assert_eq!(whole.found(100_000), Found::UpTo(60_000));
        let shared = Arc::new(all[70_000..].to_vec());
        whole.add(70_000, &shared);
        assert_eq!(whole.found(100_000), Found::Unknown);
        whole.add_copy(60_000, &all[60_000..70_000]);
        assert_eq!(whole.found(100_000), Found::Right);
    }

    #[test]
    fn one_wrong_byte_is_found() {
        let all = bytes(1000);
        for wrong in [0, 500, 999] {
            let whole = whole(&all);
            let mut other = all.clone();
            other[wrong] ^= 1;
            whole.add_copy(600, &other[600..]);
            whole.add_copy(0, &other[..600]);
            assert_eq!(whole.found(1000), Found::Wrong);
        }
    }

    #[test]
    fn what_comes_twice_is_not_vouched_for() {
        let all = bytes(1000);
        for (start, end) in [(0, 10), (90, 110), (600, 700), (650, 1000), (550, 610)] {
            let whole = whole(&all);
            whole.add_copy(0, &all[..100]);
            whole.add_copy(600, &all[600..700]);
            whole.add_copy(start, &all[place(start)..end]);
            whole.add_copy(100, &all[100..600]);
            whole.add_copy(700, &all[700..]);
            assert_eq!(whole.found(1000), Found::Unknown, "{start}");
        }
    }

    fn place(at: u64) -> usize {
        usize::try_from(at).unwrap()
    }

    #[test]
    fn only_what_others_hold_waits_for_long() {
        let all = bytes(3 * MOST_KEPT);
        let (first, held) = (whole(&all), Arc::new(all[MOST_KEPT..].to_vec()));
        first.add(MOST_KEPT as u64, &held);
        first.add_copy(0, &all[..MOST_KEPT]);
        assert_eq!(first.found(all.len() as u64), Found::Right);
        let second = whole(&all);
        second.add(MOST_KEPT as u64, &Arc::new(all[MOST_KEPT..].to_vec()));
        second.add_copy(0, &all[..MOST_KEPT]);
        // Nobody held it when the next one came.
        second.add(1 << 40, &Arc::new(vec![0]));
        assert_eq!(second.found(all.len() as u64), Found::Unknown);
    }
}
