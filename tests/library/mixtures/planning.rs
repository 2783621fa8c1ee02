//! What is read to plan types for a size: a model is translated once, however often types are chosen.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weighbridge::ops::{self, ConvertOptions, QuantizeOptions};
use weighbridge::{EntryKind, Folder, FolderEntry, MemoryFolder, OpenOptions, ReadAt};

use super::models::{expected, repository};

/// A folder that counts how often the tokenizer is opened.
struct Counting {
    folder: MemoryFolder,
    tokenizers: AtomicUsize,
}

impl Folder for Counting {
    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>> {
        self.folder.list(path)
    }

    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        self.folder.kind(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        if path.ends_with("tokenizer.json") {
            self.tokenizers.fetch_add(1, Ordering::Relaxed);
        }
        self.folder.open(path)
    }
}

#[test]
fn the_tokenizer_is_parsed_once_for_any_size() {
    let (expected, folder) = (expected("tiny"), tempfile::tempdir().unwrap());
    let path = repository("tiny", &expected, folder.path());
    let add = |folder: MemoryFolder, entry: io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        folder.with(path.file_name().unwrap(), std::fs::read(&path).unwrap())
    };
    let files = std::fs::read_dir(&path).unwrap().fold(MemoryFolder::new(), add);
    let counting = Arc::new(Counting { folder: files, tokenizers: AtomicUsize::new(0) });
    let model = OpenOptions::new().open_in(counting.clone(), "").unwrap();
    for size in [60_000, 70_000, 80_000] {
        counting.tokenizers.store(0, Ordering::Relaxed);
        let options = ConvertOptions::new("-").to("gguf");
        let how = QuantizeOptions::new("Q4_K_M").target_size(size);
        let report = ops::quantize_to(&model, &options, &how, Vec::new()).unwrap();
        assert!(report.write_bytes <= size, "{} bytes for {size}", report.write_bytes);
        assert_eq!(counting.tokenizers.load(Ordering::Relaxed), 1, "{size}");
    }
}
