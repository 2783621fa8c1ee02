//! A case as a checkpoint on disk, opened through the public interface.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use weighbridge::Model;

use super::cases::Case;
use crate::decoding::{COLUMNS, ROWS, Subject};
use crate::random_blocks::Random;

const SEED: u64 = 20_260_808;

/// A folder with one quantized weight; it is removed when this is dropped.
pub struct Checkpoint {
    folder: PathBuf,
    model: Model,
}

impl Checkpoint {
    /// Writes a case and opens it. Ends the program if it is not recognised as it must be.
    pub fn new(data: &Path, case: &Case) -> Self {
        let folder = data.join(format!("scheme-{}", case.name));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the folder can be made");
        write(&folder, case).expect("the input can be written");
        let model = Model::open(&folder).unwrap_or_else(|error| stop(&folder, case, &error));
        let checkpoint = Self { folder, model };
        if let Err(wrong) = checkpoint.check(case) {
            stop(&checkpoint.folder, case, &wrong);
        }
        checkpoint
    }

    /// Where its tensors are.
    pub fn file(&self) -> PathBuf {
        self.folder.join("model.safetensors")
    }

    /// The weight, and its parts in memory.
    pub fn subject(&self) -> Subject<'_> {
        let weight = self.model.weights().next().expect("it was checked");
        let source = &self.model.sources()[0];
        let stored = source.catalog().tensors.iter();
        let parts = stored
            .filter(|info| weight.parts().any(|(_, _, part)| part.name == info.name))
            .filter_map(|info| source.lent_bytes(info))
            .collect();
        Subject { weight, parts }
    }

    fn check(&self, case: &Case) -> Result<(), String> {
        if let Some(finding) = self.model.findings().first() {
            return Err(finding.message.clone());
        }
        let weights: Vec<_> = self.model.weights().collect();
        let [weight] = &weights[..] else {
            return Err(format!("it holds {} weights, expected one", weights.len()));
        };
        let kind = format!("{}/{}", weight.scheme(), weight.variant());
        if kind != case.kind {
            return Err(format!("it is recognised as {kind}, expected {}", case.kind));
        }
        if let Some(reason) = weight.undecodable() {
            return Err(reason);
        }
        let elements = weight.elements();
        if elements != ROWS * COLUMNS {
            return Err(format!("it has {elements} elements"));
        }
        let (parts, lent) = (weight.parts().count(), self.subject().parts.len());
        if parts == lent { Ok(()) } else { Err(format!("{lent} of {parts} parts are in memory")) }
    }
}

impl Drop for Checkpoint {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn stop(folder: &Path, case: &Case, reason: &dyn std::fmt::Display) -> ! {
    let _ = fs::remove_dir_all(folder);
    eprintln!("{}: {reason}", case.name);
    std::process::exit(1);
}

fn write(folder: &Path, case: &Case) -> std::io::Result<()> {
    for (name, json) in (case.config)() {
        fs::write(folder.join(name), json.to_string())?;
    }
    let tensors = (case.tensors)();
    let planned: Vec<_> = tensors
        .iter()
        .map(|tensor| (tensor.name.clone(), tensor.dtype, tensor.shape.to_vec()))
        .collect();
    let format = if case.kind.starts_with("mlx/") { "mlx" } else { "pt" };
    let layout = crate::fixtures::safetensors_layout(&planned, format)?;
    let mut bytes = vec![0; layout.len as usize];
    let header = &layout.fixed[0].bytes;
    bytes[..header.len()].copy_from_slice(header);
    let mut random = Random(SEED);
    for (tensor, at) in tensors.iter().zip(&layout.places) {
        let len = tensor.dtype.bytes_for(tensor.shape.iter().product()).unwrap_or(0);
        tensor.fill(&mut bytes[*at as usize..][..len as usize], &mut random);
    }
    let mut out = BufWriter::new(File::create(folder.join("model.safetensors"))?);
    out.write_all(&bytes)?;
    // Sync now, so that the disk is quiet while the clock runs.
    out.into_inner()?.sync_all()
}
