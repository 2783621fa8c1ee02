//! The mixtures: which weights of a file type get another type than most.
//!
//! Of the rows about a category and a file type, the first whose condition holds counts.

use super::category::Category::{self, *};

/// What conditions look at: one weight in its model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// The block it is in, or how many of its kind came before it.
    pub(super) layer: i64,
    pub(super) layers: i64,
    /// How many weights with values of attention came before it, and how many there are.
    pub(super) value: i64,
    pub(super) values: i64,
    /// How many heads share keys and values.
    pub(super) heads_a_value: u64,
    pub(super) experts: u64,
    /// Whether importance is known at all.
    pub(super) has_importance: bool,
    pub(super) is_falcon: bool,
}

impl Case {
    /// The first and last eighth, and every third between them.
    fn gets_more(index: i64, all: i64) -> bool {
        let first = all / 8;
        index < first || index >= all.saturating_mul(7) / 8 || (index - first) % 3 == 2
    }
}

/// A row of a mixture.
struct Rule {
    of: Category,
    /// The file types it is about; all if there are none.
    files: &'static [&'static str],
    when: fn(&Case) -> bool,
    becomes: &'static str,
}

const fn rule(
    of: Category,
    files: &'static [&'static str],
    when: fn(&Case) -> bool,
    becomes: &'static str,
) -> Rule {
    Rule { of, files, when, becomes }
}

const ANY: &[&str] = &[];

fn always(_: &Case) -> bool {
    true
}

fn shared_by_four(case: &Case) -> bool {
    case.heads_a_value >= 4
}

fn shared_or_experts(case: &Case) -> bool {
    case.heads_a_value >= 4 || case.experts >= 4
}

fn eight_experts(case: &Case) -> bool {
    case.experts == 8
}

fn first_eighth(case: &Case) -> bool {
    case.layer < case.layers / 8
}

fn first_sixteenth(case: &Case) -> bool {
    case.layer < case.layers / 16
}

fn middle(case: &Case) -> bool {
    case.layer >= case.layers / 8 && case.layer < case.layers.saturating_mul(7) / 8
}

fn gets_more(case: &Case) -> bool {
    Case::gets_more(case.layer, case.layers)
}

fn value_gets_more(case: &Case) -> bool {
    Case::gets_more(case.value, case.values)
}

fn falcon(case: &Case) -> bool {
    case.is_falcon
}

/// File types of so few bits that they have rules of their own.
const FEW: &[&str] = &["IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M"];

static OF_FEW: &[Rule] = &[
    rule(Values, ANY, shared_or_experts, "Q4_K"),
    rule(Values, &["IQ2_S", "IQ2_M"], always, "IQ3_S"),
    rule(Values, ANY, always, "Q2_K"),
    rule(Keys, ANY, eight_experts, "Q4_K"),
    rule(Down, &["IQ2_S", "IQ2_M"], first_eighth, "IQ3_S"),
    rule(Down, ANY, first_eighth, "Q2_K"),
    rule(AttentionOutput, ANY, eight_experts, "Q5_K"),
    rule(AttentionOutput, &["IQ1_S", "IQ1_M"], always, "IQ2_XXS"),
    rule(AttentionOutput, &["IQ2_S", "IQ2_M"], always, "IQ3_S"),
];

static OF_OTHERS: &[Rule] = &[
    // Where eight experts are most of the model, attention costs little.
    rule(Values, ANY, eight_experts, "Q8_0"),
    rule(Values, &["Q2_K", "Q2_K_S"], shared_by_four, "Q4_K"),
    rule(Values, &["Q2_K"], always, "Q3_K"),
    rule(Values, &["IQ3_XXS", "IQ3_XS", "IQ3_S"], shared_by_four, "Q4_K"),
    rule(Values, &["IQ3_XXS"], |case| !case.has_importance, "IQ3_S"),
    rule(Values, &["IQ3_M"], always, "Q4_K"),
    rule(Values, &["Q3_K_M"], |case| case.value < 2, "Q5_K"),
    rule(Values, &["Q3_K_M"], always, "Q4_K"),
    rule(Values, &["Q3_K_L"], always, "Q5_K"),
    rule(Values, &["IQ4_NL", "IQ4_XS"], shared_by_four, "Q5_K"),
    rule(Values, &["Q4_K_M", "Q5_K_M"], value_gets_more, "Q6_K"),
    rule(Values, &["Q4_K_S"], |case| case.value < 4, "Q5_K"),
    rule(Keys, ANY, eight_experts, "Q8_0"),
    rule(Keys, &["IQ3_XS"], always, "IQ3_XXS"),
    rule(Keys, &["IQ3_XXS"], always, "IQ2_S"),
    rule(Queries, &["IQ3_XS"], always, "IQ3_XXS"),
    rule(Queries, &["IQ3_XXS"], always, "IQ2_S"),
    rule(Down, &["Q2_K"], always, "Q3_K"),
    rule(Down, &["Q2_K_S"], first_eighth, "Q4_K"),
    rule(Down, &["IQ3_XXS"], |case| !case.has_importance && first_eighth(case), "Q4_K"),
    rule(Down, &["IQ3_XXS"], |case| !case.has_importance, "Q3_K"),
    rule(Down, &["Q3_K_M"], first_sixteenth, "Q5_K"),
    rule(Down, &["Q3_K_M"], |case| !falcon(case) || gets_more(case), "Q4_K"),
    rule(Down, &["IQ3_M"], first_eighth, "Q4_K"),
    rule(Down, &["IQ3_M"], |case| eight_experts(case) && gets_more(case), "Q4_K"),
    rule(Down, &["Q3_K_L"], falcon, "Q4_K"),
    rule(Down, &["Q3_K_L"], always, "Q5_K"),
    rule(Down, &["Q4_K_M"], |case| falcon(case) && first_sixteenth(case), "Q6_K"),
    rule(Down, &["Q4_K_M"], |case| falcon(case) && gets_more(case), "Q5_K"),
    rule(Down, &["Q4_K_M"], |case| !falcon(case) && gets_more(case), "Q6_K"),
    rule(Down, &["IQ4_NL", "IQ4_XS"], |case| first_eighth(case) && !case.has_importance, "Q5_K"),
    rule(Down, &["Q5_K_M"], gets_more, "Q6_K"),
    rule(Down, &["Q4_K_S"], |case| !falcon(case) && first_eighth(case), "Q5_K"),
    // Odd values of the first blocks are better stored from a minimum.
    rule(Down, &["Q4_0"], |case| case.has_importance && first_eighth(case), "Q4_1"),
    rule(Down, &["Q5_0"], |case| case.has_importance && first_eighth(case), "Q5_1"),
    rule(AttentionOutput, &["Q3_K_L"], falcon, "Q4_K"),
    rule(AttentionOutput, WITH_EIGHT_EXPERTS, |case| !falcon(case) && eight_experts(case), "Q5_K"),
    rule(AttentionOutput, &["Q2_K"], few_experts, "Q3_K"),
    rule(AttentionOutput, &["IQ3_XXS"], few_experts, "IQ3_S"),
    rule(AttentionOutput, &["Q3_K_M", "IQ3_M"], few_experts, "Q4_K"),
    rule(AttentionOutput, &["Q3_K_L"], few_experts, "Q5_K"),
    rule(Gate, &["IQ3_XS"], middle, "IQ3_XXS"),
    rule(Up, &["IQ3_XS"], middle, "IQ3_XXS"),
];

