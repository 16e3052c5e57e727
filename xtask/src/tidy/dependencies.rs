//! Requires that the code names every direct dependency of its package.
//!
//! In a library crate a normal dependency must be named in `src/`, a build dependency in
//! `build.rs`, a dev dependency in tests, benches, examples, or the examples of the docs. In the
//! other packages any Rust file counts. A name counts as `name::`, `use name` or `extern crate
//! name`.

use toml::{Table, Value};

use super::finding::Finding;
use super::lists::{Lists, PATH};
use super::rust_text::{code, is_ident, line_of};
use super::tree::Tree;

const RULE: &str = "unused dependency";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Build,
    Dev,
}

const TABLES: [(&str, Kind); 3] = [
    ("dependencies", Kind::Normal),
    ("build-dependencies", Kind::Build),
    ("dev-dependencies", Kind::Dev),
];

/// Dependencies that no code names.
pub fn check(tree: &Tree, lists: &Lists) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in tree.packages() {
        let path = format!("{folder}/Cargo.toml");
        let text = tree.text(&path).unwrap_or_default();
        let Ok(manifest) = text.parse::<Table>() else { continue };
        for (kind, table, name) in declared_dependencies(&manifest) {
            let is_exempt = lists.unused.contains(&name);
            if is_exempt || is_named(tree, &folder, kind, &name.replace('-', "_")) {
                continue;
            }
            let offset = text.find(&format!("\n{name}")).map_or(0, |offset| offset + 1);
            let message = format!("`{name}` of [{table}] is named nowhere it could be used");
            let remedy = format!("remove it, move it to the right table, or list it in {PATH}");
            findings.push(Finding::error(RULE, (&path, line_of(text, offset)), message, remedy));
        }
    }
    findings
}

/// Kind, table and name of every dependency, including those of `[target.…]`.
fn declared_dependencies(manifest: &Table) -> Vec<(Kind, &'static str, String)> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter();
    let of_targets = targets.flat_map(|t| t.values()).filter_map(Value::as_table);
    let mut found = Vec::new();
    for section in std::iter::once(manifest).chain(of_targets) {
        for (table, kind) in TABLES {
            let names = section.get(table).and_then(Value::as_table).into_iter();
            found.extend(names.flat_map(|t| t.keys()).map(|name| (kind, table, name.clone())));
        }
    }
    found
}

fn is_named(tree: &Tree, folder: &str, kind: Kind, name: &str) -> bool {
    let is_library = folder.starts_with("crates/");
    tree.texts().any(|(path, text)| {
        let Some(inside) = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) else {
            return false;
        };
        let is_rust = inside.ends_with(".rs");
        match kind {
            Kind::Normal if is_library => {
                is_rust && inside.starts_with("src/") && in_code(text, name)
            }
            Kind::Build => inside == "build.rs" && in_code(text, name),
            // A doctest may use it, also one in a README that the crate doc includes.
            Kind::Dev if inside.starts_with("src/") || inside == "README.md" => {
                mentions(text, name)
            }
            _ => is_rust && in_code(text, name),
        }
    })
}

/// Whether the code of a Rust file names it. The quick text search avoids parsing most files.
fn in_code(text: &str, name: &str) -> bool {
    text.contains(name) && mentions(&code(text), name)
}

/// Whether the text has `name::`, or `name` directly after `use` or `crate`.
fn mentions(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(offset, _)| {
        let head = text.get(..offset).unwrap_or_default();
        let tail = text.get(offset + name.len()..).unwrap_or_default();
        if head.ends_with(is_ident) || tail.starts_with(is_ident) {
            return false;
        }
        let word = head.trim_end();
        let after_keyword = ["use", "crate"].iter().any(|keyword| {
            word.strip_suffix(keyword).is_some_and(|rest| !rest.ends_with(is_ident))
        });
        tail.trim_start().starts_with("::") || after_keyword
    })
}

#[cfg(test)]
mod tests {
    use super::{check, mentions};
    use crate::tidy::lists::Lists;
    use crate::tidy::tree::Tree;

    const MANIFEST: &str = "[package]\nname = \"a\"\n\n[dependencies]\nab-cd.workspace = true\n\n\
        [dev-dependencies]\nef = \"1\"\n\n[target.'cfg(unix)'.dependencies]\ngh = { version = \"1\" }\n";

    fn found(files: &[(&str, &str)]) -> Vec<(usize, String)> {
        let mut all = vec![("crates/a/Cargo.toml", MANIFEST)];
        all.extend_from_slice(files);
        let findings = check(&Tree::planted(&all), &Lists::default());
        findings.into_iter().map(|f| (f.line, f.message)).collect()
    }

    #[test]
    fn named_dependencies_pass() {
        let files = [
            ("crates/a/src/lib.rs", "#[derive(ab_cd::X)]\nstruct S;\npub use gh;\n"),
            ("crates/a/tests/it/main.rs", "use ef::{a, b};\n"),
        ];
        assert_eq!(found(&files), []);
    }

    #[test]
    fn unnamed_dependencies_are_found_with_their_line() {
        let lines: Vec<usize> = found(&[]).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [5, 8, 11]);
    }

    #[test]
    fn a_dependency_of_the_library_is_not_used_by_its_tests_or_comments() {
        let files = [
            ("crates/a/src/lib.rs", "//! ab_cd::X\nuse gh::x;\nlet s = \"ab_cd::y\";\n//! ef::x"),
            ("crates/a/tests/it/main.rs", "use ab_cd::X;\n"),
        ];
        let messages = found(&files);
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages.iter().all(|(_, m)| m.contains("`ab-cd`")), "{messages:?}");
    }

    #[test]
    fn only_whole_names_count() {
        assert!(mentions("use  toml;", "toml"));
        assert!(mentions("pub(crate) use toml as t;", "toml"));
        assert!(mentions("extern crate toml;", "toml"));
        assert!(mentions("x(toml :: y)", "toml"));
        assert!(!mentions("my_toml::y; toml_edit::z; let toml = 1; reuse toml", "toml"));
    }
}
