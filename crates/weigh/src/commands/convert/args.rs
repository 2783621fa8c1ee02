//! The arguments for writing a model.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use regex::Regex;
use weighbridge::catalog::Value;
use weighbridge::internals::text::did_you_mean;
use weighbridge::ops::{ConvertOptions, Names, OutputType};
use weighbridge::{DType, Model, Weight};

use crate::args::{
    Open, Report, Select, Unmatched, Work, convert_example, format_help, formats, metadata_help,
    output_help, parse_rename,
};
use crate::size::parse_size;

#[derive(ClapArgs)]
#[command(after_help = convert_example())]
pub(crate) struct Convert {
    /// A file, a directory, a name in a local store; `-` is standard input
    ///
    /// An index of shards stands for all of them, and so does any part of a split file.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    #[arg(
        short,
        long,
        value_name = "OUT",
        help = "A file by its extension, or a directory; `-` is stdout",
        long_help = output_help()
    )]
    pub(crate) output: PathBuf,

    /// Replace an existing output, once the new one is complete
    #[arg(long)]
    pub(crate) force: bool,

    /// Continue an interrupted run to the same directory
    ///
    /// Files that are complete are kept. With --force, a directory that has the output's name is
    /// replaced at the end.
    #[arg(long)]
    pub(crate) resume: bool,

    /// Say what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Read the output again and compare it, bit for bit
    ///
    /// It gets its name only if everything is the same.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) output_args: OutputArgs,

    /// Also write a Modelfile for Ollama beside a GGUF file
    #[arg(long, help_heading = "Output")]
    pub(crate) modelfile: bool,

    /// The most bytes to write [default: 1000 times what the model holds]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub(crate) max_output: Option<u64>,
}

/// What `--to-layout` does.
fn layout_help() -> String {
    let names: Vec<&str> = weighbridge::ops::layouts().collect();
    format!("The same codes in the tensors of another library, undecoded: {}", names.join(", "))
}

const REFUSED_LAYOUTS: &str = "What a layout cannot hold as it is is refused. A directory becomes a \
                               directory, whose config says how its weights lie";

/// What `--dtype` does in `dequantize`.
const DTYPE_OF_DECODED: &str = "The type of what is decoded";
const DTYPE_OF_DECODED_IN_FULL: &str =
    "The type of what is decoded. Plain tensors stay as they are; --cast is for them too";

#[derive(ClapArgs)]
#[command(
    after_help = "Example: weigh dequantize model/ -o plain --verify",
    mut_arg("dtype", |arg| arg.help(DTYPE_OF_DECODED).long_help(DTYPE_OF_DECODED_IN_FULL))
)]
pub(crate) struct Dequantize {
    /// Also copy files outside the model that links in it lead to
    #[arg(long, help_heading = "Output")]
    pub(crate) follow_links: bool,

    #[command(flatten)]
    pub(crate) convert: Convert,
}

// The flags that `convert` and `verify` share. No doc comment: clap would take it for the help
// of the whole command.
#[derive(ClapArgs)]
pub(crate) struct OutputArgs {
    #[arg(long, value_name = "FORMAT", help = formats(), long_help = format_help())]
    to: Option<String>,

    /// The type of the numbers
    ///
    /// Integers always keep theirs.
    #[arg(long, value_enum, default_value_t = Dtype::Auto, value_name = "TYPE")]
    dtype: Dtype,

    /// Whose names weights get, and with them values, metadata and tokenizer
    #[arg(long, value_enum, default_value_t = NamesArg::Auto, value_name = "WHOSE", help_heading = "Output")]
    names: NamesArg,

    /// The repository that a GGUF model was made from, or that an adapter belongs to: what their own
    /// files do not tell is taken from there
    ///
    /// Its config.json is taken, unless it contradicts the file, and its tokenizer. Of an adapter's
    /// base model only config.json is read.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    config: Option<PathBuf>,

