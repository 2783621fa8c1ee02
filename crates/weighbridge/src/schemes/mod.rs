//! Room 2: stored tensors to numbers, one folder a scheme.
//!
//! A scheme looks at all stored tensors of a model at once, with the configs beside them, and
//! *bids* for the groups it understands (`x.qweight` + `x.scales` + ..). Every stored tensor ends
//! in exactly one weight, is plain, or is dropped for a stated reason; two bids for one tensor
//! are a finding, so the order of [`SCHEMES`] cannot matter. To add a scheme: its folder, one
//! `mod` line and one line in the table.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::catalog::{Finding, Metadata, Shape, TensorInfo};
use crate::dtype::DType;
use crate::error::Result;
use crate::source::{Slab, Staged};

pub use crate::number::{Element, Out};

mod answers;
pub mod apr;
pub mod awq;
mod bids;
pub mod bnb;
mod columns;
pub mod compressed;
mod effort;
mod endings;
pub mod fp8;
pub mod ggml;
pub mod gptq;
pub mod known;
mod leftover;
mod matrix;
pub mod mlx;
pub mod mx;
pub mod nvfp4;
pub mod plain;
mod plainly;
mod refused;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unused;

pub use answers::Answer;
pub use bids::{Entry, Ledger, settle};
use effort::Effort;
use endings::Endings;

/// Every scheme that bids. `plain` is not here: it is what nobody bid for.
pub static SCHEMES: &[&dyn Scheme] = &[
    &gptq::Gptq,
    &ggml::Ggml,
    &apr::Apr,
    &known::Known,
    &fp8::Fp8,
    &awq::Awq,
    &bnb::Bnb,
    &nvfp4::Nvfp4,
    &mx::Mx,
    &mlx::Mlx,
    &compressed::Compressed,
];

/// A quantization scheme.
pub trait Scheme: Sync {
    /// Its name in reports, which is its folder's name.
    fn name(&self) -> &'static str;

    /// Bids for what it understands.
    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids);

    /// What says that weights are stored so, and is untrue once they are decoded.
    fn traces(&self) -> Traces {
        Traces { config_keys: &["quantization_config"], files: &[], metadata: &[] }
    }
}

/// Where a scheme is spoken of, beside the weights.
#[derive(Clone, Copy, Debug)]
pub struct Traces {
    /// Keys of `config.json` and its like.
    pub config_keys: &'static [&'static str],
    /// Files of a repository that speak of nothing else.
    pub files: &'static [&'static str],
    /// Keys of a safetensors file's metadata.
    pub metadata: &'static [&'static str],
}

/// The traces of the schemes of these names.
pub fn traces<'a>(names: &'a [&str]) -> impl Iterator<Item = Traces> + 'a {
    SCHEMES.iter().filter(|scheme| names.contains(&scheme.name())).map(|scheme| scheme.traces())
}

/// Which stored tensor of which source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId {
    /// Index of the source in the model.
    pub source: u32,
    /// Index of the tensor in the source's catalog.
    pub tensor: u32,
}

/// A JSON document that lies beside the weights, such as `config.json`.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its file name.
    pub name: String,
    /// Its contents.
    pub json: serde_json::Value,
}

/// All a scheme may look at: the stored tensors, the configs, the files' metadata.
pub struct Evidence<'a> {
    tensors: Vec<(TensorId, &'a TensorInfo)>,
    /// Where each source's tensors start in the list above.
    starts: Vec<usize>,
    /// Built when a scheme first asks: most files hold plain tensors only.
    by_name: OnceCell<HashMap<&'a str, usize, foldhash::fast::RandomState>>,
    endings: OnceCell<Endings<'a>>,
    configs: &'a [Config],
    metadata: Vec<&'a Metadata>,
    /// Reads the image of a stored tensor, where there is a file to read.
    read: Option<&'a dyn Fn(TensorId) -> Result<Vec<u8>>>,
    answers: answers::Answers<'a>,
    effort: Effort,
}

/// The longest tensor that is read before anything is asked for: descriptions of a scheme that
/// are stored as tensors are far shorter.
const MOST_READ: u64 = 64 << 10;

impl<'a> Evidence<'a> {
    /// Gathers the evidence of a model.
    pub fn new(
        catalogs: impl Iterator<Item = (&'a [TensorInfo], &'a Metadata)>,
        configs: &'a [Config],
    ) -> Self {
        let mut evidence = Self {
            tensors: Vec::new(),
            starts: Vec::new(),
            by_name: OnceCell::new(),
            endings: OnceCell::new(),
            configs,
            metadata: Vec::new(),
            read: None,
            answers: answers::Answers::default(),
            effort: Effort::default(),
        };
        for (source, (tensors, metadata)) in (0u32..).zip(catalogs) {
            evidence.metadata.push(metadata);
            evidence.starts.push(evidence.tensors.len());
            let numbered = (0u32..).zip(tensors);
            evidence
                .tensors
                .extend(numbered.map(|(tensor, info)| (TensorId { source, tensor }, info)));
        }
        evidence
    }

