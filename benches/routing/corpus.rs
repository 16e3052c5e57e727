//! Sets of tools and queries on disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use contextweaver::catalog::{Catalog, SelectableItem};
use serde_json::Value;
use weaver_benches::Failure;

/// How many folders deep sets are looked for.
const LEVELS: usize = 3;

/// One set: a folder with `tools.jsonl` and `queries.jsonl`.
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) items: Vec<SelectableItem>,
    pub(crate) queries: Vec<Query>,
    /// Requests by the tool that answers them, from `examples.jsonl`, in its order.
    pub(crate) examples: BTreeMap<String, Vec<String>>,
    /// What could not be used, as sentences.
    pub(crate) notes: Vec<String>,
}

/// A request with the tools that answer it.
pub(crate) struct Query {
    pub(crate) text: String,
    /// What a language model searched for, given that request and the definition of `tool_browse`.
    pub(crate) search: Option<String>,
    pub(crate) gold: Vec<String>,
    /// With what these need before them, where the set says so.
    pub(crate) gold_all: Vec<String>,
    /// The part of the set that it belongs to, where the set has several.
    pub(crate) part: Option<String>,
}

/// The folders of the sets, each with its name: this one if it is a set, else those in it.
pub(crate) fn folders(dir: &Path, wanted: &[String]) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut found = Vec::new();
    look(dir, LEVELS, &mut found).map_err(|error| format!("{}: {error}", dir.display()))?;
    found.sort_unstable();
    let mut found: Vec<_> = found.into_iter().map(|path| (name(dir, &path), path)).collect();
    if !wanted.is_empty() {
        found.retain(|(name, _)| wanted.contains(name));
    }
    if found.is_empty() {
        let sets = if wanted.is_empty() { "a set".to_owned() } else { wanted.join(" or ") };
        return Err(format!(
            "{} holds no folder of {sets} with tools.jsonl and queries.jsonl",
            dir.display()
        )
        .into());
    }
    Ok(found)
}

fn is_set(dir: &Path) -> bool {
    dir.join("tools.jsonl").is_file() && dir.join("queries.jsonl").is_file()
}

