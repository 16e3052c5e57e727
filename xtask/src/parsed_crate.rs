//! Parses the modules of a crate and resolves names in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::{Item, UseTree, Visibility};

/// The names from the root of the crate; empty for the root itself.
pub type ModulePath = Vec<String>;

/// How many re-exports are followed from one name.
const MAX_HOPS: usize = 8;

/// A parsed crate.
pub struct Crate {
    /// The name of the crate, as other crates write it.
    pub name: String,
    pub modules: BTreeMap<ModulePath, Module>,
}

/// One module.
pub struct Module {
    pub items: Vec<Item>,
    /// Imported names with the paths that they resolve to, public imports included.
    pub imports: Vec<Import>,
}

/// One name that a `use` brings into scope.
pub struct Import {
    pub is_public: bool,
    /// Whether any other module can name it from here.
    pub is_exported: bool,
    /// The name in scope; `None` for a glob import.
    pub name: Option<String>,
    pub path: Vec<String>,
}

/// What a path resolves to.
pub enum Target {
    /// An item of this crate: its module and its name there.
    Item(ModulePath, String),
    /// A module of this crate.
    Module(ModulePath),
    /// Something in another crate.
    Foreign,
}

impl Crate {
    /// Parses a crate from its root file. Test-only modules are left out.
    ///
    /// # Errors
    /// If a file cannot be read or parsed.
    pub fn read(name: &str, root: &Path) -> Result<Self> {
        let mut out = Self { name: name.replace('-', "_"), modules: BTreeMap::new() };
        let folder = root.parent().unwrap_or(root).to_path_buf();
        let items = parse(root)?;
        out.add(Vec::new(), items, &folder)?;
        Ok(out)
    }

    fn add(&mut self, path: ModulePath, items: Vec<Item>, folder: &Path) -> Result<()> {
        let mut imports = Vec::new();
        for item in &items {
            match item {
                Item::Use(one) if !is_for_tests(&one.attrs) => {
                    collect_imports(&one.tree, &mut Vec::new(), &one.vis, &mut imports);
                }
                Item::Mod(one) if !is_for_tests(&one.attrs) => {
                    let name = one.ident.to_string();
                    let below = [path.as_slice(), std::slice::from_ref(&name)].concat();
                    let inner = folder.join(&name);
                    match &one.content {
                        Some((_, items)) => self.add(below, items.clone(), &inner)?,
                        None => self.add(below, parse(&module_file(folder, &name))?, &inner)?,
                    }
                }
                _ => {}
            }
        }
        self.modules.insert(path, Module { items, imports });
        Ok(())
    }

    /// Resolves a path as written in a module.
    pub fn resolve(&self, from: &ModulePath, path: &[String]) -> Target {
        self.resolve_within(from, path, MAX_HOPS)
    }

    fn resolve_within(&self, from: &ModulePath, path: &[String], hops: usize) -> Target {
        let (at, rest) = self.descend(from, path);
        let is_local = rest.len() < path.len();
        let Some((name, more)) = rest.split_first() else { return Target::Module(at) };
        let Some(module) = self.modules.get(&at) else { return Target::Foreign };
        if more.is_empty() && module.items.iter().any(|item| name_of(item) == Some(name.clone())) {
            return Target::Item(at, name.clone());
        }
        let import = module.imports.iter().find(|one| one.name.as_ref() == Some(name));
        if let (Some(import), true) = (import, hops > 0)
            && (is_local || import.path != path)
        {
            let whole = [import.path.as_slice(), more].concat();
            return self.resolve_within(&at, &whole, hops - 1);
        }
        Target::Foreign
    }

    /// The deepest module that a path leads to, through imports and re-exports, whatever it names
    /// there. A path into another crate leads to the module where it is written or imported.
    pub fn module_of(&self, from: &ModulePath, path: &[String]) -> ModulePath {
        let (mut at, mut path) = (from.clone(), path);
        for _ in 0..=MAX_HOPS {
            let rest;
            (at, rest) = self.descend(&at, path);
            let module = self.modules.get(&at);
            let import = module.zip(rest.first()).and_then(|(module, name)| {
                module.imports.iter().find(|one| one.name.as_ref() == Some(name))
            });
            let Some(import) = import else { break };
            path = &import.path;
        }
        at
    }

