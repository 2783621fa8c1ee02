//! The building blocks of the header: lengths as wide as the version has them, strings, value types.

use crate::catalog::Value;
use crate::cursor::{Cursor, Endian, Prefix};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Budget;
use crate::text::{shortened, spelled_out};

/// The first bytes of every file.
pub(super) const MAGIC: &[u8] = b"GGUF";

/// A cursor that knows the version and the byte order, and charges the budget.
pub(super) struct Reader<'a> {
    /// Where it is.
    pub(super) cursor: Cursor<'a>,
    /// What is charged.
    pub(super) budget: &'a Budget,
    /// 1 to 3.
    pub(super) version: u32,
    /// Length of the file, if it is known.
    pub(super) file_len: Option<u64>,
}

impl<'a> Reader<'a> {
    /// Reads magic and version; what follows is next.
    pub(super) fn new(input: &'a Input, budget: &'a Budget) -> Result<Self> {
        let mut cursor = Cursor::new(input, 0, Endian::Little);
        if cursor.take(MAGIC.len(), "the magic number")? != MAGIC {
            return Err(Error::malformed("a GGUF file begins with `GGUF`").at(0));
        }
        let mut version = cursor.u32("the version")?;
        // Read the wrong way round, a small number has only its high bytes set.
        if version & 0xffff == 0 {
            version = version.swap_bytes();
            cursor.set_endian(Endian::Big);
        }
        match version {
            1..=3 => Ok(Self { cursor, budget, version, file_len: input.len() }),
            0 => Err(Error::malformed("GGUF has no version 0").at(4)),
            _ => Err(Error::unsupported(format!(
                "GGUF version {version} is not supported; supported versions are 1 to 3"
            ))
            .at(4)),
        }
    }

    /// The byte order of all numbers.
    pub(super) fn endian(&self) -> Endian {
        self.cursor.endian()
    }

    /// How wide lengths and counts are.
    pub(super) fn prefix(&self) -> Prefix {
        if self.version == 1 { Prefix::Four } else { Prefix::Eight }
    }

    /// How many bytes lengths and counts take.
    pub(super) fn prefix_bytes(&self) -> u64 {
        if self.version == 1 { 4 } else { 8 }
    }

    /// A length, count or dimension.
    pub(super) fn length(&mut self, what: &str) -> Result<u64> {
        match self.prefix() {
            Prefix::Four => self.cursor.u32(what).map(u64::from),
            Prefix::Eight => self.cursor.u64(what),
        }
    }

    /// A name, charged to the budget: a string that must be UTF-8, since nothing else can be asked
    /// for or written elsewhere.
    pub(super) fn name(&mut self, what: &str) -> Result<Box<str>> {
        let (start, bytes) = self.string(what)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(error) => {
                let shown = shortened(&spelled_out(bytes), 100);
                let at = start.saturating_add(error.valid_up_to() as u64);
                Err(Error::malformed(format!("{what} is not UTF-8: `{shown}`")).at(at))
            }
        }
    }

    /// A text, charged to the budget; bytes if it is not UTF-8.
    pub(super) fn text(&mut self, what: &str) -> Result<Value> {
        self.string(what).map(|(_, bytes)| Value::of_text(bytes))
    }

    /// The bytes of a string, and where they start.
    fn string(&mut self, what: &str) -> Result<(u64, &[u8])> {
        let len = self.length(what)?;
        self.cursor.expect(len, what)?;
        self.budget.charge(len, what)?;
        let len = usize::try_from(len)
            .map_err(|_| Error::limit("the string is too long for this machine's address space"))?;
        let start = self.cursor.position();
        Ok((start, self.cursor.take(len, what)?))
    }

    /// An error if the file is too short for `count` items of at least `least` bytes.
    pub(super) fn expect_items(&self, count: u64, least: u64, what: &str) -> Result<()> {
        self.cursor.expect(count.saturating_mul(least), what)
    }
}

macro_rules! kinds {
    ($($kind:ident $name:literal $width:literal),*) => {
        /// The type of a metadata value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum ValueType { $($kind),* }

        /// Every kind by its number: name and width in bytes, zero where that varies.
        const VALUE_TYPES: [(ValueType, &str, u64); 13] = [$((ValueType::$kind, $name, $width)),*];
    };
}

kinds! {
    U8 "u8" 1, I8 "i8" 1, U16 "u16" 2, I16 "i16" 2, U32 "u32" 4, I32 "i32" 4, F32 "f32" 4,
    Bool "bool" 1, String "string" 0, Array "array" 0, U64 "u64" 8, I64 "i64" 8, F64 "f64" 8
}

impl ValueType {
    /// The next value's type.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let at = reader.cursor.position();
        let id = reader.cursor.u32("a value's type")?;
        let row = usize::try_from(id).ok().and_then(|id| VALUE_TYPES.get(id));
        row.map(|row| row.0).ok_or_else(|| {
            Error::malformed(format!("unknown value type {id}; types are 0 to 12")).at(at)
        })
    }

    /// The kind of that name; `array[..]` is an array whatever is in it.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let name = name.split('[').next()?;
        VALUE_TYPES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Its number in files.
    pub(super) fn number(self) -> u32 {
        self as u32
    }

    /// Its name in reports.
    pub(super) fn name(self) -> &'static str {
        VALUE_TYPES.iter().find(|row| row.0 == self).map_or("unknown", |row| row.1)
    }

    /// Whether it is a whole number.
    pub(super) fn is_integer(self) -> bool {
        use ValueType::{I8, I16, I32, I64, U8, U16, U32, U64};
        matches!(self, U8 | I8 | U16 | I16 | U32 | I32 | U64 | I64)
    }

    /// Its width, where all values have the same.
    pub(super) fn width(self) -> Option<u64> {
        VALUE_TYPES.iter().find(|row| row.0 == self).map(|row| row.2).filter(|&width| width > 0)
    }
}
