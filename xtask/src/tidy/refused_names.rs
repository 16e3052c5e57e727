//! Requires that the name of a type or module is a noun and not a single participle, adverb or
//! pronoun.
//!
//! Such a word says how something came about (`Sealed`, `Taken`) and not what it is. An enum
//! variant may have one, because it names a state. Test-only code is exempt.

use super::finding::Finding;
use super::rust_text::{code, is_ident, without_tests};
use super::sizes::is_test_module;
use super::tree::Tree;

const RULE: &str = "refused name";
const REMEDY: &str = "use the term of the field, or two words that say what it holds";

/// The words, as they appear in module names. `keeper` and `stuff` are nouns, but say as little.
const WORDS: &str = "\
    aborted acknowledged acquired added admitted after anything as asked at believed beside \
    beyond bounded broken called changed checked closed confined connected cosigned covered \
    covering cut decoded delivered denied done dropped effective encoded ended ending enforced \
    expected explained filled fingerprinted fixed forwarded found from generated gone heard held \
    here holding implied incoming incomplete installed instead joined judged keeper kept known \
    large late listening live lives loaded located made many marked masked meant missed missing \
    mixed moved named narrowed nested never normalised now observed of offered omitted only \
    opened opening ours outgoing own paired parsed past pending plain prepared pruned queued \
    quoted ran raw reached ready received recovered redacted refused registered rejected relayed \
    rendered repaired resolved said scanned scripted sealed seeded seen selected shared shown \
    sifted signed silent snapshotted standing stepping stored strict structured stuff superseded \
    switched synced taken takes tells they today told typed unclear unfinished unlike unlisted \
    unowned untaken verified visible wanted watched way what when who whole written wrong";

/// Types and modules with such a name.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        if is_test_module(path) || path.contains("/benches/") {
            continue;
        }
        for (name, line) in refused_in_file(path, text) {
            let message = format!("`{name}` says nothing of what it holds");
            findings.push(Finding::error(RULE, (path, line), message, REMEDY));
        }
    }
    findings
}

/// The refused names of a file with their lines: of the module itself and of its types.
fn refused_in_file(path: &str, text: &str) -> Vec<(String, usize)> {
    let stem = path.rsplit('/').next().and_then(|file| file.strip_suffix(".rs"));
    let module = stem.filter(|stem| is_refused(stem)).map(|stem| (stem.to_owned(), 1));
    let text = code(text);
    let own = without_tests(&text, |_| {});
    let types = own.lines().filter_map(declared_type).filter(|name| is_refused(name));
    let line = |name: &str| text.lines().position(|line| declared_type(line) == Some(name));
    let types = types.map(|name| (name.to_owned(), line(name).map_or(1, |line| line + 1)));
    module.into_iter().chain(types).collect()
}

fn is_refused(name: &str) -> bool {
    WORDS.split_whitespace().any(|word| name.eq_ignore_ascii_case(word))
}

/// The type that a line of code declares.
fn declared_type(line: &str) -> Option<&str> {
    let rest = line.trim_start();
    let rest = match rest.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => rest,
    };
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c| !is_ident(c)).next()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&Tree::planted(&[(path, text)]))
            .into_iter()
            .map(|finding| format!("{}: {}", finding.line, finding.message))
            .collect()
    }

    #[test]
    fn a_type_with_a_participle_for_its_name_is_found() {
        let source = "struct Row;\npub(super) enum Taken { A }\npub type Way = u8;\n";
        let found = messages("crates/a/src/b.rs", source);
        let says = "says nothing of what it holds";
        assert_eq!(found, [format!("2: `Taken` {says}"), format!("3: `Way` {says}")]);
    }

    #[test]
    fn a_variant_a_longer_name_and_a_test_type_are_not() {
        let source = "enum State { Taken, Kept }\nstruct KeptRow;\nstruct Takeout;\n\
            #[cfg(test)]\nmod tests {\n    struct Taken;\n}\n";
        assert_eq!(messages("crates/a/src/b.rs", source), Vec::<String>::new());
        assert_eq!(messages("crates/a/src/b/tests.rs", "struct Taken;"), Vec::<String>::new());
    }

    #[test]
    fn a_module_with_such_a_name_is_found() {
        assert_eq!(messages("crates/a/src/pruned.rs", "").len(), 1);
        assert_eq!(messages("crates/a/src/pruned_json.rs", ""), Vec::<String>::new());
    }
}
