//! Vocabularies that llama.cpp's converter knows, by what they make of a fixed text.

use sha2::{Digest, Sha256};

/// A hash of ids, and the name that belongs to it; of two names for one hash, the one that the
/// converter takes.
const HASHES: &str = include_str!("hashes.txt");

/// The name of the vocabulary that gives these ids, if it is a known one.
pub(in crate::tokenizer) fn name(ids: &[u64]) -> Option<&'static str> {
    let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
    let digest = Sha256::digest(format!("[{}]", ids.join(", ")));
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    HASHES.lines().find_map(|line| line.strip_prefix(&hash)?.strip_prefix(' '))
}

/// Names by which readers cut texts in the same way. They differ in flags that files state as well,
/// and in whether a word that is a token is merged all the same. A line has the names of one way.
const ALIKE: [&str; 10] = [
    "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe chatglm-bpe glm4 glm5",
    "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2",
    "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
    "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
    "gpt-2 phi-2 gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert exaone4 mpt olmo jais trillion granite-docling jina-v1-en jina-v2-code roberta-bpe",
    "bloom poro-chat gpt3-finnish",
    "gpt-4o llama4 kanana2 talkie minimax-m2",
    "tiny_aya cohere2moe",
    "bailingmoe bailingmoe2 llada-moe",
    "gemma4 granite-embed-multi-311m sarvam-moe",
];

/// Whether readers cut texts in the same way by these names.
pub(in crate::tokenizer) fn alike(a: &str, b: &str) -> bool {
    let has = |names: &str, name: &str| names.split(' ').any(|one| one == name);
    a == b || ALIKE.iter().any(|names| has(names, a) && has(names, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_well_formed_and_there_once() {
        let mut seen = std::collections::BTreeSet::new();
        for line in HASHES.lines() {
            let (hash, name) = line.split_once(' ').unwrap();
            assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()), "{line}");
            assert!(!name.is_empty() && seen.insert(hash), "{line}");
        }
        assert_eq!(seen.len(), 95);
        assert_eq!(name(&[1, 2]), None);
    }

    #[test]
    fn names_of_one_way_to_cut_are_alike() {
        assert!(alike("smaug-bpe", "dbrx") && alike("own", "own"));
        assert!(!alike("qwen35", "qwen2") && !alike("own", "other"));
    }
}
