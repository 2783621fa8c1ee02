//! Does it help to read NPZ arrays into memory that was not zeroed first?

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use weighbridge::{FileAccess, Model, OpenOptions, Scratch, Weight};

use super::{Agreed, LEGEND, Memory, column, fresh, in_buffer, side_by_side, sum_bytes};
use crate::buffer::{Buffer, unzeroed};
use crate::harness::{Contestant, Rounds, Row, contest};
use crate::table::Table;
use crate::{Setting, fixtures};

/// Arrays of ten million bytes: 302 MB.
const ARRAYS: usize = 30;
const BYTES: usize = 10_067_200;
const TOTAL: usize = ARRAYS * BYTES;

/// Where an array lies.
#[derive(Clone, Copy)]
struct Piece {
    at: u64,
    len: usize,
}

pub const NAME: &str = "question-zeroing";

pub fn measure(setting: &Setting) -> Table {
    let title = "read the arrays of a stored NPZ of 302 MB into memory, warm";
    let mut table = Table::new(NAME, title);
    let path = fixture(setting);
    let contests = [Memory::Malloc, Memory::System]
        .map(|memory| column(setting, NAME, "30 arrays of 10 MB", memory));
    side_by_side(&mut table.matrix, "", &contests);
    count_reads(&mut table, &path);
    let _ = std::fs::remove_file(&path);
    table.notes.push(LEGEND.into());
    table
}

fn fixture(setting: &Setting) -> PathBuf {
    let build = |path: &Path| fixtures::stored_npz(path, ARRAYS as u64, BYTES as u64);
    fixtures::once(setting, "zeroing.npz", build)
}

/// Where the arrays lie.
fn pieces(model: &Model) -> Vec<Piece> {
    let piece = |weight: Weight| {
        let (_, _, info) = weight.parts().next().expect("it has one part");
        let at = info.file_offset().expect("it is stored");
        Piece { at, len: info.bytes as usize }
    };
    model.weights().map(piece).collect()
}

/// How often each form calls `read`.
fn count_reads(table: &mut Table, path: &Path) {
    let piece = pieces(&Model::open(path).expect("it opens"))[0];
    let (file, reads) = (File::open(path).expect("it opens"), Cell::new(0));
    let counted = || Counted(&file, &reads);
    let whole = zeroed(counted(), piece);
    let mut count = |form: &str, made: &[u8]| {
        assert_eq!(made, whole);
        table.figure(format!("calls to read for an array, {form}"), reads.take().to_string());
    };
    count("zeroed, one read", &whole);
    count("take and read_to_end", &to_end(counted(), piece));
    count("take and read_to_end, buffered reader", &to_end_buffered(counted(), piece));
}

pub fn compare(setting: &Setting, _which: &str) -> Vec<Row> {
    let path = fixture(setting);
    let open = |access| OpenOptions::new().access(access).open(&path).expect("it opens");
    let (mapped, positioned) = (open(FileAccess::Map), open(FileAccess::Read));
    let pieces = pieces(&mapped);
    let file = File::open(&path).expect("it opens");
    let whole: Vec<Vec<u8>> = pieces.iter().map(|piece| zeroed(&file, *piece)).collect();
    let agreed = Agreed::default();
    let buffer = RefCell::new(Buffer::new(TOTAL));
    let each = |name: &str, read: fn(&File, Piece) -> Vec<u8>| {
        let (file, pieces) = (&file, &pieces);
        let job = move || pieces.iter().map(|piece| read(file, *piece)).collect::<Vec<_>>();
        fresh(name, &agreed, job, |made| sum_arrays(made.iter().map(|one| sum_bytes(one))))
    };
    let contestants = vec![
        filled("memcpy of the same pieces, reused (the limit)", &agreed, &buffer, |out| {
            for (out, array) in out.chunks_exact_mut(BYTES).zip(&whole) {
                out.copy_from_slice(array);
            }
        }),
        each("zeroed, one read", |file, piece| zeroed(file, piece)),
        each("reserved, take and read_to_end", |file, piece| to_end(file, piece)),
        each("reserved, take and read_to_end, buffered reader", |file, piece| {
            to_end_buffered(file, piece)
        }),
        each("reserved, never zeroed, one read", never_zeroed),
        filled("reused, one read", &agreed, &buffer, |out| {
            for (out, piece) in out.chunks_exact_mut(BYTES).zip(&pieces) {
                file.read_exact_at(out, piece.at).expect("it reads");
            }
        }),
        ours_fresh("ours, positioned reads, new zeroed vectors", &agreed, &positioned),
        ours_reused("ours, positioned reads, reused", &agreed, &buffer, &positioned),
        ours_fresh("ours, mapped, new zeroed vectors", &agreed, &mapped),
        ours_reused("ours, mapped, reused", &agreed, &buffer, &mapped),
        fresh(
            "memcpy of the same pieces, new vectors",
            &agreed,
            || whole.clone(),
            |made| sum_arrays(made.iter().map(|one| sum_bytes(one))),
        ),
        fresh(
            "anamnesis::parse_npz",
            &agreed,
            || anamnesis::parse_npz(&path).expect("it opens"),
            |made| sum_arrays(made.values().map(|one| sum_bytes(&one.data))),
        ),
    ];
    let timed = if setting.quick { 5 } else { 21 };
    contest(contestants, Rounds { warm_up: 2, timed })
}

