//! Sets of tools and queries on disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use contextweaver::catalog::{Catalog, SelectableItem};
use serde_json::Value;
use weaver_benches::Failure;

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
    pub(crate) gold: Vec<String>,
    /// With what these need before them, where the set says so.
    pub(crate) gold_all: Vec<String>,
}

/// The folders of the sets: this one if it is a set, else those in it.
pub(crate) fn folders(dir: &Path, wanted: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let is_set =
        |dir: &Path| dir.join("tools.jsonl").is_file() && dir.join("queries.jsonl").is_file();
    if is_set(dir) {
        return Ok(vec![dir.to_path_buf()]);
    }
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_set(path)).collect();
    found.sort_unstable();
    if !wanted.is_empty() {
        found.retain(|path| wanted.contains(&name(path)));
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

fn name(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Set {
    pub(crate) fn read(folder: &Path) -> Result<Self, Failure> {
        let mut notes = Vec::new();
        let items = items(&text(folder, "tools.jsonl")?, &mut notes);
        let queries = queries(&text(folder, "queries.jsonl")?, &mut notes);
        let mut examples: BTreeMap<String, Vec<String>> = BTreeMap::new();
        if let Ok(lines) = fs::read_to_string(folder.join("examples.jsonl")) {
            for Query { text, gold, .. } in self::queries(&lines, &mut notes) {
                for id in gold {
                    examples.entry(id).or_default().push(text.clone());
                }
            }
        }
        Ok(Self { name: name(folder), items, queries, examples, notes })
    }

    /// The catalog, each tool with at most so many examples.
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

fn text(folder: &Path, file: &str) -> Result<String, Failure> {
    let path = folder.join(file);
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Every line on its own, so that one odd tool does not hide the others.
fn items(text: &str, notes: &mut Vec<String>) -> Vec<SelectableItem> {
    let (mut catalog, mut odd) = (Catalog::new(), Vec::new());
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let item = Catalog::from_jsonl(line)
            .and_then(|one| one.iter().next().cloned().map_or(Ok(()), |item| catalog.insert(item)));
        if let Err(error) = item {
            odd.push(format!("tools.jsonl line {}: {error}", at + 1));
        }
    }
    note(odd, notes);
    catalog.iter().cloned().collect()
}

fn queries(text: &str, notes: &mut Vec<String>) -> Vec<Query> {
    let mut odd = Vec::new();
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match query(line) {
            Some(query) => found.push(query),
            None => odd.push(format!("queries or examples, line {}: no query with gold", at + 1)),
        }
    }
    note(odd, notes);
    found
}

fn query(line: &str) -> Option<Query> {
    let line: Value = serde_json::from_str(line).ok()?;
    let gold = names(line.get("gold"));
    let text = line.get("query")?.as_str()?.to_owned();
    (!gold.is_empty()).then(|| Query { text, gold, gold_all: names(line.get("gold_all")) })
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
fn note(odd: Vec<String>, notes: &mut Vec<String>) {
    if let Some(first) = odd.first() {
        notes.push(format!("left out {} line(s), the first: {first}", odd.len()));
    }
}
