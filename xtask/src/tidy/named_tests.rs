//! Requires that the tests that documents name exist, and that tests are named after what they
//! show.
//!
//! A reference is code in backticks of the form `path/to/file.rs::test_fn`, with the path from the
//! root of the repository; modules may be in between: `path/to/file.rs::tests::test_fn`. The file
//! must exist and contain `fn test_fn`. Other code in backticks is not a reference. Every page
//! under `docs/` is checked.
//!
//! The id of a recorded case does not belong in a test's name, but in a line such as `/// Cases:
//! APR-01.` above the test, with commas between several and ranges such as `GATE-01 to GATE-10`. A
//! function named after a case is an error, and so is a malformed or misplaced line.

use super::finding::Finding;
use super::rust_text::{code, is_ident};
use super::tree::Tree;

const RULE: &str = "named test";
/// How many lines of comments and attributes may be between the line of cases and its test.
const MAX_ATTRIBUTES: usize = 8;

/// Introduces the case ids above a test.
const CASES: &str = "/// Cases: ";
/// Families of cases with a number after the name.
const FAMILIES: [&str; 10] =
    ["APR", "ARB", "FWL", "GATE", "HOLE", "LOG", "PSIG", "RTG", "SBK", "UNI"];

/// References to missing files or tests, tests named after a case, and malformed lines of cases.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = broken_references(tree);
    for (path, text) in tree.rust() {
        findings.extend(check_cases(path, text));
    }
    findings
}

/// Checks the function names and the lines of cases in a file.
fn check_cases(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let code = code(text);
    let lines: Vec<&str> = text.lines().collect();
    for (number, (line, code)) in lines.iter().zip(code.lines()).enumerate() {
        let place = (path, number + 1);
        if let Some(name) = function_name(code).filter(|name| is_named_for_a_case(name)) {
            let message = format!("`{name}` is named for a case");
            let remedy = "name it for what it shows, and write `/// Cases: ID.` above it";
            findings.push(Finding::error(RULE, place, message, remedy));
        }
        let Some(ids) = line.trim_start().strip_prefix(CASES) else { continue };
        if !are_case_ids(ids) {
            let message = format!("`{ids}` are no ids of cases");
            let remedy = "write `/// Cases: APR-01, GATE-01 to GATE-10.`";
            findings.push(Finding::error(RULE, place, message, remedy));
        }
        let item = lines.iter().skip(number + 1).map(|line| line.trim_start());
        let item = item.take(MAX_ATTRIBUTES).find(|line| !line.starts_with(['#', '/']));
        if item.is_none_or(|item| function_name(item).is_none()) {
            let message = "cases stand above a test".to_owned();
            findings.push(Finding::error(RULE, place, message, "move the line to its test"));
        }
    }
    findings
}

/// The name of the function that starts on a line.
fn function_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    let name = line.strip_prefix("fn ")?;
    name.split(|c| !is_ident(c)).next()
}

/// Whether a name begins with the id of a case: `apr_01_…`, `gate12_…`, `x07_…`, `w2_…`.
fn is_named_for_a_case(name: &str) -> bool {
    let letters = name.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(name.len());
    let (family, rest) = name.split_at(letters);
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).count();
    let ends = |rest: &str, digits: usize| rest.chars().nth(digits).is_none_or(|c| c == '_');
    if FAMILIES.contains(&family.to_uppercase().as_str()) {
        let rest = rest.strip_prefix('_').unwrap_or(rest);
        let count = digits(rest);
        return (1..=2).contains(&count) && rest.chars().nth(count) == Some('_');
    }
    let count = digits(rest);
    // `w` and `t` number weaknesses and threats with one digit; after other letters one digit is no
    // case (`l2` is a rung).
    letters == 1 && (count == 2 || count == 1 && matches!(family, "w" | "t")) && ends(rest, count)
}

/// Whether a line consists of ids and ranges of ids, and ends with a full stop.
fn are_case_ids(line: &str) -> bool {
    let Some(entries) = line.strip_suffix('.') else { return false };
    entries.split(", ").all(|entry| {
        let (first, last) = entry.split_once(" to ").unwrap_or((entry, entry));
        let ids = case_id(first).zip(case_id(last));
        ids.is_some_and(|(first, last)| first.0 == last.0 && first.1 <= last.1)
    })
}

