//! Which files stay open.
//!
//! A model may have thousands of shards, and a process only a few hundred open files, or fewer. So
//! a file is opened when it is read; the last ones that were opened stay open, and the one that was
//! opened first is closed for the next.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use crate::stop::lock;
use crate::sys;

/// The most files that stay open, however many the system allows.
const MOST_OPEN: usize = 100;

/// The fewest.
const LEAST_OPEN: usize = 4;

/// Files that are open now, the first one opened at the front.
static OPEN: Mutex<VecDeque<Weak<Slot>>> = Mutex::new(VecDeque::new());

/// The place of a file that may be open.
#[derive(Default)]
pub(super) struct Slot(RwLock<Option<Arc<File>>>);

impl Slot {
    /// The file, if it is open.
    pub(super) fn file(&self) -> Option<Arc<File>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, file: Option<Arc<File>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = file;
    }
}

/// Lets a file stay open until others need its place.
pub(super) fn keep_open(slot: &Arc<Slot>, file: Arc<File>) {
    keep_in(&mut lock(&OPEN), most_open(), slot, file);
}

fn keep_in(open: &mut VecDeque<Weak<Slot>>, most: usize, slot: &Arc<Slot>, file: Arc<File>) {
    slot.set(Some(file));
    open.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&Arc::downgrade(slot)));
    open.push_back(Arc::downgrade(slot));
    while open.len() > most {
        close_first(open);
    }
}

/// Opens a file for reading. If too many are open, those that are kept open only to save time are
/// closed.
pub(super) fn open(path: &Path) -> io::Result<File> {
    match sys::open_without_waiting(path) {
        Err(error) if sys::is_too_many_files(&error) => {
            let mut open = lock(&OPEN);
            while !open.is_empty() {
                close_first(&mut open);
            }
            drop(open);
            sys::open_without_waiting(path)
        }
        other => other,
    }
}

fn close_first(open: &mut VecDeque<Weak<Slot>>) {
    if let Some(slot) = open.pop_front().and_then(|slot| slot.upgrade()) {
        slot.set(None);
    }
}

/// A quarter of what the system allows: outputs, the program around this library and its other
/// threads need some as well.
fn most_open() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| {
        let allowed = sys::open_file_limit().and_then(|limit| usize::try_from(limit).ok());
        allowed.map_or(MOST_OPEN, |allowed| (allowed / 4).clamp(LEAST_OPEN, MOST_OPEN))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"x").unwrap();
        let mut kept = VecDeque::new();
        let slots = [(); 3].map(|()| Arc::new(Slot::default()));
        for slot in &slots {
            keep_in(&mut kept, 2, slot, Arc::new(open(&path).unwrap()));
        }
        assert_eq!(slots.each_ref().map(|slot| slot.file().is_some()), [false, true, true]);
        let held = slots[1].file().unwrap();
        keep_in(&mut kept, 2, &slots[0], Arc::new(open(&path).unwrap()));
        assert_eq!(slots.each_ref().map(|slot| slot.file().is_some()), [true, false, true]);
        // Whoever still reads it goes on.
        sys::read_file_at(&held, &mut [0], 0).unwrap();
        assert!((LEAST_OPEN..=MOST_OPEN).contains(&most_open()));
    }
}
