//! Catalogs from files: our own form, and those of MCP, OpenAPI, model providers and skills.
//!
//! | format | what it is |
//! |---|---|
//! | `json` | an array of items, or `{"items": […]}` |
//! | `jsonl` | one item a line |
//! | `yaml` | any of the others, written as YAML (needs the feature `yaml`) |
//! | `mcp` | an answer to `tools/list`, `prompts/list` or `resources/list` |
//! | `openapi` | OpenAPI 3.0 or 3.1, as JSON or YAML: each operation becomes an item; nothing is called or fetched |
//! | `openai`, `openai_responses`, `anthropic`, `gemini` | a provider's array of tools |
//! | `skill` | one `SKILL.md` with its front matter (needs the feature `yaml`) |
//!
//! An item of our own form has `id`, and where it is known `kind`, `name`, `description`,
//! `namespace`, `tags`, `schema` (also `args_schema`, `input_schema`), `output_schema`, `examples`,
//! `effects` (`read_local`, `read_open`, `write_local`, `write_open`, `destructive` as in a contracts
//! document, or `{"impact", "world"}`; `reads`, `reads_outside`, `writes` and `writes_outside` are
//! read too), `cost_hint`, `depends_on`, `provides`, `requires`, `constraints` and
//! `metadata`. Unknown keys are ignored: the file belongs to somebody else.

mod detect;
mod mcp;
mod openapi;
mod operation;
mod reference;
mod skill;
#[cfg(feature = "yaml")]
mod yaml;

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use weaver_types::formats::{self, Format};

use crate::catalog::form::ItemForm;
use crate::catalog::{Catalog, SelectableItem, shown, snapshot};
use crate::error::CatalogError;

/// The longest line of JSON lines, in bytes.
const MAX_LINE: usize = 1024 * 1024;

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CatalogFormat {
    /// Our items as one JSON value.
    Json,
    /// Our items, one JSON object a line.
    JsonLines,
    /// YAML that holds any of the others.
    Yaml,
    /// A list of an MCP server.
    Mcp,
    /// OpenAPI 3.0 or 3.1.
    OpenApi,
    /// OpenAI's array of tools; both of its APIs are read, Chat Completions is written.
    OpenAi,
    /// OpenAI's array of tools for the Responses API.
    OpenAiResponses,
    /// Anthropic's array of tools.
    Anthropic,
    /// Gemini's array of function declarations.
    Gemini,
    /// One `SKILL.md`.
    Skill,
}

impl CatalogFormat {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Json,
        Self::JsonLines,
        Self::Yaml,
        Self::Mcp,
        Self::OpenApi,
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Skill,
    ];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::JsonLines => "jsonl",
            Self::Yaml => "yaml",
            Self::Mcp => "mcp",
            Self::OpenApi => "openapi",
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Skill => "skill",
        }
    }

    /// The provider's format, where it is one.
    pub(super) fn provider(self) -> Option<Format> {
        match self {
            Self::Mcp => Some(Format::Mcp),
            Self::OpenAi => Some(Format::OpenAiChat),
            Self::OpenAiResponses => Some(Format::OpenAiResponses),
            Self::Anthropic => Some(Format::Anthropic),
            Self::Gemini => Some(Format::Gemini),
            Self::Json | Self::JsonLines | Self::Yaml | Self::OpenApi | Self::Skill => None,
        }
    }
}

impl fmt::Display for CatalogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CatalogFormat {
    type Err = CatalogError;

    fn from_str(text: &str) -> Result<Self, CatalogError> {
        let found = Self::ALL.into_iter().find(|format| format.as_str() == text);
        found.ok_or_else(|| CatalogError::Word {
            what: "a format",
            text: shown(text),
            known: "json, jsonl, yaml, mcp, openapi, openai, openai_responses, anthropic, gemini, \
                    skill",
        })
    }
}

/// What is known of a text before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source<'a> {
    /// Its format; `None` to find it out.
    pub format: Option<CatalogFormat>,
    /// What stands before the names of tools, where the format has no ids of its own.
    pub namespace: Option<&'a str>,
}

impl Source<'_> {
    /// A text in this format.
    #[must_use]
    pub fn of(format: CatalogFormat) -> Self {
        Self { format: Some(format), namespace: None }
    }
}

/// One entry of a text: where it stands, and the item, or why it is not one.
#[derive(Debug)]
pub struct CatalogEntry {
    /// `line 3`, `entry 3` (from 0), `GET /pets`.
    pub place: String,
    /// The item.
    pub item: Result<SelectableItem, CatalogError>,
}

/// What a text holds.
#[derive(Debug)]
pub struct LoadedCatalog {
    /// The format that it was read in.
    pub format: CatalogFormat,
    /// Its entries, in their order.
    pub entries: Vec<CatalogEntry>,
}

impl LoadedCatalog {
    /// All of it as a catalog.
    ///
    /// # Errors
    /// [`CatalogError::At`] for the first entry that is no item, is over a bound, or has an id that
    /// is taken.
    pub fn catalog(self) -> Result<Catalog, CatalogError> {
        let mut catalog = Catalog::new();
        for CatalogEntry { place, item } in self.entries {
            let added = item.and_then(|item| catalog.insert(item));
            added.map_err(|source| CatalogError::At { place, source: Box::new(source) })?;
        }
        Ok(catalog)
    }
}

