//! The arguments of `quantize`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use regex::{Regex, RegexBuilder};
use weighbridge::ops::{QuantizeOptions, quantizers};

use crate::args::quantize_example;
use crate::commands::convert::Convert;
use crate::size::parse_size;

/// The long help of `--type`: all types of the library.
fn types() -> String {
    let all: Vec<String> =
        quantizers().map(|(name, about)| format!("  {name:<16} {about}")).collect();
    format!("The quantization type, in any letter case:\n{}", all.join("\n"))
}

#[derive(ClapArgs)]
#[command(
    after_help = quantize_example(),
    mut_arg("dtype", |arg| arg.hide(true)),
    mut_arg("cast", |arg| arg.hide(true)),
)]
pub(crate) struct Quantize {
    #[arg(
        long = "type",
        value_name = "TYPE",
        required_unless_present_any = ["target_bpw", "target_size"],
        help = format!("Quantization type, e.g. {} (--help lists all)", QuantizeOptions::USUAL),
        long_help = types()
    )]
    pub(crate) to_type: Option<String>,

    #[command(flatten)]
    pub(crate) how: How,

    #[command(flatten)]
    pub(crate) convert: Convert,
}

// Quantization options other than the type. No doc comment: clap would take it for the help of the
// whole command.
#[derive(ClapArgs)]
pub(crate) struct How {
    /// Importance matrix written by llama-imatrix
    #[arg(long, value_name = "FILE", help_heading = "Quantizing")]
    imatrix: Option<PathBuf>,

    /// Use one type for all quantized weights instead of a mixture
    #[arg(long, help_heading = "Quantizing")]
    pub(super) pure: bool,

    /// Set the type of weights whose output name matches RE
    ///
    /// Can be repeated; the first match wins. Letter case is ignored.
    #[arg(long, value_name = "RE=TYPE", value_parser = parse_type, help_heading = "Quantizing")]
    pub(super) tensor_type: Vec<(Regex, String)>,

    /// Type of the output matrix
    #[arg(long, value_name = "TYPE", help_heading = "Quantizing")]
    pub(super) output_tensor_type: Option<String>,

    /// Type of the token embedding
    #[arg(long, value_name = "TYPE", help_heading = "Quantizing")]
    pub(super) token_embedding_type: Option<String>,

    /// Do not quantize weights whose output name matches RE; can be repeated
    #[arg(long, value_name = "RE", help_heading = "Quantizing")]
    pub(super) keep: Vec<Regex>,

    /// Layout of the type for another loader; the list of types names the choices
    #[arg(long, value_name = "NAME", help_heading = "Quantizing")]
    layout: Option<String>,

    /// Columns per scale, for types with a variable group size
    #[arg(long, value_name = "N", help_heading = "Quantizing")]
    group_size: Option<u64>,

    /// Effort spent searching for the best scales
    #[arg(long, value_enum, default_value_t = Effort::Usual, value_name = "EFFORT", help_heading = "Quantizing")]
    effort: Effort,

    /// Choose a type for each weight, up to BITS bits per weight on average
    ///
    /// Types are chosen by their error.
    #[arg(long, value_name = "BITS", conflicts_with = "target_size", help_heading = "Quantizing")]
    target_bpw: Option<f64>,

    /// Choose a type for each weight, up to SIZE for all weight files
    ///
    /// Types are chosen by their error. SIZE must be a whole number, e.g. 4500MB.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Quantizing")]
    target_size: Option<u64>,

    /// Requantize weights that are already stored in fewer than 8 bits
    #[arg(long, help_heading = "Quantizing")]
    allow_requantize: bool,

    /// Store NaN and infinite values as the reference does, instead of rejecting them
    ///
    /// Includes finite values that overflow in the type.
    #[arg(long, help_heading = "Quantizing")]
    allow_nonfinite: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Effort {
    /// Like the type's own library
    Usual,
    /// Search as with an importance matrix, weighting all columns equally if there is none
    High,
}

impl How {
    /// Whether a target size chooses the types.
    pub(crate) fn is_for_a_size(&self) -> bool {
        self.target_bpw.is_some() || self.target_size.is_some()
    }

    /// Converts to library options.
    pub(crate) fn options(&self, to_type: Option<&str>) -> QuantizeOptions {
        let mut options = QuantizeOptions::new(to_type.unwrap_or(QuantizeOptions::USUAL))
            .pure(self.pure)
            .thorough(self.effort == Effort::High)
            .allow_requantize(self.allow_requantize)
            .allow_non_finite(self.allow_nonfinite);
        if let Some(file) = &self.imatrix {
            options = options.importance(file);
        }
        for (matches, name) in self.tensor_type.clone() {
            options = options.tensor_type(move |weight| matches.is_match(weight), name);
        }
        for matches in self.keep.clone() {
            options = options.keep(move |weight| matches.is_match(weight));
        }
        if let Some(name) = &self.output_tensor_type {
            options = options.output_type(name);
        }
        if let Some(name) = &self.token_embedding_type {
            options = options.embedding_type(name);
        }
        if let Some(name) = &self.layout {
            options = options.layout(name);
        }
        if let Some(bits) = self.target_bpw {
            options = options.target_bits(bits);
        }
        if let Some(bytes) = self.target_size {
            options = options.target_size(bytes);
        }
        if let Some(columns) = self.group_size {
            options = options.group_size(columns);
        }
        options
    }
}

/// Parses `RE=TYPE`. It is split at the last `=`, because an expression may contain one. Case is
/// ignored, as in llama-quantize.
fn parse_type(text: &str) -> Result<(Regex, String), String> {
    let (rule, name) = text.rsplit_once('=').ok_or("expected RE=TYPE")?;
    let rule = RegexBuilder::new(rule).case_insensitive(true).build();
    Ok((rule.map_err(|error| error.to_string())?, name.to_owned()))
}
