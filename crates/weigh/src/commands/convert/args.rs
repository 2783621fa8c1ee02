//! The arguments of `convert`, shared with the other commands that write models.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use regex::Regex;
use weighbridge::catalog::Value;
use weighbridge::internals::near::did_you_mean;
use weighbridge::ops::{ConvertOptions, Mmproj, Names, NextLayers, OutputType};
use weighbridge::{DType, Model, Weight};

use crate::args::{
    MODEL, Open, Report, Select, Unmatched, Work, convert_example, format_help, formats,
    metadata_help, model_help, output_help, parse_rename,
};
use crate::size::parse_size;

#[derive(ClapArgs)]
#[command(after_help = convert_example())]
pub(crate) struct Convert {
    #[arg(value_name = "MODEL", help = MODEL, long_help = model_help())]
    pub(crate) model: PathBuf,

    #[arg(
        short,
        long,
        value_name = "OUT",
        help = "Output file or directory; `-` for stdout",
        long_help = output_help()
    )]
    pub(crate) output: PathBuf,

    /// Overwrite an existing output
    ///
    /// The old output is replaced only when the new one is complete.
    #[arg(long)]
    pub(crate) force: bool,

    /// Continue an interrupted run to the same directory
    ///
    /// Complete files are kept. With --force, an existing directory with the output's name is
    /// replaced at the end.
    #[arg(long)]
    pub(crate) resume: bool,

    /// Print the plan without writing anything
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Read the output back and compare it bit for bit
    ///
    /// The output gets its final name only if nothing differs.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) output_args: OutputArgs,

    /// Also write an Ollama Modelfile next to a GGUF output
    #[arg(long, help_heading = "Output")]
    pub(crate) modelfile: bool,

    /// Write a GGUF file that llama.cpp will not load
    ///
    /// Some settings have no place in GGUF, and llama.cpp rejects files of such models. By default they
    /// are not written.
    #[arg(long, help_heading = "Output")]
    pub(crate) allow_lossy_config: bool,

    /// Maximum output size [default: 1000 times the model's size]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub(crate) max_output: Option<u64>,
}

/// The help of `--to-layout`.
fn layout_help() -> String {
    let names: Vec<&str> = weighbridge::ops::layouts().collect();
    format!("Repack the codes for another library without decoding: {}", names.join(", "))
}

const LAYOUT_LIMITS: &str = "Weights that the layout cannot hold without loss are rejected. A \
                             directory becomes a directory with a matching config";

/// The help of `--dtype` in `dequantize`.
const DTYPE_OF_DECODED: &str = "Dtype of decoded weights";
const DTYPE_OF_DECODED_IN_FULL: &str =
    "The dtype of decoded weights. Plain tensors are unchanged; use --cast to change them too";

#[derive(ClapArgs)]
#[command(
    after_help = "Example: weigh dequantize model/ -o plain --verify",
    mut_arg("dtype", |arg| arg.help(DTYPE_OF_DECODED).long_help(DTYPE_OF_DECODED_IN_FULL))
)]
pub(crate) struct Dequantize {
    /// Also copy linked files that are outside the model
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

    /// Dtype of floating-point weights
    ///
    /// Integers are never converted.
    #[arg(long, value_enum, default_value_t = Dtype::Auto, value_name = "TYPE")]
    dtype: Dtype,

    /// Naming convention of the output, with its values, metadata and tokenizer
    #[arg(long, value_enum, default_value_t = NamesArg::Auto, value_name = "WHOSE", help_heading = "Output")]
    names: NamesArg,

    /// Base repository of a GGUF model or an adapter
    ///
    /// Supplies what the model's own files do not contain. For a GGUF model, config.json and the
    /// tokenizer are used; a config.json that contradicts the GGUF file is not. For an adapter, only
    /// config.json is read.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    config: Option<PathBuf>,