    /// Lets schemes look into small tensors, with `read`.
    #[must_use]
    pub fn reading(mut self, read: &'a dyn Fn(TensorId) -> Result<Vec<u8>>) -> Self {
        self.read = Some(read);
        self
    }

    /// Gives it the user's answers.
    #[must_use]
    pub fn answered(mut self, answers: &'a [Answer]) -> Self {
        self.answers = answers::Answers::new(answers);
        self
    }

    /// What the user says a weight is, as `scheme/variant`. To be asked only where the evidence
    /// leaves several readings open: an answer that no scheme asked for is a finding.
    #[must_use]
    pub fn asked(&self, weight: &str) -> Option<&'a str> {
        self.answers.ask(weight)
    }

    /// The bytes of a small tensor that describes others (JSON as bytes, a shape), as a row-major
    /// little-endian image; why they cannot be had, otherwise.
    pub fn bytes(&self, id: TensorId) -> Result<Vec<u8>, String> {
        let (_, info) = self.tensors[self.index(id)];
        let Some(read) = self.read else {
            return Err(format!("{} cannot be read here", info.name));
        };
        if info.bytes > MOST_READ {
            return Err(format!(
                "{} has {} bytes, at most {MOST_READ} are expected",
                info.name, info.bytes
            ));
        }
        read(id).map_err(|e| e.to_string())
    }

    /// The account of comparisons of names with what the configs list.
    pub(crate) fn effort(&self) -> &Effort {
        &self.effort
    }

    /// The quantization method that the configs name, in lower case: `gptq`, `fp8`, `modelopt`,
    /// ..; `mlx` for a config with MLX's key.
    #[must_use]
    pub fn method(&self) -> Option<String> {
        let named = |json: &serde_json::Value| {
            let method = json.get("quant_method").or_else(|| json.get("producer")?.get("name"))?;
            method.as_str().map(str::to_lowercase)
        };
        // Early compressed-tensors has a key or groups of its own and no name.
        let unnamed = |json: &serde_json::Value| match json.get("qformat_weight") {
            Some(_) => Some("fp8".to_owned()),
            None => json.get("config_groups").map(|_| "compressed-tensors".to_owned()),
        };
        let of_config = self.quantization().and_then(|(_, json)| named(json));
        // ModelOpt's own file, whether it names itself or not.
        let own = || self.config("hf_quant_config.json");
        let modelopt = || own().map(|json| named(json).unwrap_or_else(|| "modelopt".to_owned()));
        let mlx = || {
            let quantization = self.config("config.json")?.get("quantization")?;
            quantization.get("group_size").is_some().then(|| "mlx".to_owned())
        };
        let old = || {
            let config = self.config("config.json")?;
            let key = |json: &serde_json::Value| json.get("compression_config").is_some();
            let found = key(config) || config.get("text_config").is_some_and(key);
            found.then(|| "compressed-tensors".to_owned())
        };
        let by_keys = || self.quantization().and_then(|(_, json)| unnamed(json));
        let method = of_config.or_else(modelopt).or_else(mlx).or_else(old).or_else(by_keys)?;
        // Mistral's files have both spellings.
        Some(if method == "compressed_tensors" { method.replace('_', "-") } else { method })
    }

    /// Every stored tensor, in the order of the files.
    #[must_use]
    pub fn tensors(&self) -> &[(TensorId, &'a TensorInfo)] {
        &self.tensors
    }

    /// The tensor of that name, in whichever file it lies.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(TensorId, &'a TensorInfo)> {
        let by_name = self.by_name.get_or_init(|| {
            let names = self.tensors.iter().enumerate().rev();
            names.map(|(index, (_, info))| (&*info.name, index)).collect()
        });
        by_name.get(name).map(|&index| self.tensors[index])
    }

    /// The tensor whose name is `stem` with `suffix` behind it. Where no name has that suffix, this
    /// costs next to nothing.
    #[must_use]
    pub fn beside(&self, stem: &str, suffix: &str) -> Option<(TensorId, &'a TensorInfo)> {
        match self.endings().may_end_with(suffix) {
            true => self.find(&[stem, suffix].concat()),
            false => None,
        }
    }

    fn endings(&self) -> &Endings<'a> {
        let names = || self.tensors.iter().map(|(_, info)| -> &'a str { &info.name });
        self.endings.get_or_init(|| Endings::of(names()))
    }

    /// A tensor's position in [`tensors`](Self::tensors).
    pub(crate) fn index(&self, id: TensorId) -> usize {
        self.starts[id.source as usize] + id.tensor as usize
    }

    /// A config document by file name.
    #[must_use]
    pub fn config(&self, name: &str) -> Option<&'a serde_json::Value> {
        self.configs.iter().find(|config| config.name == name).map(|config| &config.json)
    }

    /// What the configs say about quantization, and the file that says it.
    #[must_use]
    pub fn quantization(&self) -> Option<(&'static str, &'a serde_json::Value)> {
        const KEYS: [&str; 2] = ["quantization_config", "compression_config"];
        let object = |json: &&serde_json::Value| json.is_object();
        let under = |json: &'a serde_json::Value, keys: &[&str]| {
            keys.iter().find_map(|key| json.get(*key).filter(object))
        };
        let config = self.config("config.json");
        let inside =
            config.and_then(|c| under(c, &KEYS).or_else(|| under(c.get("text_config")?, &KEYS)));
        // Mistral's own config, which llm-compressor extends under its own key.
        let mistral = || under(self.config("params.json")?, &[KEYS[0], "quantization"]);
        let files = ["quantize_config.json", "quant_config.json"];
        let beside = || files.into_iter().find_map(|file| Some((file, self.config(file)?)));
        let inside = inside.map(|json| ("config.json", json)).or_else(beside);
        inside.or_else(|| mistral().map(|json| ("params.json", json)))
    }

    /// The type that the config says the model was made in, where it says so.
    #[must_use]
    pub fn model_dtype(&self) -> Option<DType> {
        model_dtype(self.configs)
    }

    /// The metadata of each file.
    #[must_use]
    pub fn metadata(&self) -> &[&'a Metadata] {
        &self.metadata
    }
}