/// File types whose output of attention gets five bits beside eight experts.
const WITH_EIGHT_EXPERTS: &[&str] = &[
    "Q2_K", "IQ3_XS", "IQ3_XXS", "Q3_K_S", "Q3_K_M", "IQ4_NL", "Q4_K_S", "Q4_K_M", "IQ3_S",
    "IQ3_M", "IQ4_XS",
];

fn few_experts(case: &Case) -> bool {
    !falcon(case) && !eight_experts(case)
}

/// What tokens are looked up in, where it is not the last matrix as well.
static OF_EMBEDDINGS: &[Rule] = &[
    rule(Embedding, &["IQ2_XXS", "IQ2_XS", "IQ1_S", "IQ1_M"], always, "Q2_K"),
    rule(Embedding, &["IQ2_S", "IQ2_M", "IQ3_XXS"], always, "IQ3_S"),
    rule(Embedding, &["TQ1_0", "TQ2_0", "Q2_0"], always, "Q4_K"),
];

/// Whether a file type has so few bits that rules of its own apply.
pub(super) fn has_few_bits(file: &str) -> bool {
    FEW.contains(&file)
}

/// Whether rules of a file type ask for the number of blocks.
pub(super) fn asks_for_layers(file: &str) -> bool {
    let tables = [OF_FEW, OF_OTHERS];
    has_few_bits(file) || tables.iter().copied().flatten().any(|rule| rule.files.contains(&file))
}

/// The type that a weight gets instead of the base type, if a rule says so.
pub(super) fn mixed(file: &str, of: Category, case: &Case) -> Option<&'static str> {
    let table = match of {
        Embedding => OF_EMBEDDINGS,
        _ if has_few_bits(file) => OF_FEW,
        _ => OF_OTHERS,
    };
    let holds = |rule: &&Rule| {
        rule.of == of && (rule.files.is_empty() || rule.files.contains(&file)) && (rule.when)(case)
    };
    table.iter().find(holds).map(|rule| rule.becomes)
}

/// What the last matrix gets, which tells the next token: more bits than the rest.
pub(super) fn of_output(file: &str, base: &str, is_falcon: bool, fits: bool) -> &'static str {
    match () {
        () if file == "MXFP4_MOE" || is_falcon || !fits || base == "Q8_0" => "Q8_0",
        () if has_few_bits(file) || file == "IQ3_XXS" => "Q5_K",
        () => "Q6_K",
    }
}

#[cfg(test)]
mod tests {
    use super::super::file_types::FILE_TYPES;
    use super::super::types;
    use super::*;

    #[test]
    fn rules_name_types_and_file_types_that_exist() {
        for rule in [OF_FEW, OF_OTHERS, OF_EMBEDDINGS].into_iter().flatten() {
            assert_eq!(types::named(rule.becomes).unwrap(), rule.becomes);
            for file in rule.files {
                assert!(FILE_TYPES.iter().any(|known| known.rules == *file), "{file}");
            }
        }
    }

    #[test]
    fn every_third_between_the_eighths_gets_more() {
        let more: Vec<i64> = (0..16).filter(|&index| Case::gets_more(index, 16)).collect();
        assert_eq!(more, [0, 1, 4, 7, 10, 13, 14, 15]);
        let more: Vec<i64> = (0..9).filter(|&index| Case::gets_more(index, 9)).collect();
        assert_eq!(more, [0, 3, 6, 7, 8]);
    }
}
