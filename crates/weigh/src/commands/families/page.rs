//! docs/families.md, which a test generates.

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use weighbridge::ops::{FamiliesReport, FamilyReport, ProjectorReport, families};

    use super::super::render::{architectures, run};

    const HEAD: &str = "# Model families

`weigh convert` translates these model families from Hugging Face repositories to GGUF, and many of them back. `weigh convert --mmproj` also writes the projector of a multimodal model. `weigh families` prints this list, and `weigh families NAME` one family. This page is generated.

- **equal**: test models whose GGUF file equals that of llama.cpp's converter, in every tensor and key. Classes that transformers lacks are laid out after published tensor names. Where the converter fails on a class, the fault was mended first (`mend` in `oracles/families` and `oracles/projectors`)
- **run**: the largest difference between llama.cpp and transformers, with a model of random weights. [Settings](settings.md) lists what each setting of the config does
- **to HF**: GGUF files become repositories again
- **next tokens**: layers that predict further tokens are kept or dropped

";

    fn row(family: &FamilyReport) -> String {
        let FamilyReport { name, architecture, tokenizer, .. } = family;
        let classes = family.classes.join(", ");
        let next = family.next_layers.unwrap_or("");
        let back = if family.to_hf { "yes" } else { "" };
        let (compared, run) = (family.compared, run(family));
        format!(
            "| {name} | {architecture} | {classes} | {back} | {next} | {tokenizer} | {compared} | {run} |\n"
        )
    }

    fn projector(one: &ProjectorReport) -> String {
        let (classes, encodes) = (one.classes.join(", "), one.encodes.join(", "));
        format!("| {} | {classes} | {encodes} | {} |\n", one.name, one.compared)
    }

    fn page(report: &FamiliesReport) -> String {
        let mut page = HEAD.to_owned();
        let count = report.families.len();
        let _ = writeln!(page, "{count} families, {} GGUF architectures.\n", architectures(report));
        page += "| family | GGUF | classes | to HF | next tokens | tokenizer | equal | run |\n";
        page += "|---|---|---|---|---|---|---|---|\n";
        report.families.iter().for_each(|family| page += &row(family));
        page += "\n## Projectors\n\n";
        let count = report.projectors.len();
        let names: usize = report.projectors.iter().map(|one| one.classes.len()).sum();
        let _ = writeln!(page, "{count} projector classes, {names} class names in configs.\n");
        page += "| projector | classes | encodes | equal |\n|---|---|---|---|\n";
        report.projectors.iter().for_each(|one| page += &projector(one));
        page += "\n## Not supported\n\nllama.cpp's converter knows these classes, and `weigh` rejects them.\n\n";
        page += "| class | GGUF | reason |\n|---|---|---|\n";
        for one in &report.missing {
            let _ = writeln!(page, "| {} | {} | {} |", one.class, one.architecture, one.reason);
        }
        page
    }

    /// With `BLESS` set, the page is written instead.
    #[test]
    fn the_page_is_that_of_the_table() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/families.md");
        let page = page(&families(&[]).unwrap());
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), page, "BLESS=1 writes it");
    }
}
