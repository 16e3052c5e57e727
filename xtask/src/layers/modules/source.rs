//! Finds which module uses which, with a lightweight scanner of the sources.
//!
//! Comments, strings and test code are skipped. A path counts if it begins with `crate`, `self`,
//! `super` or the name of a child module. It resolves to the deepest module that it names, through
//! imports and re-exports. Paths made by macros are not seen.

use std::collections::{BTreeMap, BTreeSet};

use syn::UseTree;

use super::SourceFile;
use crate::tidy::rust_text::{code, is_ident, without_tests};

/// The names from the root of the crate; empty for the root itself.
pub type ModulePath = Vec<String>;

/// How many imports are followed from one path.
const MAX_HOPS: usize = 8;

/// A module with the modules that it uses.
#[derive(Debug, Default)]
pub struct Module {
    pub uses: BTreeSet<ModulePath>,
}

/// A module as scanned.
#[derive(Debug, Default)]
struct ScannedModule {
    /// Paths in the code, as written.
    paths: Vec<Vec<String>>,
    /// Imported names with the paths that they resolve to.
    imports: BTreeMap<String, Vec<String>>,
    /// Modules that are compiled for tests only.
    test_modules: BTreeSet<String>,
}

impl ScannedModule {
    fn add(&mut self, other: Self) {
        self.paths.extend(other.paths);
        self.imports.extend(other.imports);
        self.test_modules.extend(other.test_modules);
    }
}

/// The modules of a crate with their uses.
pub fn modules(files: &[SourceFile<'_>]) -> BTreeMap<ModulePath, Module> {
    let mut scanned: BTreeMap<ModulePath, ScannedModule> = BTreeMap::new();
    for file in files {
        if let Some(path) = module_path(file.path) {
            // A library and a binary of one crate share the root.
            let module = scanned.entry(path).or_default();
            module.add(scan(&code(file.text)));
        }
    }
    let tests: Vec<ModulePath> = scanned
        .iter()
        .flat_map(|(path, one)| {
            one.test_modules
                .iter()
                .map(|name| [path.as_slice(), std::slice::from_ref(name)].concat())
        })
        .collect();
    scanned.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    let resolved = |path: &ModulePath, one: &ScannedModule| {
        // A path into another crate resolves to the module that it is written in, which is filtered
        // out here.
        let targets = one.paths.iter().filter_map(|to| resolve(&scanned, path, to, MAX_HOPS));
        Module { uses: targets.filter(|to| to != path).collect() }
    };
    scanned.iter().map(|(path, one)| (path.clone(), resolved(path, one))).collect()
}

/// The module of a file below `src`; `None` for additional binaries.
fn module_path(path: &str) -> Option<ModulePath> {
    let stem = path.strip_suffix(".rs")?;
    let mut parts: ModulePath = stem.split('/').map(str::to_owned).collect();
    if parts.first().is_some_and(|first| first == "bin") {
        return None;
    }
    if matches!(parts.last().map(String::as_str), Some("lib" | "main" | "mod")) {
        parts.pop();
    }
    Some(parts)
}

/// The deepest module that a path resolves to. The crate root does not count, because it only
/// declares modules.
fn resolve(
    modules: &BTreeMap<ModulePath, ScannedModule>,
    from: &ModulePath,
    path: &[String],
    hops: usize,
) -> Option<ModulePath> {
    let (mut at, mut rest) = (from.clone(), path);
    while let Some((first, more)) = rest.split_first() {
        match first.as_str() {
            "crate" => at = ModulePath::new(),
            "super" => {
                at.pop()?;
            }
            "self" => {}
            name => {
                let below = [at.as_slice(), &[name.to_owned()]].concat();
                if !modules.contains_key(&below) {
                    break;
                }
                at = below;
            }
        }
        rest = more;
    }
    let import = rest.first().and_then(|name| modules.get(&at)?.imports.get(name));
    if let Some(import) = import.filter(|_| hops > 0)
        && let Some(target) = resolve(modules, &at, import, hops - 1)
    {
        return Some(target);
    }
    (!at.is_empty()).then_some(at)
}

/// Scans the code of one module.
fn scan(code: &str) -> ScannedModule {
    let mut out = ScannedModule::default();
    let text = without_tests(code, |item| out.test_modules.extend(declared_module(item)));
    let tokens = tokens(&text);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if *token == "use" {
            let exported = is_exported(tokens.get(..at).unwrap_or_default());
            let end = tokens.iter().skip(at).position(|token| *token == ";");
            let end = end.map_or(tokens.len(), |offset| at + offset);
            let declared = tokens.get(at + 1..end).unwrap_or_default().join(" ");
            let mut imports = Vec::new();
            if let Ok(tree) = syn::parse_str(&declared) {
                add_imports(&tree, &[], &mut imports);
            }
            for import in imports {
                out.imports.insert(import.name, import.path.clone());
                // A re-export does not count as a use: who imports the name from here uses its
                // origin.
                if !exported {
                    out.paths.push(import.path);
                }
            }
            at = end;
        } else if token.starts_with(is_ident) {
            let path = inline_path(tokens.get(at..).unwrap_or_default());
            at += path.len().saturating_mul(2).saturating_sub(2);
            if path.len() > 1 {
                out.paths.push(path);
            }
        }
        at += 1;
    }
    out
}

