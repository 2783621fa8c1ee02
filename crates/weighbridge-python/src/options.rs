//! Library options from the arguments of Python's verbs, one line each. An argument that is never
//! taken is an error, so a misspelt name here does not go unnoticed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use regex::{Regex, RegexBuilder};
use weighbridge::catalog::Value;
use weighbridge::ops::{
    ConvertOptions, DiffOptions, FailOver, HashOptions, Mmproj, Names, NextLayers, OutputType,
    QuantizeOptions, ShowOptions, Slice, StatsOptions, Values, Work,
};
use weighbridge::{DType, Select};

use crate::errors;

/// Pairs of an expression and its value, in order.
pub(crate) type Rules = Vec<(String, String)>;

/// A number of bytes, or a size such as `5GB`.
#[derive(FromPyObject)]
pub(crate) enum Size {
    Bytes(u64),
    Text(String),
}

impl Size {
    fn bytes(&self, py: Python<'_>) -> PyResult<u64> {
        match self {
            Self::Bytes(bytes) => Ok(*bytes),
            Self::Text(text) => weigh::parse_size(text)
                .map_err(|why| errors::usage(py, &format!("{text}: {why}"), None)),
        }
    }
}

pub(crate) fn expression(py: Python<'_>, text: &str) -> PyResult<Regex> {
    Regex::new(text).map_err(|error| errors::usage(py, &error.to_string(), None))
}

/// The selection of weights by expressions.
pub(crate) fn select(py: Python<'_>, include: &[String], exclude: &[String]) -> PyResult<Select> {
    let mut select = Select::new();
    for text in include {
        let matches = expression(py, text)?;
        select = select.include(move |name| matches.is_match(name));
    }
    for text in exclude {
        let matches = expression(py, text)?;
        select = select.exclude(move |name| matches.is_match(name));
    }
    Ok(select)
}

pub(crate) fn unknown(py: Python<'_>, what: &str, given: &str, known: &str) -> PyErr {
    errors::usage(py, &format!("unknown {what} {given:?}; use one of {known}"), None)
}

/// A metadata value, optionally with its GGUF type.
#[derive(FromPyObject)]
enum Entry {
    #[pyo3(annotation = "tuple of a type and a value")]
    Typed(String, Number),
    Plain(Number),
}

#[derive(FromPyObject)]
enum Number {
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
}

impl Entry {
    /// GGUF has a type for every width. The default is the one that most converters use.
    fn value(self, py: Python<'_>) -> PyResult<Value> {
        let (kind, number) = match self {
            Self::Typed(kind, number) => (Some(kind), number),
            Self::Plain(number) => (None, number),
        };
        let wrong = |kind: &str| errors::usage(py, &format!("the value does not fit {kind}"), None);
        let bits = |kind: &str| kind[1..].parse::<u8>().unwrap_or(64);
        let fits = |bits: u8, value: u64| value.checked_shr(bits.into()).unwrap_or(0) == 0;
        Ok(match (kind.as_deref(), number) {
            (None | Some("bool"), Number::Bool(value)) => Value::Bool(value),
            (None | Some("str" | "string"), Number::Text(text)) => Value::text(text),
            (Some(kind @ ("u8" | "u16" | "u32" | "u64")), Number::Unsigned(value)) => {
                if !fits(bits(kind), value) {
                    return Err(wrong(kind));
                }
                Value::Unsigned(bits(kind), value)
            }
            (Some(kind @ ("i8" | "i16" | "i32" | "i64")), number) => {
                let value = match number {
                    Number::Unsigned(value) => i64::try_from(value).map_err(|_| wrong(kind))?,
                    Number::Signed(value) => value,
                    _ => return Err(wrong(kind)),
                };
                if !matches!(value >> (bits(kind) - 1), 0 | -1) {
                    return Err(wrong(kind));
                }
                Value::Signed(bits(kind), value)
            }
            #[allow(clippy::cast_possible_truncation)] // Requested by the caller.
            (Some("f32"), Number::Float(value)) => Value::F32(value as f32),
            (Some("f64"), Number::Float(value)) => Value::F64(value),
            (None, Number::Unsigned(value)) if fits(32, value) => Value::Unsigned(32, value),
            (None, Number::Unsigned(value)) => Value::Unsigned(64, value),
            (None, Number::Signed(value)) if i32::try_from(value).is_ok() => {
                Value::Signed(32, value)
            }
            (None, Number::Signed(value)) => Value::Signed(64, value),
            #[allow(clippy::cast_possible_truncation)] // Converters write f32.
            (None, Number::Float(value)) => Value::F32(value as f32),
            (Some(kind), _) => return Err(wrong(kind)),
        })
    }
}

