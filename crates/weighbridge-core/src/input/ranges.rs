//! Many ranges of a source with latency: fewer requests, made in parallel.

use std::io;
use std::ops::Range;
use std::sync::Mutex;

use super::ReadRange;
use crate::stop::{self, lock};

/// Request options of [`read_ranges_merged`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// The largest gap in bytes between ranges that are read together.
    pub max_gap: u64,
    /// The largest request in bytes; longer ranges are split.
    pub max_len: usize,
    /// The largest number of parallel requests.
    pub parallel: usize,
}

/// Fills all ranges with few calls of `read`, which fills one buffer from an offset on. A source
/// with latency calls this in its [`ReadAt::read_ranges`](super::ReadAt::read_ranges).
pub fn read_ranges_merged(
    ranges: &mut [ReadRange<'_>],
    how: Requests,
    read: impl Fn(u64, &mut [u8]) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let requests = merged(split(ranges, how.max_len.max(1)), how);
    let threads = how.parallel.min(requests.len());
    if threads <= 1 {
        return requests.into_iter().try_for_each(|request| request.run(&read));
    }
    let left = Mutex::new(requests.into_iter());
    let next = || lock(&left).next();
    let work = || {
        while let Some(request) = next() {
            if let Err(error) = request.run(&read) {
                // The other threads finish their current request.
                while next().is_some() {}
                return Err(error);
            }
        }
        Ok(())
    };
    let listening = stop::here();
    let other = || listening.clone().during(work);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(other)).collect();
        let failed = |_| Err(io::Error::other("a thread that read some ranges panicked"));
        let joined = others.into_iter().map(|other| other.join().unwrap_or_else(failed));
        std::iter::once(work()).chain(joined).collect()
    })
}

impl ReadRange<'_> {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.out.len() as u64)
    }
}

/// The ranges in pieces of at most `max_len` bytes, in the order of their offsets.
fn split<'a>(ranges: &'a mut [ReadRange<'_>], max_len: usize) -> Vec<ReadRange<'a>> {
    let mut pieces = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut offset = range.offset;
        for out in range.out.chunks_mut(max_len) {
            let next = offset.saturating_add(out.len() as u64);
            pieces.push(ReadRange { offset, out });
            offset = next;
        }
    }
    pieces.sort_by_key(|piece| piece.offset);
    pieces
}

/// What is asked for at once.
struct Request<'a> {
    span: Range<u64>,
    pieces: Vec<ReadRange<'a>>,
}

fn merged(pieces: Vec<ReadRange<'_>>, how: Requests) -> Vec<Request<'_>> {
    let mut requests: Vec<Request<'_>> = Vec::new();
    for piece in pieces {
        match requests.last_mut().filter(|last| last.takes(&piece, how)) {
            Some(last) => {
                last.span.end = last.span.end.max(piece.end());
                last.pieces.push(piece);
            }
            None => requests
                .push(Request { span: piece.offset..piece.end(), pieces: Vec::from([piece]) }),
        }
    }
    requests
}

impl Request<'_> {
    fn takes(&self, piece: &ReadRange<'_>, how: Requests) -> bool {
        let end = self.span.end.max(piece.end());
        piece.offset.saturating_sub(self.span.end) <= how.max_gap
            && end - self.span.start <= how.max_len as u64
    }

    fn run(mut self, read: &impl Fn(u64, &mut [u8]) -> io::Result<()>) -> io::Result<()> {
        if let [piece] = &mut self.pieces[..] {
            return read(piece.offset, piece.out);
        }
        let len = |range: Range<u64>| usize::try_from(range.end - range.start).unwrap_or(0);
        let mut bytes = vec![0; len(self.span.clone())];
        read(self.span.start, &mut bytes)?;
        for piece in self.pieces {
            let start = len(self.span.start..piece.offset);
            piece.out.copy_from_slice(&bytes[start..start + piece.out.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// A server that is far away: each request takes a while, whatever it asks for.
    struct Slow {
        bytes: Vec<u8>,
        requests: Mutex<Vec<Range<u64>>>,
        under_way: AtomicUsize,
        most_under_way: AtomicUsize,
    }

    impl Slow {
        fn new() -> Self {
            Self {
                bytes: (0..100_000u32).map(|i| (i % 251) as u8).collect(),
                requests: Mutex::default(),
                under_way: AtomicUsize::new(0),
                most_under_way: AtomicUsize::new(0),
            }
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_under_way.fetch_max(now, Ordering::SeqCst);
            self.requests.lock().unwrap().push(offset..offset + out.len() as u64);
            std::thread::sleep(Duration::from_millis(50));
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            crate::input::memory::copy_range(&self.bytes, offset, out)
        }

        /// Reads some ranges; the requests that took, in the order of their offsets.
        fn fetch(&self, wanted: &[Range<u64>], how: Requests) -> Vec<Range<u64>> {
            let length = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap();
            let mut buffers: Vec<Vec<u8>> = wanted.iter().map(|r| vec![0; length(r)]).collect();
            let mut ranges: Vec<ReadRange<'_>> = wanted
                .iter()
                .zip(&mut buffers)
                .map(|(range, out)| ReadRange { offset: range.start, out })
                .collect();
            read_ranges_merged(&mut ranges, how, |offset, out| self.read(offset, out)).unwrap();
            for (range, found) in wanted.iter().zip(&buffers) {
                let start = usize::try_from(range.start).unwrap();
                assert_eq!(found, &self.bytes[start..start + found.len()], "{range:?}");
            }
            let mut requests = std::mem::take(&mut *self.requests.lock().unwrap());
            requests.sort_by_key(|range| range.start);
            requests
        }
    }

    const USUAL: Requests = Requests { max_gap: 100, max_len: 10_000, parallel: 4 };

    #[test]
    fn neighbours_are_one_request_and_long_ranges_several() {
        let slow = Slow::new();
        let wanted = [5000..5010, 0..10, 60..70, 70..80, 5005..5008, 40_000..40_000];
        assert_eq!(slow.fetch(&wanted, USUAL), [0..80, 5000..5010]);
        let wanted = [0..25_000, 25_050..25_060];
        assert_eq!(slow.fetch(&wanted, USUAL), [0..10_000, 10_000..20_000, 20_000..25_060]);
        assert!(slow.fetch(&[], USUAL).is_empty());
    }

    #[test]
    fn requests_run_side_by_side() {
        let slow = Slow::new();
        let wanted: Vec<Range<u64>> = (0..8).map(|i| i * 1000..i * 1000 + 10).collect();
        assert_eq!(slow.fetch(&wanted, USUAL).len(), 8);
        let most = slow.most_under_way.load(Ordering::SeqCst);
        assert!((2..=4).contains(&most), "{most}");
    }

    #[test]
    fn one_at_a_time_where_that_is_wanted() {
        let slow = Slow::new();
        let how = Requests { max_gap: 0, max_len: 0, parallel: 1 };
        assert_eq!(slow.fetch(std::slice::from_ref(&(3..5)), how), [3..4, 4..5]);
        assert_eq!(slow.most_under_way.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn the_first_failure_ends_it() {
        let slow = Slow::new();
        let mut out = [0; 64];
        let ranges = out.chunks_mut(8).zip(0..);
        let mut ranges: Vec<ReadRange<'_>> =
            ranges.map(|(out, i)| ReadRange { offset: 99_000 + i * 1000, out }).collect();
        let done = read_ranges_merged(&mut ranges, USUAL, |offset, out| slow.read(offset, out));
        assert_eq!(done.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(slow.requests.lock().unwrap().len() < 8);
    }
}