/// Reads a text. An entry that is no item is kept as its error, so that all of them can be told at
/// once; [`LoadedCatalog::catalog`] ends at the first.
///
/// # Errors
/// [`CatalogError`], when the text as a whole cannot be read: no JSON or YAML, a format that it does
/// not have, an OpenAPI version that is not known.
pub fn read(text: &str, source: Source<'_>) -> Result<LoadedCatalog, CatalogError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = source.format.unwrap_or_else(|| detect::of_text(text));
    let entries = match format {
        CatalogFormat::JsonLines => lines(text),
        CatalogFormat::Skill => return skill(text, source),
        CatalogFormat::Yaml => return read_value(&yaml(text)?, source),
        CatalogFormat::OpenApi => openapi::read(&json_or_yaml(text)?, source.namespace)?,
        // An explicit format is taken at its word; of a text, only that it is JSON is known.
        _ if source.format.is_none() => return read_value(&json(text)?, source),
        _ => of_value(format, &json(text)?, source.namespace)?,
    };
    Ok(LoadedCatalog { format, entries })
}

/// Reads a value that was parsed before, as [`read`] reads a text.
///
/// # Errors
/// As [`read`].
pub fn read_value(value: &Value, source: Source<'_>) -> Result<LoadedCatalog, CatalogError> {
    let format = match source.format {
        Some(CatalogFormat::Yaml) | None => detect::of_value(value)?,
        Some(format) => format,
    };
    let entries = of_value(format, value, source.namespace)?;
    Ok(LoadedCatalog { format, entries })
}

fn of_value(
    format: CatalogFormat,
    value: &Value,
    namespace: Option<&str>,
) -> Result<Vec<CatalogEntry>, CatalogError> {
    match (format, format.provider()) {
        (CatalogFormat::OpenApi, _) => openapi::read(value, namespace),
        (CatalogFormat::Mcp, _) => mcp::read(value, namespace),
        (_, Some(provider)) => tools(provider, value, namespace),
        _ => items(value),
    }
}

/// Our own items.
fn items(value: &Value) -> Result<Vec<CatalogEntry>, CatalogError> {
    snapshot::verify(value)?;
    let list = value.get("items").unwrap_or(value);
    let one = list.get("id").is_some_and(Value::is_string).then(|| std::slice::from_ref(list));
    let list = one.or_else(|| list.as_array().map(Vec::as_slice));
    let list = list.ok_or(CatalogError::NoList { wanted: "a list of items" })?;
    let entry = |(at, value): (usize, &Value)| {
        let form: Result<ItemForm, _> = serde::Deserialize::deserialize(value);
        let item = form.map_err(CatalogError::Json).and_then(ItemForm::item);
        CatalogEntry { place: format!("entry {at}"), item }
    };
    Ok(list.iter().enumerate().map(entry).collect())
}

fn tools(
    format: Format,
    value: &Value,
    namespace: Option<&str>,
) -> Result<Vec<CatalogEntry>, CatalogError> {
    let list = value.get("tools").unwrap_or(value);
    if !list.is_array() {
        return Err(CatalogError::NoList { wanted: "an array of tools" });
    }
    let drafts = formats::drafts(format, namespace, list);
    let entry = |(at, draft): (usize, Result<_, formats::ImportError>)| {
        let item = draft.map_err(CatalogError::Import).map(|draft| {
            let mut item = SelectableItem::from(&draft);
            item.namespace = namespace.unwrap_or_default().to_owned();
            // These formats do not say what a tool does.
            item.effects = None;
            item
        });
        CatalogEntry { place: format!("entry {at}"), item }
    };
    Ok(drafts.into_iter().enumerate().map(entry).collect())
}

fn lines(text: &str) -> Vec<CatalogEntry> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, text)| CatalogEntry { place: format!("line {}", at + 1), item: line(text) })
        .collect()
}

fn line(line: &str) -> Result<SelectableItem, CatalogError> {
    if line.len() > MAX_LINE {
        return Err(CatalogError::TooLarge {
            id: "?".to_owned(),
            field: "the line",
            size: line.len(),
            unit: "bytes",
            max: MAX_LINE,
        });
    }
    let form: ItemForm = serde_json::from_str(line).map_err(CatalogError::Json)?;
    form.item()
}

fn skill(text: &str, source: Source<'_>) -> Result<LoadedCatalog, CatalogError> {
    let (front, _) = skill::parts(text)?;
    let item = skill::item(&yaml(front)?, source.namespace);
    let entries = vec![CatalogEntry { place: "SKILL.md".to_owned(), item }];
    Ok(LoadedCatalog { format: CatalogFormat::Skill, entries })
}

fn json(text: &str) -> Result<Value, CatalogError> {
    serde_json::from_str(text).map_err(CatalogError::Text)
}

fn json_or_yaml(text: &str) -> Result<Value, CatalogError> {
    if text.trim_start().starts_with('{') { json(text) } else { yaml(text) }
}

#[cfg(feature = "yaml")]
fn yaml(text: &str) -> Result<Value, CatalogError> {
    yaml::parse(text)
}

#[cfg(not(feature = "yaml"))]
fn yaml(_text: &str) -> Result<Value, CatalogError> {
    Err(CatalogError::NoYaml)
}