    #[arg(
        long,
        value_name = "NAME",
        help = layout_help(),
        long_help = format!("{}. {REFUSED_LAYOUTS}", layout_help()),
        help_heading = "Output"
    )]
    pub(crate) to_layout: Option<String>,

    /// The name of the pre-tokenizer for GGUF, if it cannot be told from the tokenizer
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pre: Option<String>,

    /// A type (f32, bf16, f16) for weights whose name matches; may be repeated, the first match
    /// counts
    #[arg(long, value_name = "RE=TYPE", value_parser = parse_cast, help_heading = "Output")]
    cast: Vec<(Regex, DType)>,

    /// Rename weights: what matches becomes TO, where $1 is the first group; may be repeated, rules
    /// are applied one after the other
    #[arg(long, value_name = "RE=TO", value_parser = parse_rename, help_heading = "Output")]
    rename: Vec<(Regex, String)>,

    #[arg(
        long,
        value_name = "KEY=TYPE:VALUE",
        value_parser = parse_entry,
        help = metadata_help(),
        help_heading = "Output"
    )]
    kv: Vec<(String, Value)>,

    /// Leave out weights that cannot be read, such as arrays of text, and list them
    #[arg(long, help_heading = "Output")]
    skip_unreadable: bool,

    /// The most data in one file of a directory, like 2GB [default: 5GB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Output")]
    max_shard_size: Option<u64>,

    #[command(flatten)]
    pub(crate) select: Select,

    #[command(flatten)]
    work: Work,

    #[command(flatten)]
    pub(crate) report: Report,

    #[command(flatten)]
    pub(crate) open: Open,
}

impl OutputArgs {
    /// The options as the library takes them.
    pub(crate) fn options(&self, output: &PathBuf) -> ConvertOptions {
        let mut options = ConvertOptions::new(output)
            .dtype(self.dtype.into())
            .names(self.names.into())
            .select(self.select.options())
            .skip_unreadable(self.skip_unreadable)
            .remote(self.open.remote.settings())
            .work(&self.work.options());
        if let Some(to) = &self.to {
            options = options.to(to);
        }
        if let Some(layout) = &self.to_layout {
            options = options.layout(layout);
        }
        if let Some(pre) = &self.pre {
            options = options.pre_tokenizer(pre);
        }
        if let Some(config) = &self.config {
            options = options.base(config);
        }
        if let Some(bytes) = self.max_shard_size {
            options = options.max_shard_size(bytes);
        }
        for (matches, dtype) in self.cast.clone() {
            options = options.cast(move |name| matches.is_match(name), dtype);
        }
        for (matches, to) in self.rename.clone() {
            options = options.rename(move |name| matches.replace_all(name, &*to).into_owned());
        }
        for (key, value) in self.kv.clone() {
            options = options.metadata(key, value);
        }
        options
    }
}