    #[arg(
        long,
        value_name = "NAME",
        help = layout_help(),
        long_help = format!("{}. {LAYOUT_LIMITS}", layout_help()),
        help_heading = "Output"
    )]
    pub(crate) to_layout: Option<String>,

    /// Name of the pre-tokenizer, if the model does not tell it
    ///
    /// To GGUF: for a `tokenizer.json` that is not recognised. From GGUF to a repository: for a file
    /// without `tokenizer.ggml.pre`, or instead of the name that the file has.
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pre: Option<String>,

    /// Write only next-token prediction layers to a GGUF file
    ///
    /// llama.cpp drafts tokens with them, from a file of their own (`--model-draft`). The file has the
    /// embedding and the output head too.
    #[arg(long, conflicts_with = "no_mtp", help_heading = "Output")]
    mtp: bool,

    /// Leave next-token prediction layers out of a GGUF file
    #[arg(long, help_heading = "Output")]
    no_mtp: bool,

    /// Convert the projector of a multimodal model too, or only
    ///
    /// A projector is a GGUF file with the encoders of images and sound, which llama.cpp loads next to
    /// the language model. `--mmproj` alone means `beside`: NAME.gguf gets mmproj-NAME.gguf next to it.
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        num_args = 0..=1,
        default_missing_value = "beside",
        require_equals = true,
        help_heading = "Output"
    )]
    mmproj: Option<MmprojArg>,

    /// Set the dtype (f32, bf16, f16) of weights matching RE
    ///
    /// Can be repeated; the first match wins.
    #[arg(long, value_name = "RE=TYPE", value_parser = parse_cast, help_heading = "Output")]
    cast: Vec<(Regex, DType)>,

    /// Rename weights: replace matches of RE with TO
    ///
    /// $1 is the first group. Can be repeated; rules are applied in order.
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

    /// Skip unreadable weights, such as arrays of text, and list them
    #[arg(long, help_heading = "Output")]
    skip_unreadable: bool,

    /// Maximum shard size, e.g. 2GB [default: 5GB]
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
    /// Converts to library options.
    pub(crate) fn options(&self, output: &PathBuf) -> ConvertOptions {
        let mut options = ConvertOptions::new(output)
            .dtype(self.dtype.into())
            .names(self.names.into())
            .select(self.select.options())
            .skip_unreadable(self.skip_unreadable)
            .next_layers(self.next_layers())
            .remote(self.open.remote.settings())
            .work(&self.work.options());
        if let Some(to) = &self.to {
            options = options.to(to);
        }
        if let Some(layout) = &self.to_layout {
            options = options.layout(layout);
        }
        if let Some(mmproj) = self.mmproj {
            options = options.mmproj(mmproj.into());
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
    /// What becomes of layers that predict further tokens.
    fn next_layers(&self) -> NextLayers {
        match (self.mtp, self.no_mtp) {
            (true, _) => NextLayers::Only,
            (_, true) => NextLayers::Drop,
            _ => NextLayers::Keep,
        }
    }

    /// Prints notes on rules that match nothing, and returns them for the report.
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
    /// `gguf` from other formats to GGUF, `hf` from GGUF to a directory, otherwise `keep`. Always
    /// `keep` with --include, --exclude or --dtype keep
    Auto,
    /// Unchanged names; loaders that expect the output format's names reject the result
    Keep,
    /// Hugging Face names: a directory that Hugging Face libraries load
    Hf,
    /// GGUF names: a file that llama.cpp runs
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
enum MmprojArg {
    /// Both: the projector next to the language model
    Beside,
    /// The projector instead of the language model
    Only,
}

impl From<MmprojArg> for Mmproj {
    fn from(mmproj: MmprojArg) -> Self {
        match mmproj {
            MmprojArg::Beside => Self::Beside,
            MmprojArg::Only => Self::Only,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Dtype {
    /// Like native, but `dequantize` uses the 16-bit dtype named in the config
    Auto,
    /// Decoded weights in their own 16-bit dtype, or bf16; plain tensors unchanged
    Native,
    /// Single precision for every floating-point tensor (in `dequantize`: decoded weights)
    F32,
    /// bfloat16, for the same tensors as f32
    Bf16,
    /// Half precision, for the same tensors as f32
    F16,
    /// Copy all tensors as stored, without decoding
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

/// Parses `RE=type`. It is split at the last `=`, because an expression may contain one.
fn parse_cast(text: &str) -> Result<(Regex, DType), String> {
    let (expression, name) = text.rsplit_once('=').ok_or("expected RE=TYPE")?;
    let dtype = match name.to_lowercase().as_str() {
        "f32" => DType::F32,
        "bf16" => DType::BF16,
        "f16" => DType::F16,
        _ => {
            let near = did_you_mean(name, ["f32", "bf16", "f16"].into_iter());
            let near = near.map_or(String::new(), |near| format!("; {near}"));
            return Err(format!("unknown type {name}: expected f32, bf16 or f16{near}"));
        }
    };
    Ok((Regex::new(expression).map_err(|e| e.to_string())?, dtype))
}

/// Parses `key=type:value`.
fn parse_entry(text: &str) -> Result<(String, Value), String> {
    let (key, rest) = text.split_once('=').ok_or("expected KEY=TYPE:VALUE")?;
    let (kind, value) = rest.split_once(':').ok_or("expected TYPE:VALUE after '='")?;
    if key.is_empty() {
        return Err("the key is empty".to_owned());
    }
    let value = match kind {
        "u8" | "u16" | "u32" | "u64" => unsigned(kind, value)?,
        "i8" | "i16" | "i32" | "i64" => signed(kind, value)?,
        "f32" => Value::F32(value.parse().map_err(|_| no(value, kind))?),
        "f64" => Value::F64(value.parse().map_err(|_| no(value, kind))?),
        "bool" => Value::Bool(value.parse().map_err(|_| no(value, kind))?),
        "str" | "string" => Value::text(value),
        _ => {
            return Err(format!(
                "unknown type {kind}: expected u8 to u64, i8 to i64, f32, f64, bool or str"
            ));
        }
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
    format!("{value} is not a valid {kind}")
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