/// The path that begins here: names joined by `::`.
fn inline_path(tokens: &[&str]) -> Vec<String> {
    let mut path = Vec::new();
    let mut rest = tokens;
    while let Some((name, more)) = rest.split_first() {
        if !name.starts_with(is_ident) {
            break;
        }
        path.push((*name).to_owned());
        match more.split_first() {
            Some((&"::", after)) if after.first().is_some_and(|t| t.starts_with(is_ident)) => {
                rest = after;
            }
            _ => break,
        }
    }
    path
}

/// Whether the tokens before a `use` make it a re-export: `pub`, `pub(crate)`, `pub(super)`.
fn is_exported(before: &[&str]) -> bool {
    match before.last() {
        Some(&"pub") => true,
        Some(&")") => {
            let open = before.iter().rposition(|token| *token == "(");
            open.and_then(|at| before.get(at.checked_sub(1)?)) == Some(&"pub")
        }
        _ => false,
    }
}

/// One name that a `use` brings into scope.
struct Import {
    name: String,
    path: Vec<String>,
}

/// Adds everything that a `use` imports from below `prefix`.
fn add_imports(tree: &UseTree, prefix: &[String], out: &mut Vec<Import>) {
    let path_to = |ident: &syn::Ident| match prefix {
        // `use a::{self}` imports `a`.
        [_, ..] if ident == "self" => prefix.to_vec(),
        _ => [prefix, &[ident.to_string()]].concat(),
    };
    match tree {
        UseTree::Path(path) => add_imports(&path.tree, &path_to(&path.ident), out),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| add_imports(tree, prefix, out));
        }
        UseTree::Glob(_) => out.push(Import { name: "*".to_owned(), path: prefix.to_vec() }),
        UseTree::Rename(renamed) => {
            let (name, path) = (renamed.rename.to_string(), path_to(&renamed.ident));
            out.push(Import { name, path });
        }
        UseTree::Name(named) => {
            let path = path_to(&named.ident);
            out.push(Import { name: path.last().cloned().unwrap_or_default(), path });
        }
    }
}

/// Splits a text into names, `::`, and single characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_ident(first) {
            rest.find(|c| !is_ident(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, more) = rest.split_at(length);
        out.push(token);
        rest = more.trim_start();
    }
    out
}

/// The name of the module that an item declares in its own file.
fn declared_module(item: &str) -> Option<String> {
    let words: Vec<&str> = item.split_whitespace().collect();
    let [.., "mod", name] = words.as_slice() else { return None };
    name.strip_suffix(';').map(str::to_owned)
}
