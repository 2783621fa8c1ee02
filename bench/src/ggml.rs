//! ggml's own C, loaded from a shared library.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::NonNull;

use weighbridge::internals::blocks::Block;

/// What to do when the library is missing.
const HOW: &str = "build ggml's base library with `oracles/ggml_build.sh` and set BENCH_GGML to \
                   the path of its libggml-base.so";

type Quantizer =
    unsafe extern "C" fn(i32, *const f32, *mut c_void, i64, i64, i64, *const f32) -> usize;
type RowDecoder = unsafe extern "C" fn(*const c_void, *mut f32, i64);

/// The loaded library; it stays loaded until the program ends.
pub struct Library(NonNull<c_void>);

/// Its function for one block type (`to_float` in its table of types).
#[derive(Clone, Copy)]
pub struct Decoder {
    function: RowDecoder,
    block: &'static Block,
}

impl Library {
    /// The library that `BENCH_GGML` names, or how to get it.
    pub fn open() -> Result<Self, String> {
        let path =
            std::env::var("BENCH_GGML").map_err(|_| format!("ggml's C is missing: {HOW}"))?;
        let name = CString::new(path.clone()).map_err(|e| e.to_string())?;
        // SAFETY: the name is a C string; ggml's initialisers ask nothing of their caller.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        // A library without the oldest decoder is not ggml's: nothing would be compared.
        let library = NonNull::new(handle).map(Self);
        library
            .filter(|library| library.symbol("dequantize_row_q4_0").is_some())
            .ok_or_else(|| format!("`{path}` is not ggml's library or cannot be loaded: {HOW}"))
    }

    fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        let name = CString::new(name).ok()?;
        // SAFETY: the handle is open for as long as the program runs; the name is a C string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// Its version, if it reports one.
    pub fn version(&self) -> String {
        let Some(symbol) = self.symbol("ggml_version") else { return "of unknown version".into() };
        // SAFETY: `const char * ggml_version(void)`, a string that lives as long as the library.
        let text = unsafe {
            let version: extern "C" fn() -> *const c_char = std::mem::transmute(symbol.as_ptr());
            CStr::from_ptr(version())
        };
        text.to_string_lossy().into_owned()
    }

    /// Its decoder of a block type; `None` where it has none.
    pub fn decoder(&self, block: &'static Block) -> Option<Decoder> {
        let lower = block.name.to_lowercase();
        let name = lower.strip_suffix("_k").map_or(lower.clone(), |stem| format!("{stem}_K"));
        let symbol = self.symbol(&format!("dequantize_row_{name}"))?;
        // SAFETY: every `dequantize_row_*` takes (const block *, float *, int64_t).
        let function = unsafe { std::mem::transmute::<*mut c_void, RowDecoder>(symbol.as_ptr()) };
        Some(Decoder { function, block })
    }
}

impl Library {
    /// Encodes whole rows, with the importance of their columns or without.
    pub fn encode(
        &self,
        block: &Block,
        values: &[f32],
        columns: usize,
        importance: Option<&[f32]>,
        out: &mut [u8],
    ) {
        let rows = values.len() / columns;
        assert!(
            rows * columns == values.len() && importance.is_none_or(|all| all.len() == columns)
        );
        assert!(out.len() == values.len() / block.elements as usize * block.bytes as usize);
        let symbol = self.symbol("ggml_quantize_chunk").expect("ggml has a quantizer");
        // SAFETY: the signature is ggml's; it reads `rows` rows of `columns` numbers and as many
        // importances as columns, and writes the blocks that `out` has room for.
        unsafe {
            let quantize = std::mem::transmute::<*mut c_void, Quantizer>(symbol.as_ptr());
            let (id, rows) = (i32::try_from(block.id).expect("few types"), rows as i64);
            let importance = importance.map_or(std::ptr::null(), <[f32]>::as_ptr);
            let out = out.as_mut_ptr().cast();
            quantize(id, values.as_ptr(), out, 0, rows, columns as i64, importance);
        }
    }
}

impl Decoder {
    /// Decodes whole blocks.
    pub fn decode(&self, blocks: &[u8], out: &mut [f32]) {
        let count = blocks.len() / self.block.bytes as usize;
        assert!(count * self.block.elements as usize == out.len(), "blocks fill the output");
        let len = i64::try_from(out.len()).expect("a length fits");
        // SAFETY: the function reads `count` blocks and writes `len` floats, which the slices hold;
        // x86 does not need the blocks' words to be aligned.
        unsafe { (self.function)(blocks.as_ptr().cast(), out.as_mut_ptr(), len) };
    }
}
