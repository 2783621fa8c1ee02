use std::sync::atomic::AtomicUsize;

use super::*;

/// A file whose byte at an offset follows from it, and which takes its time.
struct Slow {
    fetched: Mutex<Vec<Range<u64>>>,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

fn byte(at: u64) -> u8 {
    u8::try_from((at / 1000 + at) % 251).unwrap()
}

struct File(Arc<Slow>);

impl Fetch for File {
    fn fetch(self: Arc<Self>, range: Range<u64>, _: Vec<u8>) -> Fetching {
        let slow = self.0.clone();
        Box::pin(async move {
            let now = slow.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            slow.most.fetch_max(now, Ordering::SeqCst);
            slow.fetched.lock().unwrap().push(range.clone());
            tokio::time::sleep(Duration::from_millis(5)).await;
            slow.under_way.fetch_sub(1, Ordering::SeqCst);
            if range.start == 5 * BLOCK {
                Err(io::ErrorKind::BrokenPipe.into())
            } else {
                Ok(Arc::new(range.map(byte).collect()))
            }
        })
    }
}

fn slow() -> (Arc<Slow>, Arc<dyn Fetch>) {
    let slow = Slow {
        fetched: Mutex::default(),
        under_way: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
    };
    let slow = Arc::new(slow);
    (slow.clone(), Arc::new(File(slow)))
}

fn need(range: Range<u64>, reading: Reading, group: u64) -> Need {
    Need { range, reading, group }
}

fn once(range: Range<u64>) -> Need {
    need(range, Reading::Once, 1)
}

fn read(ahead: &Arc<Ahead>, at: u64, len: usize) -> Option<Vec<u8>> {
    let (mut out, mut done) = (vec![0; len], 0);
    while done < len {
        match ahead.copy(1, at + done as u64, &mut out[done..]) {
            Ok(0) | Err(_) => return None,
            Ok(count) => done += count,
        }
    }
    Some(out)
}

#[test]
fn what_is_announced_is_there_and_stays_within_the_budget() {
    let (slow, file) = slow();
    let ahead = Ahead::new(8 * BLOCK, 2);
    ahead.will_need(&file, 1, &once(100..100 + 11 * BLOCK));
    let step = 1 << 20;
    for at in (100..100 + 11 * BLOCK).step_by(step) {
        let found = read(&ahead, at, step).unwrap();
        assert_eq!((found[0], found[step - 1]), (byte(at), byte(at + step as u64 - 1)), "{at}");
        assert!(lock(&ahead.state).held <= 8 * BLOCK);
    }
    assert_eq!(slow.fetched.lock().unwrap().len(), 11);
    assert!(slow.most.load(Ordering::SeqCst) <= 2);
    assert_eq!(lock(&ahead.state).held, 0);
    assert!(read(&ahead, 0, 10).is_none());
}

#[test]
fn neighbours_are_fetched_together() {
    let (slow, file) = slow();
    let (ahead, all) = (Ahead::new(8 * BLOCK, 8), 14 * BLOCK);
    // The budget is full, so that the rest waits.
    ahead.will_need(&file, 1, &once(6 * BLOCK..all));
    (0..10).for_each(|i| ahead.will_need(&file, 1, &once(all + i * 1000..all + (i + 1) * 1000)));
    assert!(read(&ahead, 6 * BLOCK, place(8 * BLOCK)).is_some());
    assert_eq!(read(&ahead, all + 4500, 1000).unwrap()[0], byte(all + 4500));
    assert_eq!(slow.fetched.lock().unwrap()[8], all..all + 10_000);
}

#[test]
fn a_smaller_budget_means_shorter_requests() {
    let (slow, file) = slow();
    let ahead = Ahead::new(4 * BLOCK, 4);
    ahead.limit(BLOCK);
    ahead.will_need(&file, 1, &once(0..4 * BLOCK));
    assert!((1..=BLOCK).contains(&lock(&ahead.state).held));
    assert!(read(&ahead, 0, place(4 * BLOCK)).is_some());
    let fetched = slow.fetched.lock().unwrap();
    assert!(fetched.iter().all(|range| range.end - range.start == BLOCK / 8));
}

#[test]
fn what_is_never_read_does_not_hold_up_the_rest() {
    let (_, file) = slow();
    let ahead = Ahead::new(8 * BLOCK, 2);
    ahead.will_need(&file, 1, &once(20 * BLOCK..60 * BLOCK));
    for block in (22..60).step_by(7) {
        assert!(read(&ahead, block * BLOCK, 10).is_some(), "{block}");
    }
}

#[test]
fn a_failure_is_left_to_whoever_reads_and_files_are_forgotten() {
    let (_, file) = slow();
    let ahead = Ahead::new(8 * BLOCK, 2);
    ahead.will_need(&file, 1, &once(5 * BLOCK..7 * BLOCK));
    // The first who reads it hears why; the next one may fetch it again.
    assert!(ahead.copy(1, 5 * BLOCK, &mut [0; 10]).is_err());
    assert!(read(&ahead, 5 * BLOCK, 10).is_none());
    assert!(read(&ahead, 6 * BLOCK, 10).is_some());
    assert_eq!(ahead.next(1, 0), Some(6 * BLOCK));
    assert!(ahead.touches(1, &(0..7 * BLOCK)) && !ahead.touches(1, &(0..BLOCK)));
    ahead.forget(1);
    assert_eq!(lock(&ahead.state).held, 0);
    assert!(read(&ahead, 6 * BLOCK, 10).is_none());
}

#[test]
fn what_is_read_in_overlapping_pieces_is_fetched_once() {
    let (slow, file) = slow();
    let ahead = Ahead::new(8 * BLOCK, 4);
    ahead.will_need(&file, 1, &need(0..1 << 20, Reading::Often, 1));
    ahead.will_need(&file, 1, &once(1 << 20..20 << 20));
    for at in (0..19u64 << 20).step_by(1 << 18) {
        // The short part as a whole, every time; each piece of the long one reaches into the next.
        assert!(read(&ahead, 0, 1 << 20).is_some());
        assert!(
            read(&ahead, (1 << 20) + at, (1 << 18) + 100.min(place((19 << 20) - at) - (1 << 18)))
                .is_some()
        );
    }
    let fetched: u64 = slow.fetched.lock().unwrap().iter().map(|r| r.end - r.start).sum();
    assert_eq!(fetched, 20 << 20);
    assert_eq!(lock(&ahead.state).held, 0);
}

#[test]
fn what_is_announced_for_two_passes_is_there_twice() {
    for (blocks, times) in [(3, 1), (12, 2)] {
        let (slow, file) = slow();
        let ahead = Ahead::new(8 * BLOCK, 4);
        // Behind the block that fails.
        let all = 6 * BLOCK..(6 + blocks) * BLOCK;
        ahead.will_need(&file, 1, &need(all.clone(), Reading::Once, 1));
        ahead.will_need(&file, 1, &need(all.clone(), Reading::Once, 2));
        ahead.will_need(&file, 1, &need(all.end..all.end + BLOCK, Reading::Once, 3));
        for _ in 0..2 {
            assert!(read(&ahead, all.start, place(blocks * BLOCK)).is_some());
        }
        assert!(read(&ahead, all.end, place(BLOCK)).is_some());
        assert_eq!(slow.fetched.lock().unwrap().len() as u64, blocks * times + 1);
        assert_eq!(lock(&ahead.state).held, 0);
    }
}

#[test]
fn what_is_read_from_all_over_is_held_whole_and_only_one_at_a_time() {
    let (slow, file) = slow();
    let ahead = Ahead::new(2 * BLOCK, 4);
    ahead.limit(6 * BLOCK);
    let block = ahead.request_bytes();
    let len = 5 * BLOCK;
    let stripes = |first: u64, ahead: &Arc<Ahead>| {
        for stripe in 0..8 {
            for row in 0..len / (1 << 20) {
                let at = first + row * (1 << 20) + stripe * (1 << 17);
                assert_eq!(read(ahead, at, 1 << 17).unwrap()[0], byte(at));
                assert!(lock(&ahead.state).held <= 6 * BLOCK + block);
            }
        }
    };
    let firsts = [6 * BLOCK, 20 * BLOCK];
    for (group, first) in (1..).zip(firsts) {
        ahead.will_need(&file, 1, &need(first..first + len, Reading::Scattered, group));
    }
    // The second waits for the first to be read.
    std::thread::scope(|scope| {
        let threads = firsts.map(|first| {
            std::thread::sleep(Duration::from_millis(50));
            let ahead = ahead.clone();
            scope.spawn(move || stripes(first, &ahead))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let fetched: u64 = slow.fetched.lock().unwrap().iter().map(|r| r.end - r.start).sum();
    assert_eq!(fetched, 2 * len);
}

#[test]
fn what_nobody_reads_is_given_up_for_what_must_be_held() {
    let (_, file) = slow();
    let ahead = Ahead::new(2 * BLOCK, 4);
    ahead.limit(4 * BLOCK);
    for (group, first) in [(1, 6 * BLOCK), (2, 20 * BLOCK)] {
        ahead.will_need(&file, 1, &need(first..first + 3 * BLOCK, Reading::Scattered, group));
        assert!(read(&ahead, first + 2 * BLOCK, 10).is_some());
    }
    assert!(read(&ahead, 20 * BLOCK, place(3 * BLOCK)).is_some());
}

#[test]
fn what_is_read_at_once_comes_first_and_then_again_in_its_turn() {
    let (slow, file) = slow();
    let ahead = Ahead::new(8 * BLOCK, 4);
    ahead.will_need(&file, 1, &need(6 * BLOCK..30 * BLOCK, Reading::Once, 1));
    // Some of it waits still, and some is here already.
    for at in [20, 6] {
        let now = at * BLOCK..(at + 6) * BLOCK;
        ahead.will_need(&file, 1, &need(now.clone(), Reading::Once, 0));
        assert!(read(&ahead, now.start, place(6 * BLOCK)).is_some());
    }
    let early: Vec<_> = slow.fetched.lock().unwrap().iter().map(|r| r.start / BLOCK).collect();
    assert!((20..26).all(|block| early.contains(&block)), "{early:?}");
    assert!(read(&ahead, 6 * BLOCK, place(24 * BLOCK)).is_some());
    assert_eq!(slow.fetched.lock().unwrap().len(), 24 + 6);
    assert_eq!(lock(&ahead.state).held, 0);
}

#[test]
fn two_works_do_not_take_each_others_blocks() {
    let (slow, file) = slow();
    let ahead = Ahead::new(8 * BLOCK, 4);
    ahead.will_need(&file, 1, &once(6 * BLOCK..10 * BLOCK));
    assert!(read(&ahead, 6 * BLOCK, 10).is_some());
    // Another work is far ahead of the first.
    ahead.will_need(&file, 1, &need(20 * BLOCK..40 * BLOCK, Reading::Once, 2));
    assert!(read(&ahead, 38 * BLOCK, place(BLOCK)).is_some());
    assert!(read(&ahead, 6 * BLOCK, place(4 * BLOCK)).is_some());
    let first = |range: &&Range<u64>| range.start < 10 * BLOCK;
    assert_eq!(slow.fetched.lock().unwrap().iter().filter(first).count(), 4);
}
