//! The files that the jobs read, made here at full speed before anything is counted.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use weighbridge::internals::blocks::Block;
use weighbridge::ops::{ConvertOptions, OutputType, convert};
use weighbridge::{DType, Model};

use crate::random_blocks::{BlockFile, Random, Scales};
use crate::tables::scheme_decode::cases::CASES;
use crate::tables::scheme_decode::checkpoint::Checkpoint;
use crate::tables::scheme_decode::stored::{Fill, stored};
use crate::{fixtures, pth_file};

/// The schemes whose decoding is counted, by their names in the table `scheme-decode`.
pub const SCHEMES: [&str; 11] = [
    "fp8-block",
    "fp8-channel",
    "bnb-nf4",
    "bnb-int8",
    "nvfp4-modelopt",
    "mxfp4-gpt-oss",
    "mlx-4bit",
    "compressed-int4",
    "gptq-4bit",
    "gptq-desc-act",
    "awq",
];

/// What is opened and inspected, each in a folder of its own, since opening also looks at the files
/// beside it.
pub const CONTAINERS: [&str; 7] = [
    "model.safetensors",
    "vocabulary.gguf",
    "model.npz",
    "array.npy",
    "model.pth",
    "model.apr",
    "sharded",
];

/// A plain model, the same as bf16, and blocks.
pub const PLAIN: &str = "plain-f32.safetensors";
pub const ROUNDED: &str = "plain-bf16.safetensors";
pub const BLOCKS: &str = "blocks-q4_k.gguf";

const TENSORS: u64 = 300;
const SEED: u64 = 20_261_116;

/// The folder of files; it is removed when this is dropped.
pub struct Inputs {
    folder: PathBuf,
    /// Kept alive: a checkpoint removes its files when it is dropped.
    _checkpoints: Vec<Checkpoint>,
}

impl Inputs {
    /// Makes all of them.
    pub fn make(folder: &Path) -> Result<Self, String> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let cases = CASES.iter().filter(|case| SCHEMES.contains(&case.name));
        let checkpoints = cases.map(|case| Checkpoint::new(folder, case)).collect();
        let inputs = Self { folder: folder.to_owned(), _checkpoints: checkpoints };
        inputs.containers().map_err(|error| format!("an input cannot be written: {error}"))?;
        inputs.models().map_err(|error| format!("an input cannot be written: {error}"))?;
        Ok(inputs)
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn containers(&self) -> std::io::Result<()> {
        for name in CONTAINERS {
            fs::create_dir_all(self.folder.join(name))?;
        }
        let [safetensors, gguf, npz, npy, pth, apr, sharded] =
            CONTAINERS.map(|name| container(&self.folder, name));
        fixtures::safetensors(&safetensors, TENSORS, 1024)?;
        fixtures::gguf(&gguf, 10_000, TENSORS, 1024)?;
        fixtures::npy(&npy, 1 << 20)?;
        pth_file::write(&pth, TENSORS, 1024, |i| format!("layers.{i}.weight"))?;
        fixtures::apr(&apr, TENSORS, 1024)?;
        let model = Model::open(&safetensors).map_err(std::io::Error::other)?;
        rewrite(&model, ConvertOptions::new(npz))?;
        rewrite(&model, ConvertOptions::new(sharded).max_shard_size(100_000))
    }

    fn models(&self) -> std::io::Result<()> {
        let tensors: Vec<_> =
            (0..4).map(|i| (format!("layers.{i}.weight"), DType::F32, vec![256, 1024])).collect();
        let layout = fixtures::safetensors_layout(&tensors, "pt")?;
        let mut bytes = layout.fixed[0].bytes.clone();
        let header = bytes.len();
        bytes.resize(layout.len as usize, 0);
        stored("", DType::F32, &[], Fill::Biases).fill(&mut bytes[header..], &mut Random(SEED));
        let plain = self.folder.join(PLAIN);
        fs::write(&plain, bytes)?;
        let model = Model::open(&plain).map_err(std::io::Error::other)?;
        let rounded = ConvertOptions::new(self.folder.join(ROUNDED)).dtype(OutputType::Bf16);
        rewrite(&model, rounded)?;
        let block = Block::from_name("Q4_K").expect("it is a type");
        let blocks = BlockFile::new(block, 256, 4096, Scales::Sane, SEED);
        fs::write(self.folder.join(BLOCKS), &blocks.bytes)
    }
}

/// Where a container is.
pub fn container(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).join(name)
}

fn rewrite(model: &Model, options: ConvertOptions) -> std::io::Result<()> {
    convert(model, &options.threads(NonZeroUsize::MIN)).map(drop).map_err(std::io::Error::other)
}

impl Drop for Inputs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
