//! Lists the public items of a crate as lines of text.

use std::collections::BTreeSet;

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, TraitItem, Type, Visibility};

use crate::parsed_crate::{Crate, ModulePath, Target, is_for_tests, name_of};

/// Every line of the interface, sorted and without duplicates.
pub fn public_lines(krate: &Crate) -> Vec<String> {
    let mut out = Lister { krate, lines: BTreeSet::new(), visited: BTreeSet::new() };
    out.module(&ModulePath::new(), &krate.name);
    out.lines.into_iter().collect()
}

struct Lister<'a> {
    krate: &'a Crate,
    lines: BTreeSet<String>,
    /// Modules that were visited, with the path that led to them.
    visited: BTreeSet<(ModulePath, String)>,
}

impl Lister<'_> {
    /// Adds everything in a module that another crate can name, under this path.
    fn module(&mut self, path: &ModulePath, prefix: &str) {
        if !self.visited.insert((path.clone(), prefix.to_owned())) {
            return;
        }
        let Some(module) = self.krate.modules.get(path) else { return };
        for item in &module.items {
            match item {
                Item::Mod(one) if is_shown(&one.vis, &one.attrs) => {
                    let below = [path.as_slice(), &[one.ident.to_string()]].concat();
                    let prefix = format!("{prefix}::{}", one.ident);
                    self.add(&one.attrs, format!("pub mod {prefix}"));
                    self.module(&below, &prefix);
                }
                Item::Macro(one) if is_exported_macro(&one.attrs) => {
                    if let Some(name) = &one.ident {
                        self.add(&one.attrs, format!("pub macro {}::{name}!", self.krate.name));
                    }
                }
                other => self.item(other, path, prefix, None),
            }
        }
        for import in module.imports.iter().filter(|import| import.is_public) {
            let target = self.krate.resolve(path, &import.path);
            match (target, &import.name) {
                (Target::Module(below), None) => self.module(&below, prefix),
                (Target::Module(below), Some(name)) => {
                    let prefix = format!("{prefix}::{name}");
                    self.lines.insert(format!("pub mod {prefix}"));
                    self.module(&below, &prefix);
                }
                (Target::Item(home, own), Some(name)) => {
                    self.add_reexport(&home, &own, prefix, name)
                }
                (_, name) => {
                    let name = name.as_deref().unwrap_or("*");
                    let from = import.path.join("::");
                    self.lines.insert(format!("pub use {prefix}::{name} = {from}"));
                }
            }
        }
    }

    /// Adds an item of another module, under the name that a re-export gives it.
    fn add_reexport(&mut self, home: &ModulePath, own: &str, prefix: &str, name: &str) {
        let Some(module) = self.krate.modules.get(home) else { return };
        let named = module.items.iter().filter(|item| name_of(item).as_deref() == Some(own));
        for item in named {
            self.item(item, home, prefix, Some(name));
        }
    }

    fn item(&mut self, item: &Item, home: &ModulePath, prefix: &str, name: Option<&str>) {
        let Some(own) = name_of(item) else { return };
        let path = format!("{prefix}::{}", name.unwrap_or(&own));
        match item {
            Item::Fn(one) if is_shown(&one.vis, &one.attrs) => {
                self.add(&one.attrs, format!("pub {}", signature(&one.sig, &path)));
            }
            Item::Const(one) if is_shown(&one.vis, &one.attrs) => {
                self.add(&one.attrs, format!("pub const {path}: {}", text(&one.ty)));
            }
            Item::Static(one) if is_shown(&one.vis, &one.attrs) => {
                self.add(&one.attrs, format!("pub static {path}: {}", text(&one.ty)));
            }
            Item::Type(one) if is_shown(&one.vis, &one.attrs) => {
                let line = format!("pub type {path}{} = {}", text(&one.generics), text(&one.ty));
                self.add(&one.attrs, line);
            }
            Item::Struct(one) if is_shown(&one.vis, &one.attrs) => {
                self.add(&one.attrs, format!("pub struct {path}{}", text(&one.generics)));
                self.fields(&one.fields, &path);
                self.type_impls(&own, home, &path, &one.attrs);
            }
            Item::Enum(one) if is_shown(&one.vis, &one.attrs) => {
                self.add(&one.attrs, format!("pub enum {path}{}", text(&one.generics)));
                for variant in &one.variants {
                    let fields = text(&variant.fields);
                    self.add(&variant.attrs, format!("pub {path}::{}{fields}", variant.ident));
                }
                self.type_impls(&own, home, &path, &one.attrs);
            }
            Item::Trait(one) if is_shown(&one.vis, &one.attrs) => {
                let bounds = if one.supertraits.is_empty() {
                    String::new()
                } else {
                    format!(": {}", text(&one.supertraits))
                };
                self.add(&one.attrs, format!("pub trait {path}{}{bounds}", text(&one.generics)));
                self.members(&one.items, &path);
            }
            _ => {}
        }
    }

    fn members(&mut self, items: &[TraitItem], path: &str) {
        for item in items {
            match item {
                TraitItem::Fn(one) => {
                    let default = if one.default.is_some() { " { .. }" } else { "" };
                    let line = signature(&one.sig, &format!("{path}::{}", one.sig.ident));
                    self.add(&one.attrs, format!("pub {line}{default}"));
                }
                TraitItem::Const(one) => {
                    let line = format!("pub const {path}::{}: {}", one.ident, text(&one.ty));
                    self.add(&one.attrs, line);
                }
                TraitItem::Type(one) => {
                    self.add(&one.attrs, format!("pub type {path}::{}", one.ident));
                }
                _ => {}
            }
        }
    }

    fn fields(&mut self, fields: &Fields, path: &str) {
        for (at, field) in fields.iter().enumerate() {
            if is_shown(&field.vis, &field.attrs) {
                let name = field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
                self.add(&field.attrs, format!("pub {path}::{name}: {}", text(&field.ty)));
            }
        }
    }

    /// Adds derived traits, methods and trait implementations of a type.
    fn type_impls(&mut self, own: &str, home: &ModulePath, path: &str, attributes: &[Attribute]) {
        for one in attributes.iter().filter(|one| one.path().is_ident("derive")) {
            let mut traits: Vec<String> = Vec::new();
            let _ = one.parse_nested_meta(|meta| {
                traits.push(text(&meta.path));
                Ok(())
            });
            for name in traits {
                self.lines.insert(format!("impl {name} for {path}"));
            }
        }
        let krate = self.krate;
        for (from, module) in &krate.modules {
            for item in &module.items {
                let Item::Impl(one) = item else { continue };
                if is_for_tests(&one.attrs) || !self.is_of(one, from, own, home) {
                    continue;
                }
                match &one.trait_ {
                    Some((of, _)) => {
                        let generics = text(&one.generics);
                        self.add(&one.attrs, format!("impl{generics} {} for {path}", text(of)));
                    }
                    None => self.methods(one, path),
                }
            }
        }
    }

    /// Whether an implementation is for this type.
    fn is_of(&self, one: &ItemImpl, from: &ModulePath, own: &str, home: &ModulePath) -> bool {
        let Type::Path(path) = one.self_ty.as_ref() else { return false };
        let names: Vec<String> = path.path.segments.iter().map(|s| s.ident.to_string()).collect();
        match self.krate.resolve(from, &names) {
            Target::Item(module, name) => module == *home && name == own,
            _ => false,
        }
    }

    fn methods(&mut self, one: &ItemImpl, path: &str) {
        for item in &one.items {
            match item {
                ImplItem::Fn(method) if is_shown(&method.vis, &method.attrs) => {
                    let line = signature(&method.sig, &format!("{path}::{}", method.sig.ident));
                    self.add(&method.attrs, format!("pub {line}"));
                }
                ImplItem::Const(one) if is_shown(&one.vis, &one.attrs) => {
                    let line = format!("pub const {path}::{}: {}", one.ident, text(&one.ty));
                    self.add(&one.attrs, line);
                }
                _ => {}
            }
        }
    }

    /// Adds a line, followed by its `cfg` condition.
    fn add(&mut self, attributes: &[Attribute], line: String) {
        let conditions = attributes.iter().filter(|one| one.path().is_ident("cfg"));
        let conditions: String = conditions.map(|one| format!(" #[{}]", text(&one.meta))).collect();
        self.lines.insert(format!("{line}{conditions}"));
    }
}

