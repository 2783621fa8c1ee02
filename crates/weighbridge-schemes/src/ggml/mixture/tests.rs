use super::*;
use crate::dtype::DType;
use crate::framework::testing::SCHEMES;
use crate::framework::{Configs, Largest};
use crate::ggml::mixture::all;

/// A model of some blocks: what the tests change is in the fields.
struct Tried {
    architecture: &'static str,
    entries: Vec<(&'static str, u64)>,
    weights: Vec<(String, Vec<u64>)>,
    wishes: QuantizeWishes,
    asked: Vec<(&'static str, &'static str)>,
    keeps: Vec<&'static str>,
    importance: Vec<(&'static str, usize)>,
    block: Option<&'static str>,
}

impl Tried {
    fn of(layers: u64) -> Self {
        let mut weights = vec![
            ("token_embd.weight".to_owned(), vec![32, 256]),
            ("output.weight".to_owned(), vec![32, 256]),
        ];
        for layer in 0..layers {
            for part in
                ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_gate", "ffn_down"]
            {
                weights.push((format!("blk.{layer}.{part}.weight"), vec![256, 256]));
            }
            weights.push((format!("blk.{layer}.attn_norm.weight"), vec![256]));
        }
        Self {
            architecture: "llama",
            entries: vec![
                ("block_count", layers),
                ("attention.head_count", 4),
                ("attention.head_count_kv", 4),
            ],
            weights,
            wishes: QuantizeWishes::default(),
            asked: Vec::new(),
            keeps: Vec::new(),
            importance: Vec::new(),
            block: None,
        }
    }

    fn with<T>(&self, then: impl FnOnce(&Request<'_>) -> T) -> T {
        let candidate = |(name, shape): &'_ (String, Vec<u64>)| Candidate {
            // The names live as long as the test.
            name: Box::leak(name.clone().into_boxed_str()),
            shape: Box::leak(shape.clone().into_boxed_slice()),
            dtype: DType::BF16,
            block: self.block,
        };
        let weights: Vec<Candidate<'_>> = self.weights.iter().map(candidate).collect();
        let metadata = |key: &str| match key {
            "general.architecture" => Some(Value::text(self.architecture)),
            _ => {
                let own = key.strip_prefix(self.architecture)?.strip_prefix('.')?;
                let found = self.entries.iter().find(|(name, _)| *name == own)?;
                Some(Value::Unsigned(32, found.1))
            }
        };
        let even = |name: &str| {
            let found = self.importance.iter().find(|(known, _)| *known == name)?;
            Some(Arc::new(Even { columns: found.1 }) as Arc<dyn Importance>)
        };
        let asked = |name: &str| {
            let found = self.asked.iter().find(|(part, _)| name.contains(part))?;
            Some(found.1.to_owned())
        };
        let largest = |_: &[usize]| -> Largest { Arc::new(|| Ok(1.0)) };
        then(&Request {
            weights: &weights,
            metadata: &metadata,
            configs: Configs::new(&[], SCHEMES),
            takes_as_saved: &|_, _| false,
            wishes: &self.wishes,
            keeps: &|name| self.keeps.contains(&name),
            asked: &asked,
            importance: &even,
            largest: &largest,
        })
    }

    fn types(&self, quantizer: &str) -> Vec<(String, &'static str)> {
        let types = self.with(|request| types_of(quantizer, request)).unwrap();
        let named = self.weights.iter().zip(types);
        named.filter_map(|((name, _), becomes)| Some((name.clone(), becomes?))).collect()
    }

    fn choose(&self, quantizer: &str) -> Result<Chosen> {
        let found = all().iter().find(|one| one.name() == quantizer).unwrap();
        self.with(|request| found.choose(request))
    }
}

fn of<'a>(types: &'a [(String, &'static str)], part: &str) -> Vec<&'a str> {
    types.iter().filter(|(name, _)| name.contains(part)).map(|(_, becomes)| *becomes).collect()
}

#[test]
fn every_file_type_has_a_name_of_its_own_and_writes_what_it_says() {
    let mut seen = std::collections::HashSet::new();
    for file in FILE_TYPES {
        assert!(seen.insert(file.name.to_lowercase()), "{}", file.name);
        assert!(types::stored(file.base).is_some(), "{}", file.name);
        let named = FILE_TYPES.iter().find(|one| one.name == file.rules).unwrap();
        assert_eq!((named.id, named.base), (file.id, file.base));
    }
    let chosen = Tried::of(2).choose("Q8_0").unwrap();
    let text: Vec<String> =
        chosen.metadata.iter().map(|(key, of)| format!("{key} {of:?}")).collect();
    assert_eq!(
        text,
        ["general.quantization_version Unsigned(32, 2)", "general.file_type Unsigned(32, 7)"]
    );
    assert_eq!(chosen.order.unwrap()[..3], [1, 0, 3]);
}

#[test]
fn mxfp4_is_for_all_matrices_and_says_so() {
    let tried = Tried::of(2);
    let types = tried.types("MXFP4-ggml");
    assert_eq!(of(&types, "ffn_up"), ["MXFP4"; 2]);
    assert_eq!(of(&tried.types("MXFP4_MOE"), "ffn_up"), ["Q8_0"; 2]);
    let chosen = tried.choose("MXFP4-ggml").unwrap();
    assert!(chosen.notes.iter().any(|note| note == super::MXFP4_NOTE), "{:?}", chosen.notes);
}

#[test]
fn a_mixture_gives_more_bits_where_it_matters() {
    let tried = Tried::of(16);
    let types = tried.types("Q4_K_M");
    let more = |index: usize| [0, 1, 4, 7, 10, 13, 14, 15].contains(&index);
    let expected: Vec<&str> = (0..16).map(|at| if more(at) { "Q6_K" } else { "Q4_K" }).collect();
    assert_eq!(of(&types, "attn_v"), expected);
    assert_eq!(of(&types, "ffn_down"), expected);
    assert_eq!(of(&types, "ffn_up"), ["Q4_K"; 16]);
    assert_eq!(of(&types, "output.weight")[0], "Q6_K");
    assert_eq!(of(&types, "norm"), [""; 0]);
    assert_eq!(types, tried.types("Q4_K"));
}

#[test]
fn asked_types_come_first_and_pure_means_one_type() {
    let mut tried = Tried::of(8);
    tried.asked = vec![("attn_q", "q8_0"), ("attn", "q5_k")];
    tried.wishes.pure = true;
    let types = tried.types("Q4_K");
    assert_eq!(of(&types, "attn_q"), ["Q8_0"; 8]);
    assert_eq!(of(&types, "attn_k"), ["Q5_K"; 8]);
    assert_eq!(of(&types, "ffn_down"), ["Q4_K"; 8]);
    assert_eq!(of(&types, "output.weight")[0], "Q4_K");
    tried.wishes.output_type = Some("bf16".into());
    tried.wishes.embedding_type = Some("Q6_k".into());
    let types = tried.types("Q4_K");
    assert_eq!(of(&types, "token_embd"), ["Q6_K"]);
    assert_eq!(types[1], ("output.weight".to_owned(), "BF16"));
    tried.asked = vec![("attn_q", "Q4_K_M")];
    let error = tried.choose("Q4_K").err().unwrap();
    assert!(error.message().contains("`Q4_K_M`"), "{error}");
    assert_eq!(error.hint_text(), Some("did you mean Q4_K?"));
}

#[test]
fn an_embedding_that_is_the_last_matrix_gets_its_type() {
    let mut tried = Tried::of(8);
    tried.weights.remove(1);
    assert_eq!(of(&tried.types("Q4_K_M"), "token_embd"), ["Q6_K"]);
    assert_eq!(of(&tried.types("F16"), "token_embd"), ["F16"]);
    tried.wishes.output_type = Some("Q8_0".into());
    assert_eq!(of(&tried.types("Q4_K_M"), "token_embd"), ["Q8_0"]);
}

#[test]
fn rows_that_are_no_whole_blocks_get_smaller_ones() {
    let mut tried = Tried::of(1);
    tried.weights.push(("blk.0.attn_x.weight".into(), vec![4, 96]));
    tried.weights.push(("blk.0.attn_y.weight".into(), vec![4, 100]));
    let types = tried.types("Q4_K_S");
    assert_eq!(of(&types, "attn_x"), ["Q5_0"]);
    assert_eq!(of(&types, "attn_y"), ["F16"]);
    tried.asked = vec![("attn", "f16"), ("ffn", "f16"), ("embd", "f16"), ("output", "f16")];
    let error = tried.with(|request| types_of("Q1_0", request).map(|_| ())).err();
    assert!(error.is_none());
    tried.asked = vec![("attn_y", "NVFP4")];
    let error = tried.with(|request| types_of("Q8_0", request).map(|_| ())).unwrap_err();
    assert!(error.to_string().contains("attn_y") && error.to_string().contains("row length 100"));
    let notes = Tried { asked: vec![], ..tried }.choose("Q8_0").unwrap().notes;
    assert_eq!(
        notes,
        ["`blk.0.attn_y.weight` is stored as F16: its row length is not a multiple of the Q8_0 \
          block size (32)"]
    );
}

#[test]
fn importance_is_needed_by_some_and_must_fit() {
    let mut tried = Tried::of(1);
    let error = tried.choose("IQ2_XXS").err().unwrap();
    assert!(
        error.to_string().contains("needs an importance matrix, but none was given"),
        "{error}"
    );
    tried.wishes.has_importance = true;
    tried.importance = vec![("blk.0.attn_q.weight", 128)];
    let error = tried.choose("Q8_0").err().unwrap();
    assert!(error.to_string().contains("has 128 values for it, but it has 256 columns"), "{error}");
    tried.importance = vec![("token_embd.weight", 128), ("blk.0.attn_q.weight", 256)];
    let notes = tried.choose("Q4_0").unwrap().notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("more are encoded without importance"), "{notes:?}");
    assert!(notes[1].contains("does not fit it"), "{notes:?}");
    let notes = tried.choose("Q8_0").unwrap().notes;
    assert_eq!(notes.len(), 1, "it makes no difference to eight bits: {notes:?}");
}

#[test]
fn what_is_stored_so_already_or_kept_stays() {
    let mut tried = Tried::of(1);
    tried.block = Some("Q8_0");
    let chosen = tried.choose("Q8_0").unwrap();
    assert!(chosen.fates.iter().all(|fate| matches!(fate, TypeAssignment::Keep)));
    tried.block = None;
    tried.keeps = vec!["output.weight"];
    let fates = tried.choose("Q8_0").unwrap().fates;
    assert!(
        matches!(fates[1], TypeAssignment::Keep) && matches!(fates[0], TypeAssignment::Encode(_))
    );
    let fates = tried.choose("BF16").unwrap().fates;
    assert!(fates.iter().all(|fate| matches!(fate, TypeAssignment::Keep)));
    let fates = tried.choose("F16").unwrap().fates;
    assert!(matches!(fates[0], TypeAssignment::Cast(DType::F16)));
}

#[test]
fn experts_are_told_by_the_block_in_their_names() {
    let mut tried = Tried::of(8);
    tried.entries.push(("expert_count", 8));
    assert_eq!(of(&tried.types("Q4_K_M"), "attn_v"), ["Q8_0"; 8]);
    tried.weights.push(("blk.9.ffn_down_exps.weight".into(), vec![8, 256, 256]));
    let error = tried.with(|request| types_of("Q4_K_M", request).map(|_| ())).unwrap_err();
    assert!(error.to_string().contains("in block 9, but the metadata says there are 8"));
    assert_eq!(of(&tried.types("MXFP4_MOE"), "exps"), ["MXFP4"]);
    assert_eq!(of(&tried.types("MXFP4_MOE"), "attn_q"), ["Q8_0"; 8]);
}

#[test]
fn a_mixture_needs_the_number_of_blocks_and_one_type_does_not() {
    let mut tried = Tried::of(8);
    tried.entries.clear();
    let error = tried.with(|request| types_of("Q4_K_M", request).map(|_| ())).unwrap_err();
    assert!(error.to_string().contains("llama.block_count"));
    assert_eq!(of(&tried.types("Q6_K"), "ffn_down"), ["Q6_K"; 8]);
    tried.wishes.pure = true;
    assert_eq!(of(&tried.types("Q4_K_M"), "ffn_down"), ["Q4_K"; 8]);
}