fn zeroed(mut file: impl Read + Seek, piece: Piece) -> Vec<u8> {
    file.seek(SeekFrom::Start(piece.at)).expect("it seeks");
    let mut bytes = vec![0; piece.len];
    file.read_exact(&mut bytes).expect("it reads");
    bytes
}

fn to_end(mut file: impl Read + Seek, piece: Piece) -> Vec<u8> {
    file.seek(SeekFrom::Start(piece.at)).expect("it seeks");
    let mut bytes = Vec::with_capacity(piece.len);
    file.take(piece.len as u64).read_to_end(&mut bytes).expect("it reads");
    bytes
}

fn to_end_buffered(mut file: impl Read + Seek, piece: Piece) -> Vec<u8> {
    file.seek(SeekFrom::Start(piece.at)).expect("it seeks");
    let mut bytes = Vec::with_capacity(piece.len);
    BufReader::new(file).take(piece.len as u64).read_to_end(&mut bytes).expect("it reads");
    bytes
}

fn never_zeroed(file: &File, piece: Piece) -> Vec<u8> {
    unzeroed(piece.len, |bytes| file.read_exact_at(bytes, piece.at).expect("it reads"))
}

/// A file whose reads are counted.
struct Counted<'a>(&'a File, &'a Cell<u64>);

impl Read for Counted<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.1.set(self.1.get() + 1);
        self.0.read(out)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

/// A contestant that fills the shared buffer with the arrays, one after the other.
fn filled<'a>(
    name: &str,
    agreed: &'a Agreed,
    buffer: &'a RefCell<Buffer>,
    mut job: impl FnMut(&mut [u8]) + 'a,
) -> Contestant<'a> {
    let job = move |buffer: &mut Buffer| job(buffer.bytes(TOTAL));
    in_buffer(name, agreed, (buffer, TOTAL), job, sum_buffer)
}

/// Ours into the shared buffer.
fn ours_reused<'a>(
    name: &str,
    agreed: &'a Agreed,
    buffer: &'a RefCell<Buffer>,
    model: &'a Model,
) -> Contestant<'a> {
    let mut scratch = Scratch::default();
    let job = move |buffer: &mut Buffer| {
        let out = buffer.view::<f32>(TOTAL / 4);
        for (out, weight) in out.chunks_exact_mut(BYTES / 4).zip(model.weights()) {
            decode(&weight, out, &mut scratch);
        }
    };
    in_buffer(name, agreed, (buffer, TOTAL), job, sum_buffer)
}

/// Ours into new vectors in each turn.
fn ours_fresh<'a>(name: &str, agreed: &'a Agreed, model: &'a Model) -> Contestant<'a> {
    let mut scratch = Scratch::default();
    let mut one = move |weight: Weight| {
        let mut out = vec![0f32; weight.len()];
        decode(&weight, &mut out, &mut scratch);
        out
    };
    let job = move || model.weights().map(&mut one).collect::<Vec<_>>();
    fresh(name, agreed, job, |made| sum_arrays(made.iter().map(|one| sum_singles(one))))
}

fn decode(weight: &Weight, out: &mut [f32], scratch: &mut Scratch) {
    let rows = weight.rows_and_columns().0;
    weight.decode_rows_with(0..rows, out, scratch).expect("it decodes");
}

fn sum_buffer(buffer: &mut Buffer) -> u64 {
    sum_arrays(buffer.bytes(TOTAL).chunks_exact(BYTES).map(sum_bytes))
}

/// The sums of arrays in any order.
fn sum_arrays(sums: impl Iterator<Item = u64>) -> u64 {
    sums.fold(0, u64::wrapping_add)
}

/// The same sum that [`sum_bytes`] gives for the numbers' bytes.
fn sum_singles(numbers: &[f32]) -> u64 {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    sum_bytes(&bytes)
}
