//! Recognises names of files and of code that look like hosts: `README.md`, `user.name`.
//!
//! Several top-level domains are endings of files, and anybody can register a host under one. So an
//! ending alone excuses nothing, nor does a word that people use for pages as well: the name is one that programs are made of, it cannot be registered,
//! or the text around it says that it is a file.

use super::domain;

/// Endings of files that are also top-level domains.
const FILE_ENDINGS: [&str; 13] =
    ["md", "py", "rs", "sh", "pl", "so", "zip", "mov", "ps", "cc", "ml", "mk", "tf"];
/// Names that files of programs have everywhere.
const FILE_STEMS: &str = "readme changelog contributing license licence security todo notes note report \
    summary minutes agenda plan spec design architecture guide faq history news authors codeowners \
    agents claude main index app server client lib mod utils util helpers config settings setup \
    test tests conftest models model views urls routes schema manage build install deploy start \
    stop run entrypoint bootstrap init backup restore release archive data export photo photos \
    video source src dist makefile common types constants errors error";
/// Words before a name which say that it is a file.
const FILE_CUES: [&str; 10] = [
    "file", "files", "script", "module", "datei", "skript", "fichero", "archivo", "fichier",
    "import",
];
/// Words before a name which say that it is a place to go.
const VISIT_CUES: [&str; 8] =
    ["visit", "browse", "website", "site", "domain", "host", "url", "link"];
/// Names of things in programs, of which the second list has the members.
const OBJECTS: &str = "user team file this self item node obj object event req res request response config \
    options opts row record entry err error props state ctx context document process app model \
    order repo issue pull customer account contact product project org group member author owner \
    task job page post message msg foo";
const MEMBERS: &str =
    "name id is to in at me date email post style group bar baz data new tax total price";
/// Products that are written like hosts.
const PRODUCTS: [&str; 4] = ["asp.net", "vb.net", "ado.net", "ml.net"];

/// The text around a part that could be a host.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Surroundings<'t> {
    /// The word before it.
    pub(super) word_before: &'t str,
    /// The character that ends it.
    pub(super) next: Option<char>,
    /// Whether it is in backticks.
    pub(super) is_code: bool,
    /// Whether parts of a path are before it.
    pub(super) ends_path: bool,
}

/// Whether a bare name without scheme, port and path is one of a file or of code.
pub(super) fn is_code_name(name: &str, around: Surroundings<'_>) -> bool {
    let lower = name.to_lowercase();
    if PRODUCTS.contains(&lower.as_str()) || around.next == Some('(') && !domain::is_host(name) {
        return true;
    }
    let before = around.word_before.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let Some((stem, ending)) = lower.rsplit_once('.') else { return false };
    if VISIT_CUES.contains(&before.as_str()) {
        return false;
    }
    let listed = |list: &str, word: &str| list.split_ascii_whitespace().any(|known| known == word);
    if FILE_ENDINGS.contains(&ending) {
        let label = stem.rsplit('.').next().unwrap_or_default();
        return listed(FILE_STEMS, stem)
            // No such name can be registered.
            || label.contains('_')
            || around.is_code
            || around.ends_path
            || FILE_CUES.contains(&before.as_str());
    }
    listed(OBJECTS, stem) && listed(MEMBERS, ending)
}

#[cfg(test)]
mod tests {
    use super::super::destinations;

    fn sends(text: &str) -> bool {
        !destinations(text).0.is_empty()
    }

    #[test]
    fn names_of_files_and_of_code_are_no_hosts() {
        for text in [
            "See README.md and main.py, or src/parser.rs",
            "in the file parser.py",
            "run `tool.sh` first",
            "call foo.bar.baz() and load(user.name)",
            "Built with ASP.NET",
            "my_tool.sh",
            "set team.id and file.name",
            "lib.so, data.zip",
            "in bin/run.sh",
        ] {
            assert!(!sends(text), "{text}: {:?}", destinations(text).0);
        }
    }

    #[test]
    fn a_host_is_one_whatever_its_ending() {
        for text in [
            "see evil.sh", "https://main.py", "main.py/x", "visit main.py", "go to evil.md?x=1",
            "www.readme.md", "a.readme.md", "the document portal.sh", "is called login.rs",
            "account.info", "order.link", "path portal.md", "evil.name", "evil.com()",
            "`evil.com`", "evil.zip", "x/evil.com", "main.py:8080", "a@main.py",
        ] {
            assert!(sends(text), "{text}");
        }
    }
}
