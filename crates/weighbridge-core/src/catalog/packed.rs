//! Long lists of metadata in little memory: texts one behind the other, numbers of one type.
//!
//! A vocabulary has hundreds of thousands of tokens, merges and types. As values of their own they take
//! ten times their size.

use super::value::Value;

/// A list whose elements have one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Packed {
    /// Texts.
    Texts(Texts),
    /// Unsigned integers of 8 bits.
    U8(Vec<u8>),
    /// Signed integers of 32 bits.
    I32(Vec<i32>),
    /// Single-precision numbers.
    F32(Vec<f32>),
}

/// Texts, one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    /// Adds a text that `write` appends.
    pub fn push_with(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.all);
        self.ends.push(self.all.len());
    }

    /// The number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The length of all texts in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.all.len()
    }

    /// A text by its place.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.all.get(start..end)
    }

    /// All texts.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Gives back memory that was set aside for more.
    pub fn shrink(&mut self) {
        self.all.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.push(text.as_ref()));
        all.shrink();
        all
    }
}

impl Packed {
    /// Packs values as they come; returns them as they are if they are not of one type that can be packed.
    pub fn of(values: impl IntoIterator<Item = Value>) -> Result<Self, Vec<Value>> {
        let mut values = values.into_iter();
        let Some(first) = values.next() else { return Err(Vec::new()) };
        let Some(mut packed) = Self::begin(&first) else {
            return Err(std::iter::once(first).chain(values).collect());
        };
        while let Some(value) = values.next() {
            if !packed.push(&value) {
                return Err(packed.values().chain([value]).chain(values).collect());
            }
        }
        packed.shrink();
        Ok(packed)
    }

    fn begin(first: &Value) -> Option<Self> {
        let mut packed = match first {
            Value::Text(_) => Self::Texts(Texts::default()),
            Value::Unsigned(8, _) => Self::U8(Vec::new()),
            Value::Signed(32, _) => Self::I32(Vec::new()),
            Value::F32(_) => Self::F32(Vec::new()),
            _ => return None,
        };
        packed.push(first).then_some(packed)
    }

    /// Adds a value; whether it is of the type of the others.
    pub fn push(&mut self, value: &Value) -> bool {
        match (self, value) {
            (Self::Texts(all), Value::Text(text)) => all.push(text),
            (Self::U8(all), Value::Unsigned(8, number)) => match u8::try_from(*number) {
                Ok(number) => all.push(number),
                Err(_) => return false,
            },
            (Self::I32(all), Value::Signed(32, number)) => match i32::try_from(*number) {
                Ok(number) => all.push(number),
                Err(_) => return false,
            },
            (Self::F32(all), Value::F32(number)) => all.push(*number),
            _ => return false,
        }
        true
    }

    fn shrink(&mut self) {
        match self {
            Self::Texts(all) => all.shrink(),
            Self::U8(all) => all.shrink_to_fit(),
            Self::I32(all) => all.shrink_to_fit(),
            Self::F32(all) => all.shrink_to_fit(),
        }
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Texts(all) => all.len(),
            Self::U8(all) => all.len(),
            Self::I32(all) => all.len(),
            Self::F32(all) => all.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A value by its place.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<Value> {
        match self {
            Self::Texts(all) => all.get(at).map(Value::text),
            Self::U8(all) => all.get(at).map(|number| Value::Unsigned(8, (*number).into())),
            Self::I32(all) => all.get(at).map(|number| Value::Signed(32, (*number).into())),
            Self::F32(all) => all.get(at).copied().map(Value::F32),
        }
    }

    /// A text by its place.
    #[must_use]
    pub fn text(&self, at: usize) -> Option<&str> {
        match self {
            Self::Texts(all) => all.get(at),
            _ => None,
        }
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// The name of the type of its values.
    #[must_use]
    pub fn element(&self) -> &'static str {
        match self {
            Self::Texts(_) => "string",
            Self::U8(_) => "u8",
            Self::I32(_) => "i32",
            Self::F32(_) => "f32",
        }
    }

    /// Whether these are its values.
    #[must_use]
    pub fn is(&self, values: &[Value]) -> bool {
        self.len() == values.len() && self.values().eq(values.iter().cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out() {
        let lists = [
            vec![Value::text("a"), Value::text(""), Value::text("bc")],
            vec![Value::Unsigned(8, 255), Value::Unsigned(8, 0)],
            vec![Value::Signed(32, -1), Value::Signed(32, 7)],
            vec![Value::F32(0.5), Value::F32(-0.0)],
        ];
        for list in lists {
            let packed = Packed::of(list.clone()).unwrap();
            assert!(packed.is(&list), "{packed:?}");
            assert_eq!(packed.values().collect::<Vec<_>>(), list);
            assert_eq!(packed.get(0), list.first().cloned());
            assert_eq!(packed.get(list.len()), None);
            assert!(!packed.is(&list[1..]));
        }
    }

    #[test]
    fn mixed_lists_stay_lists() {
        for list in [
            vec![],
            vec![Value::Null],
            vec![Value::text("a"), Value::F32(1.0), Value::text("b")],
            vec![Value::Signed(32, 1), Value::Signed(32, i64::MAX)],
            vec![Value::Unsigned(8, 256)],
        ] {
            assert_eq!(Packed::of(list.clone()).unwrap_err(), list);
        }
    }
}