/// The arguments of a verb by their names.
pub(crate) struct Asked<'py>(Bound<'py, PyDict>);

/// The types that weights can be converted to.
const FLOATS: [(&str, DType); 3] =
    [("f32", DType::F32), ("bf16", DType::BF16), ("f16", DType::F16)];

/// Sets options from arguments: the name, the builder's method, and how to extract the value.
macro_rules! set {
    ($asked:ident, $options:ident, $($name:literal => $method:ident($take:ident)),+ $(,)?) => {
        $(if let Some(value) = $asked.$take($name)? {
            $options = $options.$method(value);
        })+
    };
}

impl<'a, 'py> FromPyObject<'a, 'py> for Asked<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // Arguments are removed from a copy as they are taken.
        Ok(Self(object.cast::<PyDict>()?.copy()?))
    }
}

impl<'py> Asked<'py> {
    pub(crate) fn py(&self) -> Python<'py> {
        self.0.py()
    }

    pub(crate) fn has(&self, name: &str) -> PyResult<bool> {
        self.0.contains(name)
    }

    /// Takes an argument, which marks it as used.
    pub(crate) fn take<T: for<'a> FromPyObject<'a, 'py>>(&self, name: &str) -> PyResult<Option<T>> {
        let Some(value) = self.0.get_item(name)? else { return Ok(None) };
        self.0.del_item(name)?;
        if value.is_none() {
            return Ok(None);
        }
        value.extract::<T>().map(Some).map_err(|error| {
            let error: PyErr = error.into();
            PyTypeError::new_err(format!("{name}: {}", error.value(self.py())))
        })
    }

    pub(crate) fn text(&self, name: &str) -> PyResult<Option<String>> {
        self.take(name)
    }

    pub(crate) fn path(&self, name: &str) -> PyResult<Option<PathBuf>> {
        self.take(name)
    }

    fn size(&self, name: &str) -> PyResult<Option<u64>> {
        self.take::<Size>(name)?.map(|size| size.bytes(self.py())).transpose()
    }

    pub(crate) fn rules(&self, name: &str) -> PyResult<Rules> {
        Ok(self.take(name)?.unwrap_or_default())
    }

    fn expressions(&self, name: &str) -> PyResult<Vec<Regex>> {
        let texts: Vec<String> = self.take(name)?.unwrap_or_default();
        texts.iter().map(|text| expression(self.py(), text)).collect()
    }

    fn output_type(&self, name: &str) -> PyResult<Option<OutputType>> {
        let known = [
            ("auto", OutputType::Auto),
            ("native", OutputType::Native),
            ("f32", OutputType::F32),
            ("bf16", OutputType::Bf16),
            ("f16", OutputType::F16),
            ("keep", OutputType::Keep),
        ];
        self.text(name)?.map(|text| self.one_of(name, &text.to_lowercase(), &known)).transpose()
    }

    fn names(&self, name: &str) -> PyResult<Option<Names>> {
        let known = [
            ("auto", Names::Auto),
            ("keep", Names::Keep),
            ("hf", Names::Hf),
            ("gguf", Names::Gguf),
        ];
        self.text(name)?.map(|text| self.one_of(name, &text, &known)).transpose()
    }

    fn mmproj(&self, name: &str) -> PyResult<Option<Mmproj>> {
        let known = [("beside", Mmproj::Beside), ("only", Mmproj::Only)];
        self.text(name)?.map(|text| self.one_of(name, &text, &known)).transpose()
    }

    /// Whether to use the slow, thorough search.
    fn effort(&self, name: &str) -> PyResult<Option<bool>> {
        let known = [("usual", false), ("high", true)];
        self.text(name)?.map(|text| self.one_of(name, &text, &known)).transpose()
    }

    fn values(&self, name: &str) -> PyResult<Option<Values>> {
        let known =
            [("none", Values::None), ("differing", Values::Differing), ("all", Values::All)];
        self.text(name)?.map(|text| self.one_of(name, &text, &known)).transpose()
    }

    fn rule(&self, name: &str) -> PyResult<Option<FailOver>> {
        let rule = self.text(name)?.map(|rule| rule.parse()).transpose();
        rule.map_err(|error| errors::exception(self.py(), &error))
    }

    fn slice(&self, name: &str) -> PyResult<Option<Slice>> {
        let slice = self.text(name)?.map(|slice| slice.parse()).transpose();
        slice.map_err(|error: weighbridge::Error| {
            errors::usage(self.py(), &format!("{name}: {}", error.message()), None)
        })
    }

    fn float(&self, name: &str) -> PyResult<Option<DType>> {
        self.text(name)?.map(|text| self.one_of(name, &text.to_lowercase(), &FLOATS)).transpose()
    }

    /// The value of a keyword. Types may also have their numpy names.
    fn one_of<T: Clone>(&self, what: &str, word: &str, known: &[(&str, T)]) -> PyResult<T> {
        let short = word.replace("float", "f");
        let found = known.iter().find(|(name, _)| *name == word || *name == short);
        found.map(|(_, meant)| meant.clone()).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            unknown(self.py(), what, word, &names.join(", "))
        })
    }

    fn select(&self) -> PyResult<Select> {
        let names = |name| self.take::<Vec<String>>(name).map(Option::unwrap_or_default);
        select(self.py(), &names("include")?, &names("exclude")?)
    }

    /// Limits on threads and memory.
    pub(crate) fn limits(&self) -> PyResult<impl Fn(&Work) -> Work + Send + use<>> {
        let (threads, memory) = (self.take::<NonZeroUsize>("threads")?, self.size("max_memory")?);
        Ok(move |work: &Work| {
            let work = threads.into_iter().fold(work.clone(), Work::threads);
            memory.into_iter().fold(work, Work::max_memory)
        })
    }

    /// What becomes of layers that predict further tokens.
    fn next_layers(&self) -> PyResult<NextLayers> {
        let only = self.take::<bool>("mtp")?.unwrap_or(false);
        match (only, self.take::<bool>("no_mtp")?.unwrap_or(false)) {
            (true, true) => {
                let why = "mtp and no_mtp exclude each other";
                Err(errors::usage(self.py(), why, None))
            }
            (true, false) => Ok(NextLayers::Only),
            (false, true) => Ok(NextLayers::Drop),
            (false, false) => Ok(NextLayers::Keep),
        }
    }

    /// The options of a conversion.
    pub(crate) fn converting(&self, target: PathBuf) -> PyResult<ConvertOptions> {
        let mut options = ConvertOptions::new(target).select(self.select()?);
        set!(self, options,
            "to" => to(text),
            "dtype" => dtype(output_type),
            "names" => names(names),
            "config" => base(path),
            "to_layout" => layout(text),
            "mmproj" => mmproj(mmproj),
            "pre_tokenizer" => pre_tokenizer(text),
            "skip_unreadable" => skip_unreadable(take),
            "force" => force(take),
            "resume" => resume(take),
            "dry_run" => dry_run(take),
            "verify" => verify(take),
            "follow_links" => follow_links(take),
            "modelfile" => modelfile(take),
            "allow_lossy_config" => allow_lossy_config(take),
            "max_shard_size" => max_shard_size(size),
            "max_output" => max_output(size),
        );
        options = options.next_layers(self.next_layers()?);
        let py = self.py();
        for (text, name) in self.rules("cast")? {
            let matches = expression(py, &text)?;
            let dtype = self.one_of("type", &name.to_lowercase(), &FLOATS)?;
            options = options.cast(move |weight| matches.is_match(weight), dtype);
        }
        for (text, to) in self.rules("rename")? {
            let matches = expression(py, &text)?;
            options = options.rename(move |name| matches.replace_all(name, &*to).into_owned());
        }
        for (key, entry) in self.take::<Vec<(String, Entry)>>("metadata")?.unwrap_or_default() {
            options = options.metadata(key, entry.value(py)?);
        }
        Ok(options)
    }

    /// Whether a quantization target is given.
    pub(crate) fn is_quantized(&self) -> PyResult<bool> {
        Ok(self.has("type")? || self.has("target_bpw")? || self.has("target_size")?)
    }

    /// The options of quantizing.
    pub(crate) fn quantizing(&self) -> PyResult<QuantizeOptions> {
        let py = self.py();
        if !self.is_quantized()? {
            let why = "no quantization target is given";
            return Err(errors::usage(py, why, Some("pass type, target_bpw or target_size")));
        }
        let usual = || QuantizeOptions::USUAL.to_owned();
        let mut options = QuantizeOptions::new(self.text("type")?.unwrap_or_else(usual));
        set!(self, options,
            "imatrix" => importance(path),
            "pure" => pure(take),
            "output_tensor_type" => output_type(text),
            "token_embedding_type" => embedding_type(text),
            "layout" => layout(text),
            "group_size" => group_size(take),
            "effort" => thorough(effort),
            "target_bpw" => target_bits(take),
            "target_size" => target_size(size),
            "allow_requantize" => allow_requantize(take),
            "allow_nonfinite" => allow_non_finite(take),
        );
        for (text, name) in self.rules("tensor_type")? {
            // llama-quantize ignores case too.
            let matches = RegexBuilder::new(&text).case_insensitive(true).build();
            let matches = matches.map_err(|error| errors::usage(py, &error.to_string(), None))?;
            options = options.tensor_type(move |weight| matches.is_match(weight), name);
        }
        for matches in self.expressions("keep")? {
            options = options.keep(move |weight| matches.is_match(weight));
        }
        Ok(options)
    }

    /// The options of a comparison.
    pub(crate) fn comparing(&self) -> PyResult<DiffOptions> {
        let mut options = DiffOptions::default().select(self.select()?);
        set!(self, options,
            "values" => values(values),
            "exact" => exact(take),
            "fail_over" => fail_over(rule),
            "reencode" => reencode(take),
            "weights_only" => weights_only(take),
            "skip_unreadable" => skip_unreadable(take),
        );
        for (a, b) in self.rules("map")? {
            options = options.map(a, b);
        }
        for (text, to) in self.rules("rename")? {
            let matches = expression(self.py(), &text)?;
            options = options.rename(move |name| matches.replace_all(name, &*to).into_owned());
        }
        let transposed = self.expressions("transpose")?;
        if !transposed.is_empty() {
            options = options
                .transpose(move |name| transposed.iter().any(|matches| matches.is_match(name)));
        }
        Ok(options)
    }

    /// The options of statistics.
    pub(crate) fn measuring(&self) -> PyResult<StatsOptions> {
        let mut options = StatsOptions::default().select(self.select()?);
        set!(self, options, "skip_unreadable" => skip_unreadable(take));
        Ok(options)
    }

    /// The options of hashing.
    pub(crate) fn hashing(&self) -> PyResult<HashOptions> {
        let mut options = HashOptions::default().select(self.select()?);
        set!(self, options,
            "values" => values(take),
            "tensors" => tensors(take),
            "skip_unreadable" => skip_unreadable(take),
        );
        Ok(options)
    }

    /// The options of showing a weight.
    pub(crate) fn showing(&self) -> PyResult<ShowOptions> {
        let mut options = ShowOptions::default();
        set!(self, options,
            "rows" => rows(slice),
            "cols" => columns(slice),
            "dtype" => dtype(float),
        );
        Ok(options)
    }

    /// The first argument that was not taken and is not at its default.
    pub(crate) fn rest(&self) -> PyResult<Option<String>> {
        for (name, value) in &self.0 {
            if value.is_truthy()? && !value.eq("usual")? {
                return Ok(Some(name.to_string()));
            }
        }
        Ok(None)
    }

    /// An error if an argument was not taken.
    pub(crate) fn finish(&self) -> PyResult<()> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(PyTypeError::new_err(format!("unknown arguments {}", self.0.keys())))
        }
    }
}
