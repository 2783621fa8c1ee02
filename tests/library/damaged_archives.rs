//! Archives whose members do not have the checksums that the archive states: whoever reads values
//! from them is told, and nothing is written.

use std::path::{Path, PathBuf};

use crate::common::root;
use weighbridge::ops::{self, ConvertOptions, DiffOptions};
use weighbridge::{Error, ErrorKind, FileAccess, Model, OpenOptions, Select};

/// A file of the samples.
fn sample(name: &str) -> Vec<u8> {
    std::fs::read(root().join("tests/files").join(name)).unwrap()
}

/// A zip archive of stored members, as numpy writes them, but with these checksums.
fn archive(members: &[(&str, &[u8], u32)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes, crc) in members {
        let at = u32::try_from(file.len()).unwrap();
        let len = u32::try_from(bytes.len()).unwrap();
        let name_len = u16::try_from(name.len()).unwrap();
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        for value in [*crc, len, len] {
            common.extend(value.to_le_bytes());
        }
        common.extend(name_len.to_le_bytes());
        common.extend([0, 0]);
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.as_bytes());
        file.extend(*bytes);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let count = u16::try_from(members.len()).unwrap().to_le_bytes();
    let at = u32::try_from(file.len()).unwrap().to_le_bytes();
    let len = u32::try_from(directory.len()).unwrap().to_le_bytes();
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([&count[..], &count, &len, &at, &[0, 0]].concat());
    file
}

/// An array of numbers as numpy writes it.
fn array(shape: &str, fortran: bool, count: u32) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': {shape}, }}");
    let header = format!("{header:117}\n");
    let mut bytes = [b"\x93NUMPY\x01\x00v\x00", header.as_bytes()].concat();
    bytes.extend((0..count).flat_map(|at| (at as f32).to_le_bytes()));
    bytes
}

/// Two models in a folder: one as it should be, one with a damaged member.
struct Pair {
    place: tempfile::TempDir,
    good: PathBuf,
    bad: PathBuf,
}

impl Pair {
    fn new(extension: &str, good: &[u8], bad: &[u8]) -> Self {
        assert!(good.len() == bad.len() && good != bad);
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name).with_extension(extension);
        let (good_path, bad_path) = (path("good"), path("bad"));
        std::fs::write(&good_path, good).unwrap();
        std::fs::write(&bad_path, bad).unwrap();
        Self { place, good: good_path, bad: bad_path }
    }

    /// Every verb that reads values says that `member` is damaged; `options` choose what is read.
    fn check(&self, member: &str, options: &dyn Fn(&Path) -> ConvertOptions) {
        for access in [FileAccess::Read, FileAccess::Map] {
            let open = |path: &Path| OpenOptions::new().access(access).open(path).unwrap();
            let output = self.place.path().join("out.safetensors");
            let written = options(&output);
            for target in [output.clone(), self.place.path().join("folder")] {
                let refused = ops::convert(&open(&self.bad), &options(&target));
                said(&refused.unwrap_err(), member);
                assert!(!target.exists());
            }
            ops::convert(&open(&self.good), &written).unwrap();
            let converted = || Model::open(&output).unwrap();
            assert!(ops::verify(&converted(), &open(&self.good), &written).unwrap().ok);
            said(&ops::verify(&converted(), &open(&self.bad), &written).unwrap_err(), member);
            std::fs::remove_file(&output).unwrap();
            let diffed = ops::diff(&open(&self.good), &open(&self.good), &DiffOptions::default());
            assert!(diffed.unwrap().ok);
            for pair in [[&self.good, &self.bad], [&self.bad, &self.good]] {
                let [a, b] = pair.map(|path| open(path));
                said(&ops::diff(&a, &b, &DiffOptions::default()).unwrap_err(), member);
            }
        }
        let left = std::fs::read_dir(self.place.path()).unwrap().count();
        assert_eq!(left, 2, "something is left behind");
    }
}

/// An error names file, tensor, member and both sums.
fn said(error: &Error, member: &str) {
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{text}");
    assert!(text.contains(&format!("archive member `{member}` has CRC-32 ")), "{text}");
    assert!(text.contains("the archive's directory says "), "{text}");
    assert!(error.tensor().is_some() && error.path().is_some(), "{text}");
    assert!(error.hint_text().unwrap().contains("fetch it again"), "{error:?}");
}

fn all(target: &Path) -> ConvertOptions {
    ConvertOptions::new(target)
}

/// Flips a bit in the stored bytes of every tensor of a file: the first, one inside and the last.
fn flip_each(name: &str, members: &[(&str, &str)]) {
    let (good, extension) = (sample(name), name.rsplit('.').next().unwrap());
    let model = Model::open(root().join("tests/files").join(name)).unwrap();
    for &(tensor, member) in members {
        let source = &model.sources()[0];
        let tensor = source.catalog().tensors.iter().find(|info| *info.name == *tensor).unwrap();
        let weighbridge::catalog::Run::At(offset) = tensor.place.run else { panic!("compressed") };
        for at in [0, tensor.bytes / 2, tensor.bytes - 1] {
            let mut bad = good.clone();
            bad[usize::try_from(offset + at).unwrap()] ^= 0x10;
            let only = tensor.name.to_string();
            let select = Select::new().include(move |name| name == only);
            // With all others, and alone.
            let pair = Pair::new(extension, &good, &bad);
            pair.check(member, &all);
            pair.check(member, &|target| all(target).select(select.clone()));
        }
    }
}

