//! All that is known about a class of projectors, in one place.

pub(super) use super::blocks::*;
pub(super) use super::facts::Facts;
use super::facts::Repository;
use super::keys::entries;
pub(super) use super::keys::{KeyRow, Type::*, Where::*};
pub(super) use super::rows::{How, How::*, Part, Row};
use crate::catalog::Value;
pub(super) use crate::error::Result;
use crate::families::About;

/// The encoders of images or sound that some models have, with what makes their output fit the language
/// model. llama.cpp keeps both in a file of their own, whose architecture is `clip`.
pub struct Projector {
    /// What remarks call it.
    pub(crate) shown: &'static str,
    /// What configs call its model under `architectures`, or its encoder in the encoder's own config.
    pub(crate) classes: &'static [&'static str],
    /// What transformers fills in where a config is silent, as a config: only what is read.
    pub(crate) defaults: &'static str,
    /// Where the config has that of the vision encoder, as a JSON pointer; empty if there is none.
    pub(crate) vision: &'static str,
    /// Where it has that of the audio encoder.
    pub(crate) audio: &'static str,
    /// Folders of the repository whose weights belong to it, too. Their names begin with the folder's and a slash.
    pub(crate) beside: &'static [&'static str],
    /// Computes settings that entries or rows ask for, and refuses what is not understood.
    pub(crate) settle: fn(&mut Facts<'_>) -> Result<()>,

    /// How names of its weights begin, and what rows have in place of that. The first that fits counts.
    pub(crate) starts: &'static [(&'static str, &'static str)],
    /// How names of weights begin that the converter leaves out, with `#` for numbers, and what they are.
    pub(crate) left_out: &'static [(&'static str, &'static str)],
    /// Why a weight, by the name that rows have for it, is left out where that follows from the config.
    pub(crate) leaves_out: fn(&Facts<'_>, &str) -> Option<&'static str>,
    /// Changes a name before rows are asked: where numbers follow from the config.
    pub(crate) rename: fn(&Facts<'_>, &str) -> Result<Option<String>>,
    /// Its modules.
    pub(crate) rows: &'static [&'static [Row]],
    /// The ends of names behind those of modules.
    pub(crate) ends: &'static [&'static str],
    /// Tensors of a type that does not follow from that of the file, with `#` for numbers, `*` for any end.
    pub(crate) forced: &'static [(&'static str, Forced)],
    /// Tensors that follow from the config. They come first.
    pub(crate) computed: fn(&Facts<'_>) -> Result<Vec<Computed>>,

    /// The entries, in the converter's order. One that is set again keeps its place.
    pub(crate) keys: &'static [&'static [KeyRow]],
    /// Tensors that a file has to have; those of sound, if its model has an encoder of sound.
    pub(crate) needs: &'static [&'static str],
    /// Whether its layers are as wide as the entries say.
    pub(crate) has_width: bool,
    /// Whether there are as many layers as the entries say, all alike.
    pub(crate) layers: Layers,
    /// Settings that llama.cpp takes for granted.
    pub(crate) assumes: &'static [Assumption],
}

/// A vision encoder of its own config. A class says what differs.
pub(crate) const PROJECTOR: Projector = Projector {
    shown: "",
    classes: &[],
    defaults: "{}",
    vision: "/vision_config",
    audio: "",
    beside: &[],
    settle: |_| Ok(()),
    starts: &[],
    left_out: &[],
    leaves_out: |_, _| None,
    rename: |_, _| Ok(None),
    rows: &[],
    ends: &["weight", "bias"],
    forced: &[],
    computed: |_| Ok(Vec::new()),
    keys: &[VISION],
    needs: &[],
    has_width: false,
    layers: Layers::Alike,
    assumes: &[],
};

/// A type that a tensor has whatever the others have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forced {
    /// F32.
    Single,
    /// F16.
    Half,
    /// F16 in a file of F16, else F32.
    HalfOrSingle,
}

/// What is asked of the layers of its encoders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layers {
    /// There are as many as the entries say, with the same tensors each.
    Alike,
    /// There are as many as the entries say.
    Counted,
    /// There are as many as the entries say or more, with the same tensors each.
    AtLeast,
    /// Nothing.
    Any,
}

/// A tensor that follows from the config.
pub(crate) struct Computed {
    pub(crate) name: &'static str,
    pub(crate) shape: Vec<u64>,
    pub(crate) numbers: Vec<f32>,
}

/// What llama.cpp takes for granted: a setting (`vision.hidden_act`), the values it may have, what llama.cpp does.
pub(crate) type Assumption = (&'static str, &'static [&'static str], &'static str);

impl Projector {
    /// What a repository whose projector is of this class says.
    pub fn facts<'a>(&self, from: &'a Repository<'a>) -> Result<Facts<'a>> {
        let mut facts = Facts::of(from, self.defaults, [self.vision, self.audio]);
        (self.settle)(&mut facts)?;
        Ok(facts)
    }

    /// Folders of the repository whose weights belong to it, too.
    #[must_use]
    pub fn beside(&self) -> &'static [&'static str] {
        self.beside
    }

    /// Its entries, in the converter's order.
    pub fn entries(&self, facts: &Facts<'_>, about: &About<'_>) -> Result<Vec<(String, Value)>> {
        entries(self.keys, facts, about)
    }

    /// What remarks call it.
    #[must_use]
    pub fn shown(&self) -> &'static str {
        self.shown
    }
}