fn is_shown(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    let is_hidden =
        |one: &Attribute| one.path().is_ident("doc") && text(&one.meta) == "doc(hidden)";
    matches!(visibility, Visibility::Public(_))
        && !is_for_tests(attributes)
        && !attributes.iter().any(is_hidden)
}

fn is_exported_macro(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|one| one.path().is_ident("macro_export"))
}

/// A signature with the full path in place of the name.
fn signature(signature: &syn::Signature, path: &str) -> String {
    let mut named = signature.clone();
    for input in &mut named.inputs {
        if let syn::FnArg::Typed(argument) = input {
            argument.attrs.clear();
        }
    }
    let whole = text(&named);
    let name = format!("fn {}", signature.ident);
    whole.replacen(&name, &format!("fn {path}"), 1)
}

/// Formats tokens as people write them: with spaces only where two words would join, and around
/// some operators.
fn text(tokens: &impl ToTokens) -> String {
    let spaced = tokens.to_token_stream().to_string();
    let mut out = String::with_capacity(spaced.len());
    let parts: Vec<&str> = spaced.split_whitespace().collect();
    for (at, part) in parts.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| parts.get(at)).copied().unwrap_or_default();
        if !out.is_empty() && needs_space(before, part) {
            out.push(' ');
        }
        out.push_str(part);
    }
    out
}

