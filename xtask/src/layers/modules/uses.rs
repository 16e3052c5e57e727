//! Finds which module uses which, in the parsed sources of a crate.
//!
//! Test code is skipped. Paths count wherever they stand, in calls of macros too, and so do imports,
//! but not re-exports: who imports a name from there uses its origin.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::Item;

use crate::parsed_crate::{Crate, ModulePath, is_test_condition};

/// The modules that each module of a crate uses. The root of the crate, which only declares modules,
/// is in no list.
pub fn module_uses(krate: &Crate) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
    let uses = krate.modules.iter().map(|(path, module)| {
        let mut paths: Vec<Vec<String>> = module
            .imports
            .iter()
            .filter(|one| !one.is_exported)
            .map(|one| one.path.clone())
            .collect();
        // Modules in the same file are modules of their own here.
        let items = module.items.iter().filter(|item| !matches!(item, Item::Use(_) | Item::Mod(_)));
        items.for_each(|item| add_paths(item.to_token_stream(), &mut paths));
        let mut used: BTreeSet<_> = paths.iter().map(|to| krate.module_of(path, to)).collect();
        used.remove(path);
        used.remove(&ModulePath::new());
        (path.clone(), used)
    });
    uses.collect()
}

/// Adds every sequence of names that are joined by `::`.
fn add_paths(tokens: TokenStream, paths: &mut Vec<Vec<String>>) {
    let (mut path, mut colons, mut is_test) = (Vec::new(), 0, false);
    for token in tokens {
        match token {
            // A test-only item ends with its block or its semicolon.
            TokenTree::Group(group) if is_test => is_test = group.delimiter() != Delimiter::Brace,
            TokenTree::Punct(punct) if is_test => is_test = punct.as_char() != ';',
            _ if is_test => {}
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Ident(name) => {
                if colons != 2 {
                    paths.push(std::mem::take(&mut path));
                }
                path.push(name.to_string());
                colons = 0;
            }
            other => {
                paths.push(std::mem::take(&mut path));
                colons = 0;
                if let TokenTree::Group(group) = other {
                    is_test = is_test_condition(&group.stream());
                    add_paths(group.stream(), paths);
                }
            }
        }
    }
    paths.push(path);
    paths.retain(|path| path.len() > 1);
}
