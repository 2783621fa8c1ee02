//! What the file of a class has to have, and in which sizes.

use super::projector::Projector;
use super::translate::Tensor;
use crate::catalog::Value;
use crate::error::{Error, Result};

impl Projector {
    /// An error where no weight becomes a tensor that llama.cpp does not do without.
    pub(super) fn check_parts(
        &self,
        tensors: &[Tensor],
        entries: &[(String, Value)],
    ) -> Result<()> {
        let hears = entries.iter().any(|(key, _)| key == "clip.has_audio_encoder");
        let is_asked =
            |name: &&&str| hears || !(name.starts_with("a.") || name.starts_with("mm.a."));
        let is_there = |name: &str| tensors.iter().any(|tensor| tensor.name == name);
        match self.needs.iter().filter(is_asked).find(|name| !is_there(name)) {
            None => Ok(()),
            Some(name) => Err(Error::malformed(format!(
                "no weight becomes `{name}`, which a {} projector has to have; a shard may be missing",
                self.shown
            ))),
        }
    }
}

/// An error where layers have another width than the entries state.
pub(super) fn check_widths(tensors: &[Tensor], entries: &[(String, Value)]) -> Result<()> {
    const WIDTHS: [(&str, &str); 2] = [
        ("v.blk.0.ln1.weight", "clip.vision.embedding_length"),
        ("a.blk.0.ln1.weight", "clip.audio.embedding_length"),
    ];
    for (name, key) in WIDTHS {
        let stated = entries.iter().find(|(own, _)| own == key);
        let stated = stated.and_then(|(_, value)| value.as_u64());
        let tensor = tensors.iter().find(|tensor| tensor.name == name);
        let (Some(stated), Some(tensor)) = (stated, tensor) else { continue };
        if tensor.shape.last() != Some(&stated) {
            let own = tensor.shape.last().copied().unwrap_or_default();
            let message = format!("the config states a width of {stated}, but layers have {own}");
            return Err(Error::malformed(message).in_tensor(name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::projector::PROJECTOR;
    use super::super::translate::MadeOf;
    use super::*;

    fn tensor(name: &str, shape: &[u64]) -> Tensor {
        let made_of = MadeOf::Numbers(Vec::new());
        Tensor { name: name.to_owned(), shape: shape.into(), made_of }
    }

    #[test]
    fn parts_are_asked_for() {
        let projector = Projector { needs: &["mm.0.weight", "mm.a.fc.weight"], ..PROJECTOR };
        let hears = ("clip.has_audio_encoder".to_owned(), Value::Bool(true));
        let images = [tensor("mm.0.weight", &[1])];
        assert!(projector.check_parts(&images, &[]).is_ok());
        let error = projector.check_parts(&images, &[hears]).unwrap_err().to_string();
        assert!(error.contains("`mm.a.fc.weight`"), "{error}");
        let error = projector.check_parts(&[], &[]).unwrap_err().to_string();
        assert!(error.contains("`mm.0.weight`"), "{error}");
    }

    #[test]
    fn widths_are_those_of_the_config() {
        let width = |width| ("clip.vision.embedding_length".to_owned(), Value::Unsigned(32, width));
        let norms = [tensor("v.blk.0.ln1.weight", &[16])];
        assert!(check_widths(&norms, &[width(16)]).is_ok());
        let error = check_widths(&norms, &[width(32)]).unwrap_err().to_string();
        assert!(error.contains("a width of 32, but layers have 16"), "{error}");
    }
}
