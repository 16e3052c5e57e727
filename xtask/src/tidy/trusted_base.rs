//! Requires that the trusted base is as large as the threat model says.
//!
//! A row of its table names files and folders in backticks and, in the last column, their lines of
//! code and data without blank lines, comments and tests. A list of words counts by its lines, in a string
//! of the code or in a file of its own. The stated number may exceed the count by less
//! than [`MAX_EXCESS`], and must never be below it. So the trusted base grows only if somebody writes
//! that down.

use super::finding::Finding;
use super::rust_text::{code_with_strings, without_tests};
use super::tree::Tree;

const RULE: &str = "trusted base";
const DOCUMENT: &str = "docs/threat-model.md";
const HEADING: &str = "## The trusted base";
/// By how much a stated number may exceed the count.
const MAX_EXCESS: usize = 200;

/// Rows that do not state the size of the code.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(DOCUMENT).unwrap_or_default();
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with("## "));
    let rows = section.filter_map(|(number, line)| Some((number + 1, parse_row(line)?)));
    rows.filter_map(|(number, row)| row.finding(tree, number)).collect()
}

/// A row of the table, and the code that it is about.
struct TrustedBaseRow<'t> {
    paths: Vec<&'t str>,
    stated: &'t str,
}

/// Parses a row of the table that names code.
fn parse_row(line: &str) -> Option<TrustedBaseRow<'_>> {
    let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let (rest, stated) = cells.rsplit_once(" | ")?;
    let paths: Vec<&str> =
        rest.split('`').skip(1).step_by(2).filter(|path| path.starts_with("crates/")).collect();
    (!paths.is_empty()).then_some(TrustedBaseRow { paths, stated })
}

impl TrustedBaseRow<'_> {
    fn finding(&self, tree: &Tree, number: usize) -> Option<Finding> {
        let error = |message: String, remedy: &str| {
            Some(Finding::error(RULE, (DOCUMENT, number), message, remedy))
        };
        for path in &self.paths {
            if !tree.rust().any(|(file, _)| belongs(file, path)) {
                return error(format!("`{path}` holds no code"), "correct the path");
            }
        }
        let Ok(stated) = self.stated.replace(',', "").parse::<usize>() else {
            let message = format!("`{}` is not a number of lines", self.stated);
            return error(message, "write the number of lines of code");
        };
        let files = tree.texts().filter(|(file, _)| !file.ends_with("/tests.rs"));
        let named = files.filter(|(file, _)| self.paths.iter().any(|path| belongs(file, path)));
        let counted: usize = named.map(|(file, text)| lines(file, text)).sum();
        if counted > stated {
            let message = format!("the code has grown from {stated} to {counted} lines");
            return error(message, "make it smaller, or say in the table that it has grown");
        }
        if stated - counted >= MAX_EXCESS {
            let message = format!("the code has shrunk from {stated} to {counted} lines");
            return error(message, "lower the number");
        }
        None
    }
}

/// Whether a file is the named one, or is in the named folder.
fn belongs(file: &str, path: &str) -> bool {
    file == path || path.ends_with('/') && file.starts_with(path)
}

/// The lines of code of a Rust file, or of data of any other one.
fn lines(file: &str, text: &str) -> usize {
    let text = match file.ends_with(".rs") {
        true => without_tests(&code_with_strings(text), |_| {}),
        false => text.to_owned(),
    };
    let is_data = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("# ");
    text.lines().filter(is_data).count()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn messages(row: &str, lines: usize) -> Vec<String> {
        let document = format!("# T\n\n## The trusted base\n\n| a | b | 1 |\n{row}\n\n## More\n");
        let code = format!(
            "// a comment\n\n{}#[cfg(test)]\nmod tests {{\n    fn f() {{}}\n}}\n",
            "let a = 1;\n".repeat(lines)
        );
        let tree = Tree::planted(&[
            ("docs/threat-model.md", &document),
            ("crates/a/src/b.rs", &code),
            ("crates/a/src/b/c.rs", "let a = 1;\n"),
            ("crates/a/src/b/tests.rs", "let a = 1;\n"),
        ]);
        check(&tree).into_iter().map(|f| f.message).collect()
    }

    #[test]
    fn a_row_counts_code_and_neither_comments_nor_tests() {
        let row = "| it | `crates/a/src/b.rs`, `crates/a/src/b/` | 1,001 |";
        assert_eq!(messages(row, 1_000), [""; 0]);
        assert_eq!(messages(row, 900), [""; 0]);
        assert_eq!(messages(row, 1_001), ["the code has grown from 1001 to 1002 lines"]);
        assert_eq!(messages(row, 800), ["the code has shrunk from 1001 to 801 lines"]);
    }

    #[test]
    fn lists_of_words_count_wherever_they_are() {
        let document = "# T\n\n## The trusted base\n\n| it | `crates/a/src/` | 4 |\n";
        let files = [
            ("docs/threat-model.md", document),
            ("crates/a/src/b.rs", "const A: &str = \"one \\\n    two \\\n    three\";\n"),
            ("crates/a/src/words.txt", "# of b\n\nfour\nfive\n"),
        ];
        let found: Vec<_> = check(&Tree::planted(&files)).into_iter().map(|f| f.message).collect();
        assert_eq!(found, ["the code has grown from 4 to 5 lines"]);
    }

    #[test]
    fn a_row_names_code_that_is_there() {
        assert_eq!(
            messages("| it | `crates/a/src/d.rs` | 10 |", 5),
            ["`crates/a/src/d.rs` holds no code"]
        );
        assert_eq!(
            messages("| it | `crates/a/src/b.rs` | many |", 5),
            ["`many` is not a number of lines"]
        );
    }
}
