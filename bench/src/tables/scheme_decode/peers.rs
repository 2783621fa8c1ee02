//! The other tools: anamnesis as child programs.

use std::cell::RefCell;
use std::path::Path;
use std::process::{Command, Stdio};

use weighbridge::bf16;

use super::cases::Case;
use super::checkpoint::Checkpoint;
use super::targets::COLUMNS_CLASS;
use crate::Setting;
use crate::anamnesis::{Builds, KEEP_PAGES};
use crate::buffer::Buffer;
use crate::child::{self, worker};
use crate::harness::{Rounds, Row, contest};

/// anamnesis' native build and warm memory, with the transposition that its function leaves out.
pub const WHOLE: &str = "anamnesis, native, warm, [out, in]";

/// What is said of a result that equals ours bit for bit.
pub const SAME: &str = "the same";

/// The tools that were found.
#[derive(Default)]
pub struct Peers {
    anamnesis: Option<Builds>,
}

impl Peers {
    /// No peers.
    pub fn none() -> Self {
        Self::default()
    }

    /// Looks for every tool; the notes say which are missing and how to get them.
    pub fn find(setting: &Setting, notes: &mut Vec<String>) -> Self {
        Self { anamnesis: Builds::make(setting, notes) }
    }

    /// Ours and anamnesis, to bf16.
    pub fn contest(
        &self,
        case: &Case,
        checkpoint: &Checkpoint,
        buffer: &RefCell<Buffer>,
    ) -> Vec<Row> {
        let mut all = vec![checkpoint.subject().ours::<bf16>("bf16", buffer)];
        let file = checkpoint.file();
        if let Some(builds) = &self.anamnesis {
            all.extend(builds.contestants(&[&file.to_string_lossy(), case.kind]));
            if case.class.is(&COLUMNS_CLASS) {
                let mut command = Command::new(&builds.native);
                command.arg(&file).arg("whole").envs(KEEP_PAGES);
                all.extend(worker(WHOLE, &mut command, 1.0));
            }
        }
        if all.len() < 2 { vec![] } else { contest(all, Rounds { warm_up: 1, timed: 5 }) }
    }

    /// Whether anamnesis, given the file, decodes it to the same bf16 as ours.
    pub fn check(&self, checkpoint: &Checkpoint, buffer: &RefCell<Buffer>) -> Option<String> {
        let builds = self.anamnesis.as_ref()?;
        let out = checkpoint.file().with_extension("out");
        let mut command = Command::new(&builds.default);
        command.arg(checkpoint.file()).arg("write").arg(&out);
        let said = child::run(command.stderr(Stdio::null())).map_or(String::new(), |c| c.output);
        let told = match out.exists() {
            true => compare(&out, checkpoint, &mut buffer.borrow_mut()),
            false => format!("it is refused: {}", said.trim()),
        };
        let _ = std::fs::remove_file(&out);
        Some(told)
    }
}

/// How many elements have different bits.
pub fn differing(count: usize, of: usize) -> String {
    format!("{count} of {of} elements differ")
}

/// What differs in a file that anamnesis wrote.
fn compare(theirs: &Path, checkpoint: &Checkpoint, buffer: &mut Buffer) -> String {
    let weight = checkpoint.subject().weight;
    let bytes = std::fs::read(theirs).expect("it was just written");
    let file = safetensors::SafeTensors::deserialize(&bytes).expect("anamnesis writes safetensors");
    let Ok(tensor) = file.tensor(weight.name()) else {
        let mut names = file.names();
        names.sort_unstable();
        let names = names.join(", ");
        return format!("what is stored is copied as if it were weights: {names}");
    };
    if tensor.dtype() != safetensors::Dtype::BF16 || tensor.data().len() != weight.len() * 2 {
        let (dtype, shape) = (tensor.dtype(), tensor.shape());
        return format!("the weight is said to be {dtype:?} {shape:?}");
    }
    let ours = buffer.view::<bf16>(weight.len());
    weight.decode_into(ours).expect("it decodes");
    let pairs = || {
        let theirs = tensor.data().as_chunks::<2>().0.iter().map(|pair| bf16::from_le_bytes(*pair));
        ours.iter().copied().zip(theirs).filter(|(a, b)| a.to_bits() != b.to_bits())
    };
    let zeros = pairs().filter(|(a, b)| a.to_f32() == 0.0 && b.to_f32() == 0.0).count();
    match (pairs().count(), zeros) {
        (0, _) => SAME.to_owned(),
        (all, 0) => differing(all, ours.len()),
        (all, zeros) => {
            format!("{}, {zeros} of them in the sign of zero", differing(all, ours.len()))
        }
    }
}