fn needs_space(before: &str, part: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '\'');
    let (last, first) = (before.chars().last(), part.chars().next());
    matches!(part, "->" | "=" | "+" | "|" | "{" | "}")
        || matches!(before, "->" | "=" | "+" | "|" | "," | ":" | ";" | "{")
        || is_word(last) && is_word(first)
        || before == ">" && is_word(first)
}

#[cfg(test)]
mod tests {
    use super::public_lines;
    use crate::parsed_crate::Crate;

    fn listed(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        public_lines(&Crate::read("a-b", &folder.path().join("lib.rs")).unwrap())
    }

    #[test]
    fn what_others_can_name_is_listed_under_each_of_its_paths() {
        let root = "mod inner; pub mod open { pub use super::inner::Thing as Other; }
            pub use inner::{Thing, Port}; pub use std::fmt::Display; fn own() {}
            #[cfg(feature = \"x\")] pub fn made<'a>(of: &'a str) -> Result<Thing, ()> { todo() }
            #[cfg(test)] mod tests { pub fn no() {} }";
        let inner = "/// Doc.\n#[derive(Debug)] pub struct Thing { pub name: String, rest: u8 }
            impl Thing { pub const fn len(&self) -> usize { 0 } fn own(&self) {} }
            impl Drop for Thing { fn drop(&mut self) {} }
            pub trait Port: Send { fn call(&self, n: u8); fn given(&self) {} }
            pub(crate) struct Own; pub struct Unreachable;";
        let found = listed(&[("lib.rs", root), ("inner.rs", inner)]);
        let wanted = [
            "impl Debug for a_b::Thing",
            "impl Debug for a_b::open::Other",
            "impl Drop for a_b::Thing",
            "impl Drop for a_b::open::Other",
            "pub a_b::Thing::name: String",
            "pub a_b::open::Other::name: String",
            "pub const fn a_b::Thing::len(&self) -> usize",
            "pub const fn a_b::open::Other::len(&self) -> usize",
            "pub fn a_b::Port::call(&self, n: u8)",
            "pub fn a_b::Port::given(&self) { .. }",
            "pub fn a_b::made<'a>(of: &'a str) -> Result<Thing, ()> #[cfg(feature = \"x\")]",
            "pub mod a_b::open",
            "pub struct a_b::Thing",
            "pub struct a_b::open::Other",
            "pub trait a_b::Port: Send",
            "pub use a_b::Display = std::fmt::Display",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_change_of_a_signature_changes_a_line() {
        let before = listed(&[("lib.rs", "pub fn f(n: u8) {}")]);
        assert_ne!(before, listed(&[("lib.rs", "pub fn f(n: u16) {}")]));
        assert_eq!(before, listed(&[("lib.rs", "/// Doc.\npub fn f(n: u8) { let _ = n; }")]));
    }
}