fn look(dir: &Path, levels: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if is_set(dir) {
        found.push(dir.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() && levels > 0 {
            // A folder below that cannot be read holds no set.
            let _ = look(&path, levels - 1, found);
        }
    }
    Ok(())
}

/// The path below the folder that was given; its own name for that folder itself.
fn name(dir: &Path, folder: &Path) -> String {
    let below = folder.strip_prefix(dir).map(|path| path.to_string_lossy().into_owned());
    below.ok().filter(|below| !below.is_empty()).unwrap_or_else(|| {
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
    })
}

impl Set {
    pub(crate) fn read(name: String, folder: &Path) -> Self {
        let mut notes = Vec::new();
        let items = items(&text(folder, "tools.jsonl", &mut notes), &mut notes);
        let queries =
            queries("queries.jsonl", &text(folder, "queries.jsonl", &mut notes), &mut notes);
        let mut examples: BTreeMap<String, Vec<String>> = BTreeMap::new();
        if folder.join("examples.jsonl").is_file() {
            let lines = text(folder, "examples.jsonl", &mut notes);
            for Query { text, gold, .. } in self::queries("examples.jsonl", &lines, &mut notes) {
                for id in gold {
                    examples.entry(id).or_default().push(text.clone());
                }
            }
        }
        Self { name, items, queries, examples, notes }
    }

    /// Each part of the queries as a set of its own; the set itself where it has no parts.
    pub(crate) fn parts(mut self) -> Vec<Self> {
        let mut parts: BTreeMap<Option<String>, Vec<Query>> = BTreeMap::new();
        for query in std::mem::take(&mut self.queries) {
            parts.entry(query.part.clone()).or_default().push(query);
        }
        if parts.is_empty() {
            return vec![self];
        }
        let part = |(part, queries): (Option<String>, Vec<Query>)| Self {
            name: part.map_or(self.name.clone(), |part| format!("{} ({part})", self.name)),
            items: self.items.clone(),
            queries,
            examples: self.examples.clone(),
            notes: self.notes.clone(),
        };
        parts.into_iter().map(part).collect()
    }

    /// The same set with the searches of a language model in the place of the requests; requests
    /// that it searched nothing for are left out.
    pub(crate) fn of_searches(mut self) -> Self {
        self.queries.retain_mut(|query| match query.search.take() {
            Some(search) => {
                query.text = search;
                true
            }
            None => false,
        });
        self
    }

    /// The catalog, with a maximum number of examples for each tool.
    pub(crate) fn catalog(&self, examples: usize) -> Result<Catalog, Failure> {
        let mut catalog = Catalog::new();
        for item in &self.items {
            let mut item = item.clone();
            let more = self.examples.get(item.source_id()).into_iter().flatten().take(examples);
            item.examples.extend(more.cloned());
            catalog.insert(item)?;
        }
        Ok(catalog)
    }
}

/// A file; bytes that are no UTF-8 become a sign that says so.
fn text(folder: &Path, file: &str, notes: &mut Vec<String>) -> String {
    match fs::read(folder.join(file)) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned(),
        Err(error) => {
            notes.push(format!("{file} cannot be read: {error}"));
            String::new()
        }
    }
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

/// Every line on its own, so that one odd tool does not hide the others.
fn items(text: &str, notes: &mut Vec<String>) -> Vec<SelectableItem> {
    let (mut catalog, mut odd, mut bare) = (Catalog::new(), Vec::new(), Vec::new());
    for (at, line) in lines(text) {
        match item(line) {
            Ok((item, as_it_is)) => {
                if let Err(error) = catalog.insert(item) {
                    odd.push(format!("tools.jsonl line {at}: {error}"));
                } else if !as_it_is {
                    bare.push(format!("tools.jsonl line {at}"));
                }
            }
            Err(error) => odd.push(format!("tools.jsonl line {at}: {error}")),
        }
    }
    note("left out", &odd, notes);
    note("read by id, name, description, namespace, tags and parameters alone", &bare, notes);
    catalog.iter().cloned().collect()
}

/// A tool, and whether it could be read as it is. One whose form or bounds are not ours counts with
/// what a search needs of it.
fn item(line: &str) -> Result<(SelectableItem, bool), Failure> {
    let read = Catalog::from_jsonl(line);
    if let Some(item) = read.as_ref().ok().and_then(|catalog| catalog.iter().next()) {
        return Ok((item.clone(), true));
    }
    let value: Value = serde_json::from_str(line)?;
    let text = |key: &str, max: usize| {
        let text = match value.get(key) {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        };
        text.chars().take(max).collect::<String>()
    };
    let id = text("id", 4000);
    let mut item =
        SelectableItem::from_source_id(&id, text("name", 120), text("description", 12_000))?;
    item.namespace = text("namespace", 120);
    item.tags = names(value.get("tags")).into_iter().take(100).collect();
    let schema = ["schema", "args_schema", "input_schema", "inputSchema", "parameters"];
    if let Some(schema) = schema.iter().find_map(|key| value.get(*key)) {
        item = item.with_parameters_of(schema);
    }
    Ok((item, false))
}

fn queries(file: &str, text: &str, notes: &mut Vec<String>) -> Vec<Query> {
    let mut odd = Vec::new();
    let mut found = Vec::new();
    for (at, line) in lines(text) {
        match query(line) {
            Some(query) => found.push(query),
            None => odd.push(format!("{file} line {at}: no query with gold")),
        }
    }
    note("left out", &odd, notes);
    found
}

fn query(line: &str) -> Option<Query> {
    let line: Value = serde_json::from_str(line).ok()?;
    let gold = names(line.get("gold"));
    let string = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    let (text, search, part) = (string("query")?, string("search"), string("part"));
    let gold_all = names(line.get("gold_all"));
    (!gold.is_empty()).then_some(Query { text, search, gold, gold_all, part })
}

/// A list of names, or one name.
fn names(value: Option<&Value>) -> Vec<String> {
    let one = value.and_then(Value::as_str).into_iter();
    let many = value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut names: Vec<String> = one.chain(many).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The first of them, and how many there are.
fn note(what: &str, odd: &[String], notes: &mut Vec<String>) {
    if let Some(first) = odd.first() {
        notes.push(format!("{what}: {} line(s), the first: {first}", odd.len()));
    }
}

#[cfg(test)]
mod tests;
