//! Requires that every public type and every module of a crate is a term of `docs/glossary.md`.
//!
//! A type is covered if its name is in back quotes in the section of its crate, if its words are a
//! term there (`HighWaterMark` by *high-water mark*), or if it has an ending that is listed in the
//! section on names without a row. A module is covered by the same rules, or by a type in it that
//! is.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::rust_text::{code, is_ident, without_tests};
use super::sizes::is_test_module;
use super::tree::Tree;

const RULE: &str = "glossary";
const PATH: &str = "docs/glossary.md";
/// The section whose table lists the endings that need no row.
const ENDINGS: &str = "Names without a row";

/// Public types and modules without a term.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(PATH) else { return Vec::new() };
    let glossary = Glossary::read(text);
    let mut findings = Vec::new();
    for folder in tree.crates() {
        let name = folder.strip_prefix("crates/").unwrap_or(&folder);
        let missing = uncovered_names(tree, &folder, |term| glossary.covers(name, term));
        findings.extend(missing.iter().map(|one| {
            let message = format!("`{}` is no term of the glossary", one.name);
            let remedy = format!("add a row under `## {name}` in {PATH}");
            Finding::error(RULE, (&one.path, one.line), message, remedy)
        }));
    }
    findings
}

/// A type or module, and where it is declared.
struct UncoveredName {
    path: String,
    line: usize,
    name: String,
}

/// The public types and the modules of a crate that are not covered.
fn uncovered_names(
    tree: &Tree,
    folder: &str,
    is_covered: impl Fn(&str) -> bool,
) -> Vec<UncoveredName> {
    let sources = format!("{folder}/src/");
    let mut found = Vec::new();
    for (path, text) in tree.rust() {
        if !path.starts_with(&sources) || is_test_module(path) {
            continue;
        }
        let text = code(text);
        let own = without_tests(&text, |_| {});
        let names = own.lines().filter_map(|line| declared_type(line, "pub "));
        for name in names.filter(|name| !is_covered(name)) {
            let line = text.lines().position(|line| declared_type(line, "pub ") == Some(name));
            let (path, name) = (path.to_owned(), name.to_owned());
            found.push(UncoveredName { path, line: line.map_or(1, |line| line + 1), name });
        }
        let module = path.rsplit('/').next().and_then(|file| file.strip_suffix(".rs"));
        let module =
            module.filter(|module| !["lib", "main"].contains(module) && !is_covered(module));
        let kept_inside = ["pub(crate) ", "pub(super) ", "pub "];
        let mut types = own
            .lines()
            .filter_map(|line| kept_inside.iter().find_map(|shown| declared_type(line, shown)));
        if let Some(module) = module.filter(|_| !types.any(&is_covered)) {
            found.push(UncoveredName { path: path.to_owned(), line: 1, name: module.to_owned() });
        }
    }
    found
}

/// The type that a line of code declares after this visibility.
fn declared_type<'l>(line: &'l str, shown: &str) -> Option<&'l str> {
    let rest = line.strip_prefix(shown)?;
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c| !is_ident(c)).next()
}

/// The terms of the glossary, by section.
struct Glossary<'t> {
    sections: Vec<Section<'t>>,
}

#[derive(Default)]
struct Section<'t> {
    title: &'t str,
    /// The words in back quotes.
    quoted: BTreeSet<&'t str>,
    /// The terms, without anything between their words.
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
            section.quoted.contains(name) || section.terms.contains(&normalised(name))
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
            self.terms.insert(normalised(term));
        }
    }
}

/// A term or a name reduced to its letters and digits, in lower case.
fn normalised(term: &str) -> String {
    term.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    const SOURCE: &str = "pub struct HighWaterMark;\npub enum Rule { A }\npub struct RuleError;\n\
        pub(crate) struct Own;\n#[cfg(test)]\nmod tests {\n}\n";
    const GLOSSARY: &str = "# Glossary\n\n## Names without a row\n\n| ending | meaning |\n|---|---|\n\
        | `Error` | why not |\n\n## a\n\n| term | meaning |\n|---|---|\n\
        | high-water mark, other | the newest | `Rule` |\n";

    fn messages(source: &str, glossary: &str) -> Vec<String> {
        let tree = Tree::planted(&[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", source),
            ("docs/glossary.md", glossary),
        ]);
        check(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_term_a_name_in_quotes_and_an_ending_cover_a_type() {
        assert_eq!(messages(SOURCE, GLOSSARY), Vec::<String>::new());
    }

    #[test]
    fn a_public_type_without_a_term_is_found() {
        let source = format!("{SOURCE}pub struct Asked;\n");
        assert_eq!(messages(&source, GLOSSARY), ["`Asked` is no term of the glossary"]);
        let without = GLOSSARY.replace("high-water", "low-water");
        assert_eq!(messages(SOURCE, &without).len(), 1);
        let other = GLOSSARY.replace("## a", "## b");
        assert_eq!(messages(SOURCE, &other).len(), 2, "a row of another crate does not count");
    }

    #[test]
    fn a_module_is_covered_by_its_name_or_by_a_type_in_it() {
        let modules = [
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/high_water_mark.rs", ""),
            ("crates/a/src/other/tests.rs", ""),
            ("crates/a/src/named_by_type.rs", "pub(super) struct Rule;"),
            ("crates/a/src/parser.rs", "struct Rule;"),
            ("docs/glossary.md", GLOSSARY),
        ];
        let found = check(&Tree::planted(&modules));
        let paths: Vec<&str> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/src/parser.rs"]);
    }
}
