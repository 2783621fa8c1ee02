//! Links in the documentation: each leads to a file that is there, and to a heading that it has. The
//! guide's index lists every section of its pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;

use crate::root;

pub fn trials() -> Vec<Trial> {
    crate::trials!("links": every_link_leads_somewhere, the_index_lists_every_section)
}

fn every_link_leads_somewhere() {
    let mut pages = Vec::new();
    collect(&root(), &mut pages);
    assert!(pages.len() > 10, "there are more pages than {}", pages.len());
    let mut wrong = Vec::new();
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        for link in links(&text) {
            if let Some(problem) = problem(page, &link) {
                wrong.push(format!("{}: {link}: {problem}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn the_index_lists_every_section() {
    let docs = root().join("docs");
    let index = std::fs::read_to_string(docs.join("guide.md")).unwrap();
    let listed: BTreeSet<String> = links(&index).into_iter().collect();
    // A page of the guide is linked as a whole.
    let pages = listed.iter().filter(|link| link.ends_with(".md") && !link.contains('/'));
    // A dictionary is looked up, and has more words than an index has room for.
    let pages = pages.filter(|page| *page != "problems.md");
    let mut missing = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(docs.join(page)).unwrap();
        for heading in headings(&text).filter(|heading| heading.starts_with("## ")) {
            let link = format!("{page}#{}", slug(heading));
            if !listed.contains(&link) {
                missing.push(link);
            }
        }
    }
    assert!(missing.is_empty(), "guide.md does not list\n{}", missing.join("\n"));
}

/// The pages of the repository, without what was built or belongs to nobody.
fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "target" || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, pages);
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
}

/// What links lead to, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Between backticks nothing is a link.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let after = plain.split("](").skip(1);
        found.extend(after.filter_map(|rest| rest.split(')').next()).map(str::to_owned));
    }
    found
}

/// The lines that are not in a block of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    prose(text).filter(|line| line.starts_with('#'))
}

/// What is wrong with a link on this page.
fn problem(page: &Path, link: &str) -> Option<&'static str> {
    if link.starts_with("http://") || link.starts_with("https://") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_owned(),
        file => page.parent().unwrap().join(file),
    };
    if !target.exists() {
        return Some("is not there");
    }
    if anchor.is_empty() {
        return None;
    }
    let text = std::fs::read_to_string(target).unwrap_or_default();
    let is_there = headings(&text).any(|heading| slug(heading) == anchor);
    (!is_there).then_some("has no such heading")
}

/// A heading as the end of a link: as GitHub makes it.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
