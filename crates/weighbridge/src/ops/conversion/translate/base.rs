//! The repository that a GGUF model was made from: what the model's own file does not tell.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use super::siblings::{config_name, read};
use crate::catalog::Value;
use crate::config::{self, Change, HUGGING_FACE};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::input::{EntryKind, FileAccess, Folder, LocalFolder};
use crate::names::keys::{self, back};
use crate::names::{is_tied, keys::back::Told};
use crate::pipeline::{Contents, ExtraFile};
use crate::schemes;
use crate::tokenizer;

/// What is taken along, beside the config.
const FILES: &[&str] = &[
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "spiece.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tekken.json",
    "chat_template.jinja",
    "chat_template.json",
    "modules.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
];

/// A repository.
pub(super) struct Base {
    folder: Arc<dyn Folder>,
    path: PathBuf,
}

impl Base {
    pub(super) fn at(path: &Path) -> Self {
        let folder = Arc::new(LocalFolder::new("", FileAccess::Read));
        Self { folder, path: path.to_owned() }
    }

    /// Its config, with the type of the new weights, and its tokenizer. Nothing is left to tell.
    pub(super) fn files(
        &self,
        told: &Told<'_>,
        dtype: DType,
        pre: Option<&str>,
    ) -> Result<Vec<ExtraFile>> {
        let config = self.path.join(HUGGING_FACE);
        let failed = |error: Error| error.in_file(&config);
        let missing = || failed(Error::usage("not found"));
        let text = read(&*self.folder, &self.path, HUGGING_FACE)?.ok_or_else(missing)?;
        let json = config::parse(&text).map_err(failed)?;
        let flags = self.check(&json, told).map_err(failed)?;
        self.check_tokenizer(&json, told, pre).map_err(|error| error.in_file(&self.path))?;
        let added: Vec<(&str, &Json)> = flags.iter().map(|(key, flag)| (&**key, flag)).collect();
        let change = Change {
            removed: schemes::SHARED.config_keys,
            dtype: Some(config_name(dtype)),
            added: &added,
        };
        let changed = config::change(&text, &change).map_err(failed)?;
        let mut files = vec![ExtraFile::made(HUGGING_FACE, changed.map_or(text, |of| of.text))];
        for name in FILES {
            let path = self.path.join(name);
            if matches!(self.folder.kind(&path), Ok(EntryKind::File(_))) {
                let contents = Contents::Of(self.folder.clone(), path);
                files.push(ExtraFile { name: name.into(), contents });
            }
        }
        Ok(files)
    }

    /// An error if the config is that of another model; otherwise what it leaves to its class, and
    /// the file tells.
    fn check(&self, json: &Json, told: &Told<'_>) -> Result<Vec<(String, Json)>> {
        if json.get("text_config").is_some() {
            let message = "it describes a multimodal model, but the GGUF file holds only the \
                           language model";
            return Err(Error::unsupported(message));
        }
        back::check(json, told, false)?;
        let is_stated = json["tie_word_embeddings"].as_bool();
        let is_tied = is_stated.unwrap_or_else(|| is_tied(&told.architecture()));
        if !is_tied && !told.has("output.weight") {
            let message = "it sets tie_word_embeddings to false, but the GGUF file has no separate \
                           output head";
            return Err(Error::malformed(message));
        }
        let mut unsaid = Vec::new();
        for (key, flag) in back::flags(told)? {
            match json.get(&key).and_then(Json::as_bool) {
                Some(stated) if stated != flag => {
                    let message = format!(
                        "it says {key} {stated}, but the tensors of the GGUF file say {flag}"
                    );
                    return Err(Error::malformed(message));
                }
                Some(_) => {}
                None => unsaid.push((key, flag.into())),
            }
        }
        Ok(unsaid)
    }

    /// An error if its tokenizer has other tokens.
    fn check_tokenizer(&self, json: &Json, told: &Told<'_>, pre: Option<&str>) -> Result<()> {
        let Some(kind) = keys::tokenizer(json) else { return Ok(()) };
        let repository = tokenizer::Repository {
            files: &|name| read(&*self.folder, &self.path, name),
            // Only tokens are looked at: further chat templates do not matter.
            names: &|_| Vec::new(),
            config: json,
            vocabulary: keys::vocabulary(json).unwrap_or(0),
        };
        let mut made = tokenizer::entries(&repository, kind, pre)?;
        let own = told.value(tokenizer::TOKENS);
        let Some(own) = own.as_ref().and_then(Value::as_list) else { return Ok(()) };
        // A file has a token for each row of the embedding, if nobody else has one.
        tokenizer::fill_up(&mut made, own.len() as u64);
        let made = made.iter().find(|(key, _)| key == tokenizer::TOKENS);
        let Some(made) = made.and_then(|(_, value)| value.as_list()) else { return Ok(()) };
        if made.len() != own.len() {
            let message =
                format!("its tokenizer has {} tokens, the GGUF file has {}", made.len(), own.len());
            return Err(Error::malformed(message));
        }
        match made.iter().zip(own.iter()).position(|(a, b)| a != b) {
            None => Ok(()),
            Some(at) => {
                let message = format!("token {at} of its tokenizer differs from the GGUF file");
                Err(Error::malformed(message))
            }
        }
    }
}
