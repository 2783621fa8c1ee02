//! Options of the library from dictionaries of Python. Which keys there are is said by the
//! signatures of the functions on top, so none is misspelt here unnoticed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use pyo3::prelude::*;
use regex::{Regex, RegexBuilder};
use weighbridge::catalog::Value;
use weighbridge::ops::{
    ConvertOptions, DiffOptions, FailOver, Names, OutputType, QuantizeOptions, Values, Work,
};
use weighbridge::{DType, Select};

use crate::errors;

/// The type whose choices are kept where a size decides about the rest.
const USUAL: &str = "Q4_K_M";

/// Pairs of an expression and what it stands for, in their order.
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

/// Which weights are meant.
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
    errors::usage(py, &format!("{what} {given:?} is none of {known}"), None)
}

/// A value of metadata with the type it is written as.
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
    /// GGUF has a type for every width; where none is named, the one that converters mostly use.
    fn value(self, py: Python<'_>) -> PyResult<Value> {
        let (kind, number) = match self {
            Self::Typed(kind, number) => (Some(kind), number),
            Self::Plain(number) => (None, number),
        };
        let wrong = |kind: &str| errors::usage(py, &format!("the value is no {kind}"), None);
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
            #[allow(clippy::cast_possible_truncation)] // It is asked for.
            (Some("f32"), Number::Float(value)) => Value::F32(value as f32),
            (Some("f64"), Number::Float(value)) => Value::F64(value),
            (None, Number::Unsigned(value)) if fits(32, value) => Value::Unsigned(32, value),
            (None, Number::Unsigned(value)) => Value::Unsigned(64, value),
            (None, Number::Signed(value)) if i32::try_from(value).is_ok() => {
                Value::Signed(32, value)
            }
            (None, Number::Signed(value)) => Value::Signed(64, value),
            #[allow(clippy::cast_possible_truncation)] // As converters write them.
            (None, Number::Float(value)) => Value::F32(value as f32),
            (Some(kind), _) => return Err(wrong(kind)),
        })
    }
}

/// How work is done.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct WorkWishes {
    threads: Option<NonZeroUsize>,
    #[pyo3(default)]
    max_memory: Option<Size>,
}

impl WorkWishes {
    pub(crate) fn limits(&self, py: Python<'_>) -> PyResult<impl Fn(&Work) -> Work + Send + use<>> {
        let threads = self.threads;
        let memory = self.max_memory.as_ref().map(|size| size.bytes(py)).transpose()?;
        Ok(move |work: &Work| {
            let mut work = work.clone();
            if let Some(threads) = threads {
                work = work.threads(threads);
            }
            if let Some(bytes) = memory {
                work = work.max_memory(bytes);
            }
            work
        })
    }
}

/// What a conversion writes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ConvertWishes {
    #[pyo3(default)]
    to: Option<String>,
    dtype: Option<String>,
    #[pyo3(default)]
    names: Option<String>,
    #[pyo3(default)]
    config: Option<PathBuf>,
    #[pyo3(default)]
    to_layout: Option<String>,
    #[pyo3(default)]
    pre_tokenizer: Option<String>,
    #[pyo3(default)]
    cast: Rules,
    #[pyo3(default)]
    rename: Rules,
    #[pyo3(default)]
    metadata: Vec<(String, Entry)>,
    #[pyo3(default)]
    include: Vec<String>,
    #[pyo3(default)]
    exclude: Vec<String>,
    #[pyo3(default)]
    skip_unreadable: bool,
    #[pyo3(default)]
    force: bool,
    #[pyo3(default)]
    resume: bool,
    #[pyo3(default)]
    dry_run: bool,
    #[pyo3(default)]
    verify: bool,
    #[pyo3(default)]
    follow_links: bool,
    #[pyo3(default)]
    modelfile: bool,
    #[pyo3(default)]
    max_shard_size: Option<Size>,
    #[pyo3(default)]
    max_output: Option<Size>,
}