/// The type that configs say a model was made in, where they say so.
pub(crate) fn model_dtype(configs: &[Config]) -> Option<DType> {
    let under = |json: &'_ serde_json::Value| {
        let named = |key| json.get(key)?.as_str().map(str::to_owned);
        named("dtype").or_else(|| named("torch_dtype"))
    };
    let of = |file| {
        let config = &configs.iter().find(|config| config.name == file)?.json;
        under(config).or_else(|| under(config.get("text_config")?))
    };
    match of("config.json").or_else(|| of("params.json"))?.trim_start_matches("torch.") {
        "bfloat16" => Some(DType::BF16),
        "float16" | "half" => Some(DType::F16),
        "float32" | "float" => Some(DType::F32),
        _ => None,
    }
}

/// One stored tensor's part in a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it does there: `weight`, `scales`, ..
    pub role: &'static str,
    /// Which tensor.
    pub tensor: TensorId,
}

/// One logical weight: what a scheme makes of some stored tensors.
pub struct Bid {
    /// The weight's name.
    pub name: String,
    /// Its logical shape.
    pub shape: Shape,
    /// The kind within the scheme, such as `4bit-g128`.
    pub variant: Arc<str>,
    /// The type its canonical library decodes it to.
    pub native: Option<DType>,
    /// What it is made of.
    pub parts: Vec<Part>,
    /// How it is decoded; an explanation where it cannot be.
    pub recipe: Result<Arc<dyn Recipe>, Arc<str>>,
}

/// What a scheme has to say about a model.
#[derive(Default)]
pub struct Bids {
    /// Weights.
    pub weights: Vec<Bid>,
    /// Stored tensors that no weight needs, with the reason.
    pub dropped: Vec<(TensorId, String)>,
    /// What does not fit together.
    pub findings: Vec<Finding>,
}

/// How one weight becomes numbers: which bytes some rows need, and what to do with them.
pub trait Recipe: Send + Sync {
    /// The pieces of the parts that `rows` need, appended to `slabs`.
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>);

    /// Decodes `rows` into `out`, which holds exactly them. `staged[i]` holds the bytes of the
    /// `i`th slab of [`needs`](Self::needs).
    fn decode(&self, staged: &[Staged<'_>], rows: Range<u64>, out: Out<'_>) -> Result<()>;

    /// Whether rows of the weight lie across the rows that are stored, so that a few of them are
    /// fetched in as many pieces as many.
    fn is_turned(&self) -> bool {
        false
    }

    /// The same for any stretch of elements, where that costs no more than the stretch: rows may
    /// be larger than memory.
    fn elements(&self) -> Option<&dyn Elements> {
        None
    }
}

/// A [`Recipe`] that does not need whole rows. Elements are counted through the whole weight, the
/// innermost dimension first.
pub trait Elements: Send + Sync {
    /// The pieces of the parts that `elements` need, appended to `slabs`.
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>);

    /// Decodes `elements` into `out`, which holds exactly them. `staged[i]` holds the bytes of the
    /// `i`th slab of [`needs`](Self::needs).
    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()>;

    /// How many elements are best decoded at a time, counted from the first of the weight on; at
    /// most `most`.
    fn panel(&self, most: u64) -> u64 {
        most
    }
}

/// [`Elements`] that are all there is to a [`Recipe`]: rows are stretches of so many elements.
pub trait ByElements: Elements {
    /// Elements of one row of the outermost dimension.
    fn row_elements(&self) -> u64;
}

impl<T: ByElements> Recipe for T {
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        Elements::needs(self, elements_of(&rows, self.row_elements()), slabs);
    }

    fn decode(&self, staged: &[Staged<'_>], rows: Range<u64>, out: Out<'_>) -> Result<()> {
        Elements::decode(self, staged, elements_of(&rows, self.row_elements()), out)
    }

    fn elements(&self) -> Option<&dyn Elements> {
        Some(self)
    }
}

/// The elements of some rows.
fn elements_of(rows: &Range<u64>, columns: u64) -> Range<u64> {
    rows.start.saturating_mul(columns)..rows.end.saturating_mul(columns)
}
