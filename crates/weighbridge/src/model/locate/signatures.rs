//! First bytes that give a file away as something other than weights we read.
//!
//! Two tables: what no container of ours could ever begin with is *certain*, and asked before the
//! containers are; what some of them might claim (archives, pickles) is asked only after all of
//! them have declined.

/// A kind of file, known by its first bytes.
pub(super) struct Signature {
    offset: usize,
    magic: &'static [u8],
    /// Finishes "this is ..".
    pub(super) what: &'static str,
    pub(super) hint: &'static str,
}

const fn at(
    offset: usize,
    magic: &'static [u8],
    what: &'static str,
    hint: &'static str,
) -> Signature {
    Signature { offset, magic, what, hint }
}

const UNPACK: &str = "unpack it first and open what is inside";
const OLD_GGML: &str = "convert it to GGUF first (llama.cpp: convert_llama_ggml_to_gguf.py), or fetch the GGUF of this model";
const NOT_WEIGHTS: &str = "this is not where the weights are; check which file was meant";
const KERAS: &str = "load it with Keras or h5py and save the arrays as .npz or .safetensors";
const PROGRAM: &str =
    "this is a program, not a model; do not run it unless you know where it is from";

const CERTAIN: &[Signature] = &[
    at(
        0,
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file (Keras weights, .h5), which this version does not read",
        KERAS,
    ),
    at(0, b"\x1f\x8b", "a gzip archive", UNPACK),
    at(0, b"\x28\xb5\x2f\xfd", "a Zstandard archive", UNPACK),
    at(0, b"\xfd7zXZ\0", "an xz archive", UNPACK),
    at(0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
    at(0, b"BZh", "a bzip2 archive", UNPACK),
    at(0, b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    at(0, b"\x04\x22\x4d\x18", "an LZ4 archive", UNPACK),
    at(0, b"\x89PNG\r\n\x1a\n", "a PNG picture", NOT_WEIGHTS),
    at(0, b"\xff\xd8\xff", "a JPEG picture", NOT_WEIGHTS),
    at(0, b"GIF8", "a GIF picture", NOT_WEIGHTS),
    at(0, b"%PDF-", "a PDF document", NOT_WEIGHTS),
    at(0, b"SQLite format 3\0", "an SQLite database", NOT_WEIGHTS),
    at(0, b"PAR1", "a Parquet table (a dataset, not a model)", NOT_WEIGHTS),
    at(0, b"ARROW1", "an Arrow table (a dataset, not a model)", NOT_WEIGHTS),
    at(0, b"\x7fELF", "an executable program (ELF)", PROGRAM),
    at(
        0,
        b"MZqFpD",
        "a llamafile, a program with the model packed inside",
        "unpack it (`unzip model.llamafile`) and open the .gguf inside",
    ),
    at(0, b"\xcf\xfa\xed\xfe", "an executable program (Mach-O)", PROGRAM),
    at(0, b"MZ\x90\0", "an executable program (Windows)", PROGRAM),
    at(0, b"lmgg", "a ggml file from before GGUF, without a version", OLD_GGML),
    at(0, b"fmgg", "a ggml file from before GGUF (ggmf)", OLD_GGML),
    at(0, b"tjgg", "a ggml file from before GGUF (ggjt)", OLD_GGML),
    at(0, b"algg", "a ggml adapter from before GGUF (ggla)", OLD_GGML),
    at(
        0,
        b"toad",
        "an old llama.cpp training checkpoint",
        "convert it with the llama.cpp of its time",
    ),
    at(
        4,
        b"TFL3",
        "a TensorFlow Lite model, which this version does not read",
        "read it with the TensorFlow Lite interpreter; fetch the safetensors or GGUF of the model instead",
    ),
    at(0, b"ftypqt", "a video", NOT_WEIGHTS),
    at(4, b"ftyp", "a video", NOT_WEIGHTS),
];

const IF_UNCLAIMED: &[Signature] = &[
    at(0, b"PK\x03\x04", "a zip archive without arrays or a PyTorch checkpoint in it", UNPACK),
    at(0, b"PK\x05\x06", "an empty zip archive", NOT_WEIGHTS),
    at(257, b"ustar", "a tar archive", UNPACK),
    at(
        0,
        b"\x80\x02",
        "a pickle that is not a PyTorch checkpoint",
        "save the arrays as .npz or .safetensors",
    ),
    at(
        0,
        b"\x80\x03",
        "a pickle that is not a PyTorch checkpoint",
        "save the arrays as .npz or .safetensors",
    ),
    at(
        0,
        b"\x80\x04",
        "a pickle that is not a PyTorch checkpoint",
        "save the arrays as .npz or .safetensors",
    ),
    at(
        0,
        b"\x80\x05",
        "a pickle that is not a PyTorch checkpoint",
        "save the arrays as .npz or .safetensors",
    ),
];

fn find<'a>(table: &'a [Signature], head: &[u8]) -> Option<&'a Signature> {
    let fits = |s: &&Signature| head.get(s.offset..).is_some_and(|rest| rest.starts_with(s.magic));
    table.iter().find(fits)
}

/// What no container of ours begins with.
pub(super) fn certain(head: &[u8]) -> Option<&'static Signature> {
    find(CERTAIN, head)
}

/// What one of our containers might have claimed.
pub(super) fn unclaimed(head: &[u8]) -> Option<&'static Signature> {
    find(IF_UNCLAIMED, head)
}

/// Whether a `.bin` file could hold weights, or stands where weights should be (a pointer, an
/// error page): worth opening, if only to say what it is.
pub(super) fn weights_or_stand_in(head: &[u8]) -> bool {
    let begins = |magic: &[u8]| head.starts_with(magic);
    let text = head.trim_ascii_start();
    begins(b"PK\x03\x04")
        || begins(b"GGUF")
        || (head.first() == Some(&0x80) && head.get(1).is_some_and(|v| (2..=5).contains(v)))
        || begins(b"version https://git-lfs")
        || text.starts_with(b"<")
        || [&b"lmgg"[..], b"fmgg", b"tjgg"].iter().any(|magic| begins(magic))
        || head.get(257..).is_some_and(|rest| rest.starts_with(b"ustar"))
}