impl ConvertWishes {
    /// Whether codes are moved into another layout, undecoded.
    pub(crate) fn names_a_layout(&self) -> bool {
        self.to_layout.is_some()
    }

    pub(crate) fn options(self, py: Python<'_>, target: PathBuf) -> PyResult<ConvertOptions> {
        let mut options = ConvertOptions::new(target)
            .dtype(output_type(py, self.dtype.as_deref())?)
            .names(names(py, self.names.as_deref())?)
            .select(select(py, &self.include, &self.exclude)?)
            .skip_unreadable(self.skip_unreadable)
            .force(self.force)
            .resume(self.resume)
            .dry_run(self.dry_run)
            .verify(self.verify)
            .follow_links(self.follow_links)
            .modelfile(self.modelfile);
        if let Some(format) = self.to {
            options = options.to(format);
        }
        if let Some(folder) = self.config {
            options = options.base(folder);
        }
        if let Some(name) = self.to_layout {
            options = options.layout(name);
        }
        if let Some(name) = self.pre_tokenizer {
            options = options.pre_tokenizer(name);
        }
        for (text, name) in self.cast {
            let (matches, dtype) = (expression(py, &text)?, float_type(py, &name)?);
            options = options.cast(move |weight| matches.is_match(weight), dtype);
        }
        for (text, to) in self.rename {
            let matches = expression(py, &text)?;
            options = options.rename(move |name| matches.replace_all(name, &*to).into_owned());
        }
        for (key, entry) in self.metadata {
            options = options.metadata(key, entry.value(py)?);
        }
        if let Some(size) = self.max_shard_size {
            options = options.max_shard_size(size.bytes(py)?);
        }
        if let Some(size) = self.max_output {
            options = options.max_output(size.bytes(py)?);
        }
        Ok(options)
    }
}

fn output_type(py: Python<'_>, name: Option<&str>) -> PyResult<OutputType> {
    Ok(match name.map(str::to_lowercase).as_deref() {
        None | Some("auto") => OutputType::Auto,
        Some("native") => OutputType::Native,
        Some("f32" | "float32") => OutputType::F32,
        Some("bf16" | "bfloat16") => OutputType::Bf16,
        Some("f16" | "float16") => OutputType::F16,
        Some("keep") => OutputType::Keep,
        Some(other) => {
            return Err(unknown(py, "dtype", other, "auto, native, f32, bf16, f16, keep"));
        }
    })
}

fn float_type(py: Python<'_>, name: &str) -> PyResult<DType> {
    match &*name.to_lowercase() {
        "f32" | "float32" => Ok(DType::F32),
        "bf16" | "bfloat16" => Ok(DType::BF16),
        "f16" | "float16" => Ok(DType::F16),
        other => Err(unknown(py, "the type", other, "f32, bf16, f16")),
    }
}

fn names(py: Python<'_>, name: Option<&str>) -> PyResult<Names> {
    Ok(match name {
        None | Some("auto") => Names::Auto,
        Some("keep") => Names::Keep,
        Some("hf") => Names::Hf,
        Some("gguf") => Names::Gguf,
        Some(other) => return Err(unknown(py, "names", other, "auto, keep, hf, gguf")),
    })
}

/// How a model is quantized.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct QuantizeWishes {
    r#type: Option<String>,
    #[pyo3(default)]
    imatrix: Option<PathBuf>,
    #[pyo3(default)]
    pure: bool,
    #[pyo3(default)]
    tensor_type: Rules,
    #[pyo3(default)]
    output_tensor_type: Option<String>,
    #[pyo3(default)]
    token_embedding_type: Option<String>,
    #[pyo3(default)]
    keep: Vec<String>,
    #[pyo3(default)]
    layout: Option<String>,
    #[pyo3(default)]
    group_size: Option<u64>,
    #[pyo3(default)]
    effort: Option<String>,
    #[pyo3(default)]
    target_bpw: Option<f64>,
    #[pyo3(default)]
    target_size: Option<Size>,
    #[pyo3(default)]
    allow_requantize: bool,
    #[pyo3(default)]
    allow_nonfinite: bool,
}

