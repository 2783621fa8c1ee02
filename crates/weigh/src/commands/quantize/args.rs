//! The arguments for quantizing a model.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use regex::{Regex, RegexBuilder};
use weighbridge::ops::{QuantizeOptions, quantizers};

use crate::args::quantize_example;
use crate::commands::convert::Convert;
use crate::size::parse_size;

/// The types, as the library lists them.
fn types() -> String {
    let all: Vec<String> =
        quantizers().map(|(name, about)| format!("  {name:<16} {about}")).collect();
    format!("What weights become, in any letter case:\n{}", all.join("\n"))
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
        help = format!("What weights become, like {} (--help lists all)", QuantizeOptions::USUAL),
        long_help = types()
    )]
    pub(crate) to_type: Option<String>,

    #[command(flatten)]
    pub(crate) how: How,

    #[command(flatten)]
    pub(crate) convert: Convert,
}

// How a model is quantized, besides the type. No doc comment: clap would take it for the help of the
// whole command.
#[derive(ClapArgs)]
pub(crate) struct How {
    /// An importance matrix, as llama-imatrix writes it
    #[arg(long, value_name = "FILE", help_heading = "Quantizing")]
    imatrix: Option<PathBuf>,

    /// One type for every weight that is quantized, instead of a mixture
    #[arg(long, help_heading = "Quantizing")]
    pure: bool,

    /// A type for weights whose name in the output matches; may be repeated, the first match counts
    #[arg(long, value_name = "RE=TYPE", value_parser = parse_type, help_heading = "Quantizing")]
    tensor_type: Vec<(Regex, String)>,

    /// The type of the output matrix
    #[arg(long, value_name = "TYPE", help_heading = "Quantizing")]
    output_tensor_type: Option<String>,

    /// The type of the token embedding
    #[arg(long, value_name = "TYPE", help_heading = "Quantizing")]
    token_embedding_type: Option<String>,

    /// Leave weights as they are whose name in the output matches; may be repeated
    #[arg(long, value_name = "RE", help_heading = "Quantizing")]
    keep: Vec<Regex>,

    /// Another layout of the type, for another loader: what stands behind it in the list of types
    #[arg(long, value_name = "NAME", help_heading = "Quantizing")]
    layout: Option<String>,

    /// Columns that share a scale, where the type leaves that open
    #[arg(long, value_name = "N", help_heading = "Quantizing")]
    group_size: Option<u64>,

    /// How long to search for the best scales
    #[arg(long, value_enum, default_value_t = Effort::Usual, value_name = "EFFORT", help_heading = "Quantizing")]
    effort: Effort,

    /// Choose a type for every weight by its error, for at most so many bits a weight
    #[arg(long, value_name = "BITS", conflicts_with = "target_size", help_heading = "Quantizing")]
    target_bpw: Option<f64>,

    /// The same for at most so many bytes in all files of weights, like 4.5GB
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Quantizing")]
    target_size: Option<u64>,

    /// Quantize weights again that are stored in fewer than eight bits already
    #[arg(long, help_heading = "Quantizing")]
    allow_requantize: bool,

    /// Store NaN and infinite numbers as the reference would, instead of refusing them
    #[arg(long, help_heading = "Quantizing")]
    allow_nonfinite: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Effort {
    /// As the type's own library
    Usual,
    /// As if all columns were equally important, where no importance matrix says otherwise
    High,
}

impl How {
    /// Whether a size decides about types.
    pub(crate) fn is_for_a_size(&self) -> bool {
        self.target_bpw.is_some() || self.target_size.is_some()
    }

    /// The options as the library takes them.
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

/// `RE=TYPE`, split at the last `=`: an expression may hold one. llama-quantize does not care about
/// letter case either.
fn parse_type(text: &str) -> Result<(Regex, String), String> {
    let (rule, name) = text.rsplit_once('=').ok_or("expected RE=TYPE")?;
    let rule = RegexBuilder::new(rule).case_insensitive(true).build();
    Ok((rule.map_err(|error| error.to_string())?, name.to_owned()))
}
