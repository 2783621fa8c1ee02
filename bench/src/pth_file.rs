//! A PyTorch file written by hand, so that a file of any size can be made without torch: an
//! archive of stored members, `archive/data.pkl` with a state dict and `archive/data/N` with the
//! storage of each tensor, as `torch.save` lays them out.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A state dict of `count` half-float matrices of `bytes` each, named by `name`.
pub fn write(
    path: &Path,
    count: u64,
    bytes: u64,
    name: impl Fn(u64) -> String,
) -> std::io::Result<()> {
    let mut archive = Archive::new(BufWriter::new(File::create(path)?));
    archive.member("archive/data.pkl", &state_dict(count, bytes, name))?;
    archive.member("archive/byteorder", b"little")?;
    let mut storage = Vec::new();
    crate::fixtures::fill(&mut storage, bytes)?;
    for index in 0..count {
        archive.member(&format!("archive/data/{index}"), &storage)?;
    }
    archive.member("archive/version", b"3\n")?;
    archive.finish()
}

fn state_dict(count: u64, bytes: u64, name: impl Fn(u64) -> String) -> Vec<u8> {
    let elements = (bytes / 2) as u32;
    let mut pickle = b"\x80\x02ccollections\nOrderedDict\n)R(".to_vec();
    for index in 0..count {
        text(&mut pickle, &name(index));
        pickle.extend_from_slice(b"ctorch._utils\n_rebuild_tensor_v2\n((");
        text(&mut pickle, "storage");
        pickle.extend_from_slice(b"ctorch\nHalfStorage\n");
        text(&mut pickle, &index.to_string());
        text(&mut pickle, "cpu");
        int(&mut pickle, elements);
        // The storage by its tuple, at offset 0; shape, strides; no gradient, no hooks.
        pickle.extend_from_slice(b"tQK\x00");
        int(&mut pickle, elements / 8);
        pickle.extend_from_slice(b"K\x08\x86K\x08K\x01\x86\x89ccollections\nOrderedDict\n)RtR");
    }
    pickle.extend_from_slice(b"u.");
    pickle
}

fn text(pickle: &mut Vec<u8>, text: &str) {
    pickle.push(b'X');
    pickle.extend_from_slice(&(text.len() as u32).to_le_bytes());
    pickle.extend_from_slice(text.as_bytes());
}

fn int(pickle: &mut Vec<u8>, number: u32) {
    pickle.push(b'J');
    pickle.extend_from_slice(&number.to_le_bytes());
}

/// An archive of stored members with a 64-bit end record, which has room for any number of them.
struct Archive<W> {
    out: W,
    at: u64,
    directory: Vec<u8>,
    members: u64,
}

impl<W: Write> Archive<W> {
    fn new(out: W) -> Self {
        Self { out, at: 0, directory: Vec::new(), members: 0 }
    }

    fn member(&mut self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let start = (self.at as u32).to_le_bytes();
        // Version, flags, method, time, date; sum and sizes; lengths of name and extra field.
        let mut record = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        let sizes = [crc32fast::hash(bytes), bytes.len() as u32, bytes.len() as u32];
        record.extend(sizes.iter().flat_map(|number| number.to_le_bytes()));
        record.extend_from_slice(&(name.len() as u16).to_le_bytes());
        record.extend_from_slice(&[0, 0]);
        self.put(b"PK\x03\x04")?;
        self.put(&record)?;
        self.put(name.as_bytes())?;
        self.put(bytes)?;
        self.directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        self.directory.extend_from_slice(&record);
        self.directory.extend_from_slice(&[0; 10]);
        self.directory.extend_from_slice(&start);
        self.directory.extend_from_slice(name.as_bytes());
        self.members += 1;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn finish(mut self) -> std::io::Result<()> {
        let (start, directory) = (self.at, std::mem::take(&mut self.directory));
        assert!(u32::try_from(start).is_ok(), "offsets have 32 bits here");
        self.put(&directory)?;
        let end = self.at;
        let mut tail = b"PK\x06\x06".to_vec();
        tail.extend_from_slice(&44u64.to_le_bytes());
        tail.extend_from_slice(&[45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let numbers = [self.members, self.members, directory.len() as u64, start];
        tail.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        tail.extend_from_slice(b"PK\x06\x07\x00\x00\x00\x00");
        tail.extend_from_slice(&end.to_le_bytes());
        tail.extend_from_slice(&1u32.to_le_bytes());
        tail.extend_from_slice(b"PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff");
        tail.extend_from_slice(&[0xff; 8]);
        tail.extend_from_slice(&[0, 0]);
        self.put(&tail)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_a_state_dict() {
        let path = std::env::temp_dir().join(format!("bench-pth-{}.pth", std::process::id()));
        super::write(&path, 3, 256, |i| format!("layers.{i}.weight")).unwrap();
        let model = weighbridge::Model::open(&path).unwrap();
        let shapes: Vec<_> =
            model.weights().map(|w| (w.name().to_owned(), w.shape().to_vec())).collect();
        assert_eq!(shapes.len(), 3);
        assert_eq!(shapes[2], ("layers.2.weight".to_owned(), vec![16, 8]));
        assert!(model.findings().is_empty() && model.notes().is_empty());
        drop(model);
        std::fs::remove_file(&path).unwrap();
    }
}