#[test]
fn a_flipped_bit_in_a_stored_array_is_seen() {
    flip_each(
        "npz/stored.npz",
        &[
            ("embed", "embed.npy"),
            ("transposed", "transposed.npy"),
            ("big", "big.npy"),
            ("step", "step.npy"),
        ],
    );
    flip_each("npz/streamed.npz", &[("embed", "embed.npy"), ("bias", "bias.npy")]);
}

#[test]
fn a_flipped_bit_in_a_storage_is_seen_whatever_the_tensor_reads_of_it() {
    flip_each(
        "pth/views.pth",
        &[("transposed", "views/data/0"), ("base", "views/data/0"), ("row", "views/data/0")],
    );
    // Four kilobytes, of which it takes six numbers: the damage lies in what is not read.
    let good = sample("pth/views.pth");
    let model = Model::open(root().join("tests/files/pth/views.pth")).unwrap();
    let narrowed = &model.sources()[0].catalog().tensors;
    let narrowed = narrowed.iter().find(|info| &*info.name == "narrowed").unwrap();
    let mut bad = good.clone();
    let at = usize::try_from(narrowed.file_offset().unwrap() + narrowed.bytes).unwrap();
    bad[at] ^= 1;
    Pair::new("pth", &good, &bad).check("views/data/3", &all);
}

/// Where the directory states the sum of a member's contents.
fn sum_in_directory(file: &[u8], member: &str) -> usize {
    let records = file.windows(4).enumerate().filter(|(_, bytes)| bytes == b"PK\x01\x02");
    let mut places = records.map(|(at, _)| at);
    places.find(|at| file[at + 46..].starts_with(member.as_bytes())).unwrap() + 16
}

#[test]
fn compressed_members_are_held_to_the_sum_of_their_contents() {
    let cases = [
        ("npz/deflated.npz", "embed.npy"),
        ("npz/deflated.npz", "transposed.npy"),
        ("npz/streamed-deflated.npz", "bias.npy"),
        ("npz/bzip2.npz", "large.npy"),
        ("npz/lzma.npz", "large.npy"),
        ("npz/zstd.npz", "transposed.npy"),
        ("pth/deflated.pth", "archive/data/0"),
    ];
    for (name, member) in cases {
        let good = sample(name);
        let mut bad = good.clone();
        bad[sum_in_directory(&good, member)] ^= 1;
        Pair::new(name.rsplit('.').next().unwrap(), &good, &bad).check(member, &all);
    }
}

#[test]
fn large_members_are_checked_in_any_order() {
    // Larger than a tile, by rows and by columns; the damage is where no tile begins.
    for (shape, fortran) in [("(1500, 1000)", false), ("(1500, 1000)", true), ("(1500000,)", false)]
    {
        let good = array(shape, fortran, 1_500_000);
        let mut damaged = good.clone();
        damaged[4_000_001] ^= 0x40;
        let (crc, other) = (crc32fast::hash(&good), crc32fast::hash(b"other"));
        let rest = ("other.npy", &b"other"[..], other);
        let [good, bad] =
            [&good, &damaged].map(|bytes| archive(&[("w.npy", &bytes[..], crc), rest]));
        Pair::new("npz", &good, &bad)
            .check("w.npy", &|to| all(to).select(Select::new().include(|name| name == "w")));
    }
}

#[test]
fn what_is_not_read_is_not_checked() {
    let place = tempfile::tempdir().unwrap();
    let [one, two] = [array("(50,)", false, 50), array("(60,)", false, 60)];
    let file = archive(&[("one.npy", &one, crc32fast::hash(&one)), ("two.npy", &two, 7)]);
    let model = Model::open_bytes(file, "a.npz").unwrap();
    let select = Select::new().include(|name| name == "one");
    let target = place.path().join("out.npz");
    ops::convert(&model, &ConvertOptions::new(&target).select(select)).unwrap();
    said(&model.weight("two").unwrap().decode_to_vec::<f32>().unwrap_err(), "two.npy");
    // What was written has the right sums.
    let again = ConvertOptions::new(place.path().join("again.npz")).verify(true);
    ops::convert(&Model::open(&target).unwrap(), &again).unwrap();
}

#[test]
fn a_damaged_pickle_is_listed_and_its_values_are_refused() {
    let mut file = sample("pth/views.pth");
    let at = sum_in_directory(&file, "views/data.pkl");
    file[at] ^= 1;
    let model = Model::open_bytes(file, "views.pth").unwrap();
    assert_eq!(model.findings()[0].kind, "wrong-checksum");
    assert_eq!(model.weights().count(), 15);
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("out.safetensors");
    let error = ops::convert(&model, &ConvertOptions::new(&target)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.to_string().contains("`views/data.pkl` has CRC-32 "), "{error}");
    assert!(!target.exists());
}

#[test]
fn sums_that_were_not_computed_are_said() {
    let model = Model::open_bytes(sample("pth/crc_not_computed.pth"), "a.pth").unwrap();
    assert!(model.notes().iter().any(|note| note.contains("10 of 10 archive members have no")));
    for weight in model.weights() {
        weight.read_to_vec(weight.native().unwrap()).unwrap();
    }
}