    /// Follows a path down the tree of modules: the module that it reaches, and the rest.
    fn descend<'p>(&self, from: &ModulePath, path: &'p [String]) -> (ModulePath, &'p [String]) {
        let (mut at, mut rest) = (from.clone(), path);
        while let Some((first, more)) = rest.split_first() {
            match first.as_str() {
                "crate" => at = ModulePath::new(),
                "super" => drop(at.pop()),
                "self" => {}
                name => {
                    let below = [at.as_slice(), &[name.to_owned()]].concat();
                    if !self.modules.contains_key(&below) {
                        break;
                    }
                    at = below;
                }
            }
            rest = more;
        }
        (at, rest)
    }
}

fn parse(path: &Path) -> Result<Vec<Item>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file =
        syn::parse_file(&text).with_context(|| format!("cannot parse {}", path.display()))?;
    Ok(file.items.into_iter().map(|item| words_impl(&item).unwrap_or(item)).collect())
}

/// What `words! { Type: "…", all "…", parse "…"; Variant = "word", … }` makes; `None` for any other
/// item.
fn words_impl(item: &Item) -> Option<Item> {
    let Item::Macro(one) = item else { return None };
    if one.mac.path.segments.last()?.ident != "words" {
        return None;
    }
    let mut tokens = one.mac.tokens.clone().into_iter();
    let Some(TokenTree::Ident(name)) = tokens.next() else { return None };
    let head: Vec<String> =
        tokens.by_ref().map(|token| token.to_string()).take_while(|token| token != ";").collect();
    let variants = tokens.filter(|token| token.to_string() == "=").count();
    let count = proc_macro2::Literal::usize_unsuffixed(variants);
    let has = |word: &str| head.iter().any(|token| token == word);
    let all = has("all").then(|| quote::quote! { pub const ALL: [Self; #count] = []; });
    let parse =
        has("parse").then(|| quote::quote! { pub fn parse(word: &str) -> Option<Self> { None } });
    syn::parse2(quote::quote! {
        impl #name {
            #all
            #parse
            pub fn as_str(self) -> &'static str { "" }
        }
    })
    .ok()
}

fn module_file(folder: &Path, name: &str) -> PathBuf {
    let plain = folder.join(format!("{name}.rs"));
    if plain.is_file() { plain } else { folder.join(name).join("mod.rs") }
}

fn collect_imports(
    tree: &UseTree,
    path: &mut Vec<String>,
    visibility: &Visibility,
    out: &mut Vec<Import>,
) {
    let is_public = matches!(visibility, Visibility::Public(_));
    let is_exported = !matches!(visibility, Visibility::Inherited);
    let import = |name, path| Import { is_public, is_exported, name, path };
    match tree {
        UseTree::Path(one) => {
            path.push(one.ident.to_string());
            collect_imports(&one.tree, path, visibility, out);
            path.pop();
        }
        UseTree::Name(one) if one.ident == "self" => {
            out.push(import(path.last().cloned(), path.clone()));
        }
        UseTree::Name(one) => {
            let name = one.ident.to_string();
            let path = [path.as_slice(), std::slice::from_ref(&name)].concat();
            out.push(import(Some(name), path));
        }
        UseTree::Rename(one) => {
            let mut whole = path.clone();
            if one.ident != "self" {
                whole.push(one.ident.to_string());
            }
            out.push(import(Some(one.rename.to_string()), whole));
        }
        UseTree::Glob(_) => out.push(import(None, path.clone())),
        UseTree::Group(group) => {
            for tree in &group.items {
                collect_imports(tree, path, visibility, out);
            }
        }
    }
}

/// The name of an item that can be exported. Macros are not included, because they are exported at
/// the root.
pub fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(one) => &one.ident,
        Item::Enum(one) => &one.ident,
        Item::Fn(one) => &one.sig.ident,
        Item::Static(one) => &one.ident,
        Item::Struct(one) => &one.ident,
        Item::Trait(one) => &one.ident,
        Item::Type(one) => &one.ident,
        Item::Union(one) => &one.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// Whether an attribute compiles the item for tests or documentation only.
pub fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes
        .iter()
        .filter(|one| one.path().is_ident("cfg"))
        .any(|one| is_test_condition(&quote::ToTokens::to_token_stream(&one.meta)))
}

/// Whether the tokens are `cfg(…)` with a condition that holds for tests or documentation only.
pub fn is_test_condition(tokens: &TokenStream) -> bool {
    let text = tokens.to_string().replace(' ', "");
    let condition = text.strip_prefix("cfg(").unwrap_or_default();
    ["test)", "all(test", "doctest", "all(doctest"].iter().any(|it| condition.starts_with(it))
}