impl OutputArgs {
    /// Says which rules match nothing in the models; the notes are for the report, too.
    pub(crate) fn unmatched(&self, models: &[Model]) -> Vec<String> {
        let weights: Vec<Weight> = models.iter().flat_map(Model::weights).collect();
        let mut unmatched = match self.dtype {
            Dtype::Keep => Unmatched::of_stored(models),
            _ => Unmatched::new(weights.iter().map(Weight::name)),
        };
        self.open.check(&models.iter().collect::<Vec<_>>(), &mut unmatched);
        self.select.check(&mut unmatched);
        unmatched.check("--cast", self.cast.iter().map(|(rule, _)| rule));
        unmatched.check_renames("--rename", &self.rename);
        self.report.say(unmatched.notes())
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum NamesArg {
    /// `gguf` into a GGUF file from other formats, `hf` from GGUF into a directory, else `keep`; also
    /// `keep` with --include, --exclude and --dtype keep
    Auto,
    /// As the model has them, and nothing that expects a model of that format loads the result
    Keep,
    /// A directory that Hugging Face's libraries load
    Hf,
    /// A GGUF file that llama.cpp runs
    Gguf,
}

impl From<NamesArg> for Names {
    fn from(names: NamesArg) -> Self {
        match names {
            NamesArg::Auto => Self::Auto,
            NamesArg::Keep => Self::Keep,
            NamesArg::Hf => Self::Hf,
            NamesArg::Gguf => Self::Gguf,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Dtype {
    /// As native; but `dequantize` follows the 16-bit type that the config names
    Auto,
    /// What is decoded in its own 16-bit type, or else bf16; plain tensors as they are
    Native,
    /// Single precision: every floating-point tensor, in `dequantize` what is decoded
    F32,
    /// bfloat16, for the same
    Bf16,
    /// Half precision, for the same
    F16,
    /// Nothing is decoded: tensors as they are stored
    Keep,
}

impl From<Dtype> for OutputType {
    fn from(dtype: Dtype) -> Self {
        match dtype {
            Dtype::Auto => Self::Auto,
            Dtype::Native => Self::Native,
            Dtype::F32 => Self::F32,
            Dtype::Bf16 => Self::Bf16,
            Dtype::F16 => Self::F16,
            Dtype::Keep => Self::Keep,
        }
    }
}

/// `RE=type`, split at the last `=`: an expression may hold one.
fn parse_cast(text: &str) -> Result<(Regex, DType), String> {
    let (expression, name) = text.rsplit_once('=').ok_or("there is no '='")?;
    let dtype = match name.to_lowercase().as_str() {
        "f32" => DType::F32,
        "bf16" => DType::BF16,
        "f16" => DType::F16,
        _ => {
            let near = did_you_mean(name, ["f32", "bf16", "f16"].into_iter());
            let near = near.map_or(String::new(), |near| format!("; {near}"));
            return Err(format!("{name} is not f32, bf16 or f16{near}"));
        }
    };
    Ok((Regex::new(expression).map_err(|e| e.to_string())?, dtype))
}

/// `key=type:value`.
fn parse_entry(text: &str) -> Result<(String, Value), String> {
    let (key, rest) = text.split_once('=').ok_or("there is no '='")?;
    let (kind, value) = rest.split_once(':').ok_or("there is no ':' after the type")?;
    if key.is_empty() {
        return Err("the key is empty".to_owned());
    }
    let value = match kind {
        "u8" | "u16" | "u32" | "u64" => unsigned(kind, value)?,
        "i8" | "i16" | "i32" | "i64" => signed(kind, value)?,
        "f32" => Value::F32(value.parse().map_err(|_| no(value, kind))?),
        "f64" => Value::F64(value.parse().map_err(|_| no(value, kind))?),
        "bool" => Value::Bool(value.parse().map_err(|_| no(value, "true or false"))?),
        "str" | "string" => Value::text(value),
        _ => return Err(format!("{kind} is not u8 to u64, i8 to i64, f32, f64, bool or str")),
    };
    Ok((key.to_owned(), value))
}

fn unsigned(kind: &str, value: &str) -> Result<Value, String> {
    let bits: u8 = kind[1..].parse().unwrap_or(64);
    let number: u64 = value.parse().map_err(|_| no(value, kind))?;
    match number.checked_shr(bits.into()).unwrap_or(0) {
        0 => Ok(Value::Unsigned(bits, number)),
        _ => Err(no(value, kind)),
    }
}

fn signed(kind: &str, value: &str) -> Result<Value, String> {
    let bits: u8 = kind[1..].parse().unwrap_or(64);
    let number: i64 = value.parse().map_err(|_| no(value, kind))?;
    match number >> (bits - 1) {
        0 | -1 => Ok(Value::Signed(bits, number)),
        _ => Err(no(value, kind)),
    }
}

fn no(value: &str, kind: &str) -> String {
    format!("{value} is not {kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_the_width_that_is_asked_for() {
        let value = |text| parse_entry(text).map(|(_, value)| value);
        assert_eq!(value("a=u8:255"), Ok(Value::Unsigned(8, 255)));
        assert_eq!(value("a=u64:18446744073709551615"), Ok(Value::Unsigned(64, u64::MAX)));
        assert_eq!(value("a=i8:-128"), Ok(Value::Signed(8, -128)));
        assert_eq!(value("a=str:x=y:z"), Ok(Value::text("x=y:z")));
        assert_eq!(value("a=bool:true"), Ok(Value::Bool(true)));
        for text in
            ["a=u8:256", "a=i8:128", "a=i8:-129", "a=u8", "u8:1", "=u8:1", "a=f32:x", "a=x:1"]
        {
            assert!(value(text).is_err(), "{text}");
        }
    }
}
