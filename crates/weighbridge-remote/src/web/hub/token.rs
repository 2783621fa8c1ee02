//! The token of this user, from the places where the Hub's own programs keep it.

use std::path::Path;

use super::environment::{Lookup, is_set};

/// The token that is sent: `HF_TOKEN`, else `HUGGING_FACE_HUB_TOKEN`, else what the file at
/// `HF_TOKEN_PATH` holds, or `token` in the Hub's folder. None at all with
/// `HF_HUB_DISABLE_IMPLICIT_TOKEN`.
pub(super) fn find(lookup: Lookup<'_>, home: Option<&Path>) -> Option<String> {
    if is_set(lookup, "HF_HUB_DISABLE_IMPLICIT_TOKEN") {
        return None;
    }
    let variable = |name: &str| lookup(name)?.into_string().ok().and_then(|text| cleaned(&text));
    let file = |path: &Path| cleaned(&std::fs::read_to_string(path).ok()?);
    variable("HF_TOKEN").or_else(|| variable("HUGGING_FACE_HUB_TOKEN")).or_else(|| {
        match lookup("HF_TOKEN_PATH").filter(|path| !path.is_empty()) {
            Some(path) => file(Path::new(&path)),
            None => file(&home?.join("token")),
        }
    })
}

/// Files and variables often end with a line end, which no header may hold.
fn cleaned(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], home: Option<&Path>) -> Option<String> {
        let lookup = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
        };
        find(&lookup, home)
    }

    #[test]
    fn variables_come_before_files() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        assert_eq!(found(&[], Some(home)), None);
        std::fs::write(home.join("token"), " hf_file\r\n").unwrap();
        assert_eq!(found(&[], Some(home)).as_deref(), Some("hf_file"));
        std::fs::write(home.join("other"), "hf_other").unwrap();
        let other = home.join("other").to_str().unwrap().to_owned();
        let mut variables = vec![("HF_TOKEN_PATH", &*other)];
        assert_eq!(found(&variables, Some(home)).as_deref(), Some("hf_other"));
        variables.push(("HUGGING_FACE_HUB_TOKEN", "hf_old"));
        assert_eq!(found(&variables, Some(home)).as_deref(), Some("hf_old"));
        variables.push(("HF_TOKEN", "hf_new\n"));
        assert_eq!(found(&variables, Some(home)).as_deref(), Some("hf_new"));
        variables.push(("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"));
        assert_eq!(found(&variables, Some(home)), None);
    }
}
