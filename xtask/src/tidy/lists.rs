//! Reads the lists of `xtask/data/tidy.toml`.

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use super::tree::Tree;

/// The file with the lists. It contains the forbidden words, so it is exempt from that rule.
pub const PATH: &str = "xtask/data/tidy.toml";

/// A word that must not appear in a text file.
#[derive(Clone, Debug)]
pub struct ForbiddenWord {
    pub text: String,
    pub reason: String,
    pub any_case: bool,
    /// Whether more letters or digits may follow.
    pub open_end: bool,
}

/// All lists.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    pub words: Vec<ForbiddenWord>,
    /// Pairs of path and word.
    pub word_exceptions: Vec<(String, String)>,
    /// Pairs of module name and reason.
    pub file_names: Vec<(String, String)>,
    /// Dependencies that the code need not name.
    pub unused: Vec<String>,
    pub licences: Vec<String>,
    /// Package names.
    pub licence_exceptions: Vec<String>,
}

impl Lists {
    /// Read the lists from the tree.
    ///
    /// # Errors
    /// If the file is missing, is not TOML, or an entry lacks a field.
    pub fn load(tree: &Tree) -> Result<Self> {
        let text = tree.text(PATH).with_context(|| format!("{PATH} is missing"))?;
        Self::parse(text).with_context(|| format!("cannot read {PATH}"))
    }

    /// Parse the lists.
    ///
    /// # Errors
    /// If the text is not TOML, or an entry lacks a field such as its reason.
    pub fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().context("not TOML")?;
        let known =
            ["word", "word_exception", "file_name", "unused", "licence", "licence_exception"];
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            bail!("unknown list `{key}`");
        }
        let mut lists = Self::default();
        for entry in entries(&table, "word") {
            lists.words.push(ForbiddenWord {
                text: field(entry, "word", "text")?,
                reason: field(entry, "word", "reason")?,
                any_case: flag(entry, "any_case"),
                open_end: flag(entry, "open_end"),
            });
        }
        for entry in entries_with_reason(&table, "word_exception")? {
            let path = field(entry, "word_exception", "path")?;
            lists.word_exceptions.push((path, field(entry, "word_exception", "text")?));
        }
        for entry in entries_with_reason(&table, "file_name")? {
            let name = field(entry, "file_name", "name")?;
            lists.file_names.push((name, field(entry, "file_name", "reason")?));
        }
        for entry in entries_with_reason(&table, "unused")? {
            lists.unused.push(field(entry, "unused", "dependency")?);
        }
        for entry in entries(&table, "licence") {
            lists.licences.push(field(entry, "licence", "id")?);
        }
        for entry in entries_with_reason(&table, "licence_exception")? {
            lists.licence_exceptions.push(field(entry, "licence_exception", "package")?);
        }
        Ok(lists)
    }
}

fn entries<'a>(table: &'a Table, list: &str) -> impl Iterator<Item = &'a Value> {
    table.get(list).and_then(Value::as_array).into_iter().flatten()
}

/// The entries of a list, each of which must have a reason.
fn entries_with_reason<'a>(table: &'a Table, list: &str) -> Result<Vec<&'a Value>> {
    let entries: Vec<&Value> = entries(table, list).collect();
    for entry in &entries {
        field(entry, list, "reason")?;
    }
    Ok(entries)
}

fn field(entry: &Value, list: &str, name: &str) -> Result<String> {
    let text = entry.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned).with_context(|| format!("an entry of `{list}` has no `{name}`"))
}

fn flag(entry: &Value, name: &str) -> bool {
    entry.get(name).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::Lists;

    #[test]
    fn the_real_lists_load() {
        let lists = Lists::parse(include_str!("../../data/tidy.toml")).unwrap();
        assert!(lists.words.len() > 5 && lists.licences.iter().any(|id| id == "MIT"));
    }

    #[test]
    fn an_exception_without_reason_is_refused() {
        let error = Lists::parse("[[unused]]\ndependency = \"x\"\n").unwrap_err();
        assert!(error.to_string().contains("`unused` has no `reason`"), "{error}");
    }

    #[test]
    fn a_misspelt_list_is_refused() {
        assert!(Lists::parse("[[wrod]]\ntext = \"x\"\n").is_err());
    }
}