/// Family and number of `APR-01` or `W2`.
fn case_id(text: &str) -> Option<(&str, u32)> {
    let at = text.find(|c: char| c.is_ascii_digit())?;
    let (family, number) = text.split_at_checked(at)?;
    let letters = family.strip_suffix('-').unwrap_or(family);
    let named = !letters.is_empty() && letters.chars().all(|c| c.is_ascii_uppercase());
    named.then_some((letters, number.parse().ok()?))
}

fn broken_references(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let pages = tree.texts().filter(|(path, _)| path.starts_with("docs/") && path.ends_with(".md"));
    for (document, text) in pages {
        for (number, line) in text.lines().enumerate() {
            for (path, test) in references(line) {
                let message = match tree.text(path) {
                    None => format!("`{path}` does not exist"),
                    Some(text) if !has_function(text, test) => {
                        format!("`{path}` has no test `{test}`")
                    }
                    Some(_) => continue,
                };
                let remedy = "correct the reference or write the test";
                findings.push(Finding::error(RULE, (document, number + 1), message, remedy));
            }
        }
    }
    findings
}

/// File and test of every reference in the line.
fn references(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split('`').skip(1).step_by(2).filter_map(|span| {
        let at = span.find(".rs::")?;
        let (path, rest) = span.split_at_checked(at + ".rs".len())?;
        let test = rest.rsplit("::").next()?;
        Some((path, test))
    })
}

fn has_function(text: &str, name: &str) -> bool {
    let text = code(text);
    !name.is_empty()
        && text.match_indices("fn ").any(|(offset, keyword)| {
            let before = text.get(..offset).and_then(|head| head.chars().next_back());
            let after = text.get(offset + keyword.len()..).unwrap_or_default().trim_start();
            let found = after.strip_prefix(name).is_some_and(|rest| !rest.starts_with(is_ident));
            found && !before.is_some_and(is_ident)
        })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn messages(document: &str) -> Vec<String> {
        let tree = Tree::planted(&[
            ("docs/shelf/page.md", document),
            ("crates/a/tests/it/b.rs", "// fn commented()\n#[test]\nfn holds() {}\n"),
        ]);
        check(&tree).into_iter().map(|f| f.message).collect()
    }

    #[test]
    fn existing_tests_pass() {
        let text =
            "| x | `crates/a/tests/it/b.rs::holds`, `crates/a/tests/it/b.rs::m::holds` | `a::B` |";
        assert_eq!(messages(text), Vec::<String>::new());
    }

    #[test]
    fn missing_tests_and_files_are_found() {
        let found = messages(
            "`crates/a/tests/it/b.rs::hold`\n`crates/a/tests/it/b.rs::commented`\n`c.rs::holds`\n",
        );
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().any(|m| m == "`c.rs` does not exist"), "{found:?}");
    }

    fn of_code(text: &str) -> Vec<String> {
        let tree = Tree::planted(&[("crates/a/tests/it/b.rs", text)]);
        check(&tree).into_iter().map(|f| f.message).collect()
    }

    #[test]
    fn a_test_named_for_a_case_is_found() {
        for name in ["apr_01_holds", "sbk07_ids", "x07_views", "w2_authority", "w12_a", "t6_two"] {
            let found = of_code(&format!("#[test]\nfn {name}() {{}}\n"));
            assert_eq!(found, [format!("`{name}` is named for a case")]);
        }
        for name in ["l2_and_lower_rungs", "of_64_calls", "a_log", "log2", "gate", "utf8_text"] {
            assert_eq!(of_code(&format!("fn {name}() {{}}\n")), [""; 0], "{name}");
        }
    }

    #[test]
    fn cases_stand_above_a_test_and_are_well_formed() {
        let above = "/// Cases: APR-01, W2, GATE-01 to GATE-10.\n#[test]\nfn holds() {}\n";
        assert_eq!(of_code(above), [""; 0]);
        let nothing = of_code("/// Cases: APR-01.\nstruct A;\n");
        assert_eq!(nothing, ["cases stand above a test"]);
        for ids in ["APR-01", "apr-01.", "APR-02 to APR-01.", "APR-01 to ARB-02.", "."] {
            let found = of_code(&format!("/// Cases: {ids}\nfn holds() {{}}\n"));
            assert_eq!(found, [format!("`{ids}` are no ids of cases")]);
        }
    }

    #[test]
    fn other_files_are_not_read() {
        let tree = Tree::planted(&[
            ("CHANGELOG.md", "`gone.rs::holds`"),
            ("docs/picture.svg", "`gone.rs::holds`"),
        ]);
        assert!(check(&tree).is_empty());
    }
}
