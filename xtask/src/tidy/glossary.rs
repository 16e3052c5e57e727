//! Every public type of a crate is a term of `docs/glossary.md`.
//!
//! A type is covered when its name stands in back quotes in the section of its crate, when its words
//! are a term there (`HighWaterMark` by *high-water mark*), or when it has an ending that the section
//! on names without a row explains. Crates that are not complete yet are counted in [`OPEN`].

use std::collections::BTreeSet;

use super::finding::Finding;
use super::rust_text::{code, is_ident, without_tests};
use super::sizes::is_test_module;
use super::tree::Tree;

const RULE: &str = "glossary";
const PATH: &str = "docs/glossary.md";
/// The section whose table lists the endings that explain themselves.
const ENDINGS: &str = "Names without a row";

/// A crate with public types that have no term yet. Their number may only shrink.
struct OpenCrate {
    folder: &'static str,
    types: usize,
}

const OPEN: &[OpenCrate] = &[];

/// Public types without a term, and counts that are too high or too low.
pub fn check(tree: &Tree) -> Vec<Finding> {
    compare(tree, OPEN)
}

fn compare(tree: &Tree, open: &[OpenCrate]) -> Vec<Finding> {
    let Some(text) = tree.text(PATH) else { return Vec::new() };
    let glossary = Glossary::read(text);
    let mut findings = Vec::new();
    for folder in tree.crates() {
        let name = folder.strip_prefix("crates/").unwrap_or(&folder);
        let missing: Vec<_> = public_types(tree, &folder)
            .into_iter()
            .filter(|one| !glossary.covers(name, &one.name))
            .collect();
        let known = open.iter().find(|one| one.folder == name).map_or(0, |one| one.types);
        if missing.len() < known {
            let message =
                format!("`{name}` has {} types without a term, not {known}", missing.len());
            let remedy = "lower the number in xtask/src/tidy/glossary.rs";
            findings.push(Finding::error(RULE, (PATH, 1), message, remedy));
        } else if missing.len() > known {
            findings.extend(missing.iter().map(|one| {
                let message = format!("`{}` is no term of the glossary", one.name);
                let remedy = format!("add a row under `## {name}` in {PATH}");
                Finding::error(RULE, (&one.path, one.line), message, remedy)
            }));
        }
    }
    findings
}

struct PublicType {
    path: String,
    line: usize,
    name: String,
}

/// The types that stand in the sources of a crate as public ones.
fn public_types(tree: &Tree, folder: &str) -> Vec<PublicType> {
    let sources = format!("{folder}/src/");
    let mut found = Vec::new();
    for (path, text) in tree.rust() {
        if !path.starts_with(&sources) || is_test_module(path) {
            continue;
        }
        let text = code(text);
        let own = without_tests(&text, |_| {});
        let names = own.lines().filter_map(declared);
        for name in names {
            let line = text.lines().position(|line| declared(line) == Some(name));
            let (path, name) = (path.to_owned(), name.to_owned());
            found.push(PublicType { path, line: line.map_or(1, |line| line + 1), name });
        }
    }
    found
}

/// The public type that a line of code declares.
fn declared(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c| !is_ident(c)).next()
}

/// What the glossary says, by section.
struct Glossary<'t> {
    sections: Vec<Section<'t>>,
}

#[derive(Default)]
struct Section<'t> {
    title: &'t str,
    /// Words in back quotes.
    quoted: BTreeSet<&'t str>,
    /// Terms as words without anything between them.
    terms: BTreeSet<String>,
}

impl<'t> Glossary<'t> {
    fn read(text: &'t str) -> Self {
        let mut sections = Vec::new();
        for part in text.split("\n## ").skip(1) {
            let (title, body) = part.split_once('\n').unwrap_or((part, ""));
            let mut section = Section { title: title.trim(), ..Section::default() };
            for row in body.lines().filter(|line| line.starts_with("| ")) {
                section.add(row);
            }
            sections.push(section);
        }
        Self { sections }
    }

    fn section(&self, title: &str) -> Option<&Section<'t>> {
        self.sections.iter().find(|section| section.title == title)
    }

    fn covers(&self, folder: &str, name: &str) -> bool {
        let by_row = self.section(folder).is_some_and(|section| {
            section.quoted.contains(name) || section.terms.contains(&name.to_lowercase())
        });
        let by_ending = self.section(ENDINGS).is_some_and(|section| {
            section.quoted.iter().any(|ending| !ending.is_empty() && name.ends_with(ending))
        });
        by_row || by_ending
    }
}

impl<'t> Section<'t> {
    fn add(&mut self, row: &'t str) {
        let quoted = row.split('`').skip(1).step_by(2);
        self.quoted.extend(quoted.flat_map(|text| text.split(|c| !is_ident(c))));
        let terms = row.split('|').nth(1).unwrap_or_default();
        for term in terms.split(',') {
            let letters: String = term.chars().filter(|c| c.is_alphanumeric()).collect();
            self.terms.insert(letters.to_lowercase());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OpenCrate, compare};
    use crate::tidy::tree::Tree;

    const SOURCE: &str = "pub struct HighWaterMark;\npub enum Rule { A }\npub struct RuleError;\n\
        pub(crate) struct Own;\n#[cfg(test)]\nmod tests {\n}\n";
    const GLOSSARY: &str = "# Glossary\n\n## Names without a row\n\n| ending | meaning |\n|---|---|\n\
        | `Error` | why not |\n\n## a\n\n| term | meaning |\n|---|---|\n\
        | high-water mark, other | the newest | `Rule` |\n";

    fn messages(source: &str, glossary: &str, open: &[OpenCrate]) -> Vec<String> {
        let tree = Tree::planted(&[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", source),
            ("docs/glossary.md", glossary),
        ]);
        compare(&tree, open).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_term_a_name_in_quotes_and_an_ending_cover_a_type() {
        assert_eq!(messages(SOURCE, GLOSSARY, &[]), Vec::<String>::new());
    }

    #[test]
    fn a_public_type_without_a_term_is_found() {
        let source = format!("{SOURCE}pub struct Asked;\n");
        assert_eq!(messages(&source, GLOSSARY, &[]), ["`Asked` is no term of the glossary"]);
        let without = GLOSSARY.replace("high-water", "low-water");
        assert_eq!(messages(SOURCE, &without, &[]).len(), 1);
        let other = GLOSSARY.replace("## a", "## b");
        assert_eq!(messages(SOURCE, &other, &[]).len(), 2, "a row of another crate does not count");
    }

    #[test]
    fn the_number_of_open_types_may_only_shrink() {
        let source = format!("{SOURCE}pub struct Asked;\n");
        let open = |types| [OpenCrate { folder: "a", types }];
        assert_eq!(messages(&source, GLOSSARY, &open(1)), Vec::<String>::new());
        let more = messages(&source, GLOSSARY, &open(2));
        assert_eq!(more, ["`a` has 1 types without a term, not 2"]);
        assert_eq!(messages(SOURCE, GLOSSARY, &open(1)).len(), 1);
    }
}