impl QuantizeWishes {
    /// Whether anything says that the output was quantized.
    pub(crate) fn is_given(&self) -> bool {
        self.r#type.is_some() || self.target_bpw.is_some() || self.target_size.is_some()
    }

    pub(crate) fn options(self, py: Python<'_>) -> PyResult<QuantizeOptions> {
        let is_thorough = match self.effort.as_deref() {
            None | Some("usual") => false,
            Some("high") => true,
            Some(other) => return Err(unknown(py, "effort", other, "usual, high")),
        };
        if self.r#type.is_none() && self.target_bpw.is_none() && self.target_size.is_none() {
            let why = "what weights become is not said";
            return Err(errors::usage(py, why, Some("type, target_bpw or target_size says it")));
        }
        let mut options = QuantizeOptions::new(self.r#type.as_deref().unwrap_or(USUAL))
            .pure(self.pure)
            .thorough(is_thorough)
            .allow_requantize(self.allow_requantize)
            .allow_non_finite(self.allow_nonfinite);
        if let Some(file) = self.imatrix {
            options = options.importance(file);
        }
        for (text, name) in self.tensor_type {
            // llama-quantize does not care about letter case either.
            let matches = RegexBuilder::new(&text).case_insensitive(true).build();
            let matches = matches.map_err(|error| errors::usage(py, &error.to_string(), None))?;
            options = options.tensor_type(move |weight| matches.is_match(weight), name);
        }
        for text in &self.keep {
            let matches = expression(py, text)?;
            options = options.keep(move |weight| matches.is_match(weight));
        }
        if let Some(name) = self.output_tensor_type {
            options = options.output_type(name);
        }
        if let Some(name) = self.token_embedding_type {
            options = options.embedding_type(name);
        }
        if let Some(name) = self.layout {
            options = options.layout(name);
        }
        if let Some(bits) = self.target_bpw {
            options = options.target_bits(bits);
        }
        if let Some(size) = self.target_size {
            options = options.target_size(size.bytes(py)?);
        }
        if let Some(columns) = self.group_size {
            options = options.group_size(columns);
        }
        Ok(options)
    }
}

/// How two models are compared.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct DiffWishes {
    values: Option<String>,
    #[pyo3(default)]
    exact: bool,
    #[pyo3(default)]
    fail_over: Option<String>,
    #[pyo3(default)]
    reencode: bool,
    #[pyo3(default)]
    skip_unreadable: bool,
    #[pyo3(default)]
    map: Rules,
    #[pyo3(default)]
    rename: Rules,
    #[pyo3(default)]
    transpose: Vec<String>,
    #[pyo3(default)]
    include: Vec<String>,
    #[pyo3(default)]
    exclude: Vec<String>,
}

impl DiffWishes {
    pub(crate) fn options(self, py: Python<'_>) -> PyResult<DiffOptions> {
        let values = match self.values.as_deref() {
            None | Some("differing") => Values::Differing,
            Some("none") => Values::None,
            Some("all") => Values::All,
            Some(other) => return Err(unknown(py, "values", other, "none, differing, all")),
        };
        let mut options = DiffOptions::default()
            .values(values)
            .exact(self.exact)
            .reencode(self.reencode)
            .skip_unreadable(self.skip_unreadable)
            .select(select(py, &self.include, &self.exclude)?);
        if let Some(rule) = self.fail_over {
            let rule: FailOver = rule.parse().map_err(|error| errors::exception(py, &error))?;
            options = options.fail_over(rule);
        }
        for (a, b) in self.map {
            options = options.map(a, b);
        }
        for (text, to) in self.rename {
            let matches = expression(py, &text)?;
            options = options.rename(move |name| matches.replace_all(name, &*to).into_owned());
        }
        let transposed: Vec<Regex> =
            self.transpose.iter().map(|text| expression(py, text)).collect::<PyResult<_>>()?;
        if !transposed.is_empty() {
            options = options
                .transpose(move |name| transposed.iter().any(|matches| matches.is_match(name)));
        }
        Ok(options)
    }
}
