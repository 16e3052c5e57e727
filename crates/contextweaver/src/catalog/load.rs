//! Loads catalogs from files, in our own format or in those of MCP, OpenAPI, model providers and
//! skills.
//!
//! | format | what it is |
//! |---|---|
//! | `json` | an array of items, or `{"items": […]}` |
//! | `jsonl` | one item per line |
//! | `yaml` | any of the others, written as YAML (needs the feature `yaml`) |
//! | `mcp` | a result of `tools/list`, `prompts/list` or `resources/list` |
//! | `openapi` | OpenAPI 3.0 or 3.1, as JSON or YAML: each operation becomes an item; nothing is called or fetched |
//! | `openai`, `openai_responses`, `anthropic`, `gemini` | a provider's array of tools |
//! | `skill` | one `SKILL.md` with its front matter (needs the feature `yaml`) |
//!
//! An item in our own format has `id`, and optionally `kind`, `name`, `description`,
//! `namespace`, `tags`, `schema` (also `args_schema`, `input_schema`), `output_schema`, `examples`,
//! `effects` (`read_local`, `read_open`, `write_local`, `write_open`, `destructive` as in a contracts
//! document, or `{"impact", "world"}`), `cost_hint`, `depends_on`, `provides`, `requires`,
//! `constraints` and `metadata`. Unknown keys are ignored, because the file may come from another
//! program.

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
use weaver_types::formats::{self, ToolFormat};

use crate::catalog::item_json::ItemJson;
use crate::catalog::{Catalog, SelectableItem, printable, snapshot};
use crate::error::CatalogError;

/// The longest line of a JSON Lines file, in bytes.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// The format of a catalog file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CatalogFormat {
    /// Our own items as one JSON value.
    Json,
    /// Our own items, one JSON object per line.
    JsonLines,
    /// Any of the JSON formats, written as YAML.
    Yaml,
    /// A list result of an MCP server.
    Mcp,
    /// OpenAPI 3.0 or 3.1.
    OpenApi,
    /// OpenAI's array of tools. Reading accepts both of its APIs, writing uses Chat Completions.
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

weaver_types::words! { CatalogFormat: "The word for the format.", all "All formats.";
    Json = "json", JsonLines = "jsonl", Yaml = "yaml", Mcp = "mcp", OpenApi = "openapi",
    OpenAi = "openai", OpenAiResponses = "openai_responses", Anthropic = "anthropic",
    Gemini = "gemini", Skill = "skill",
}

impl CatalogFormat {
    /// The corresponding provider format, if there is one.
    pub(super) fn provider_format(self) -> Option<ToolFormat> {
        match self {
            Self::Mcp => Some(ToolFormat::Mcp),
            Self::OpenAi => Some(ToolFormat::OpenAiChat),
            Self::OpenAiResponses => Some(ToolFormat::OpenAiResponses),
            Self::Anthropic => Some(ToolFormat::Anthropic),
            Self::Gemini => Some(ToolFormat::Gemini),
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
        found.ok_or_else(|| CatalogError::UnknownWord {
            what: "a format",
            text: printable(text),
            known: "json, jsonl, yaml, mcp, openapi, openai, openai_responses, anthropic, gemini, \
                    skill",
        })
    }
}

/// How a text is to be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadOptions<'a> {
    /// The format; `None` to detect it.
    pub format: Option<CatalogFormat>,
    /// The prefix of tool names, for formats without ids.
    pub namespace: Option<&'a str>,
}

impl LoadOptions<'_> {
    /// Options for reading this format, without a namespace.
    #[must_use]
    pub fn for_format(format: CatalogFormat) -> Self {
        Self { format: Some(format), namespace: None }
    }
}

/// One entry of a text: its location, and the item or the reason why it is not one.
#[derive(Debug)]
pub struct CatalogEntry {
    /// `line 3`, `entry 3` (from 0), `GET /pets`.
    pub location: String,
    /// The item, or the error that was found in the entry.
    pub item: Result<SelectableItem, CatalogError>,
}

/// The entries of a text.
#[derive(Debug)]
pub struct LoadedCatalog {
    /// The format in which the text was read.
    pub format: CatalogFormat,
    /// The entries in their original order.
    pub entries: Vec<CatalogEntry>,
}

impl LoadedCatalog {
    /// Turns all entries into a catalog.
    ///
    /// # Errors
    /// [`CatalogError::At`] for the first entry that is not an item, exceeds a bound, or has an id
    /// that is taken.
    pub fn into_catalog(self) -> Result<Catalog, CatalogError> {
        let mut catalog = Catalog::new();
        for CatalogEntry { location: place, item } in self.entries {
            let added = item.and_then(|item| catalog.insert(item));
            added.map_err(|source| CatalogError::At { place, source: Box::new(source) })?;
        }
        Ok(catalog)
    }
}

/// Reads a text. An entry that is not an item is kept with its error, so that all errors can be
/// reported at once; [`LoadedCatalog::into_catalog`] fails at the first.
///
/// # Errors
/// [`CatalogError`] if the text as a whole cannot be read: it is not JSON or YAML, does not have the
/// stated format, or has an unknown OpenAPI version.
pub fn read(text: &str, options: LoadOptions<'_>) -> Result<LoadedCatalog, CatalogError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = options.format.unwrap_or_else(|| detect::format_of_text(text));
    let entries = match format {
        CatalogFormat::JsonLines => read_lines(text),
        CatalogFormat::Skill => return read_skill(text, options),
        CatalogFormat::Yaml => return read_value(&parse_yaml(text)?, options),
        CatalogFormat::OpenApi => openapi::read(&parse_json_or_yaml(text)?, options.namespace)?,
        // A detected `Json` only says that the text is JSON; its keys tell the actual format.
        _ if options.format.is_none() => return read_value(&parse_json(text)?, options),
        _ => read_in_format(format, &parse_json(text)?, options.namespace)?,
    };
    Ok(LoadedCatalog { format, entries })
}

/// Reads a parsed value as [`read`] reads a text.
///
/// # Errors
/// As [`read`].
pub fn read_value(value: &Value, options: LoadOptions<'_>) -> Result<LoadedCatalog, CatalogError> {
    let format = match options.format {
        Some(CatalogFormat::Yaml) | None => detect::format_of_value(value)?,
        Some(format) => format,
    };
    let entries = read_in_format(format, value, options.namespace)?;
    Ok(LoadedCatalog { format, entries })
}

fn read_in_format(
    format: CatalogFormat,
    value: &Value,
    namespace: Option<&str>,
) -> Result<Vec<CatalogEntry>, CatalogError> {
    match (format, format.provider_format()) {
        (CatalogFormat::OpenApi, _) => openapi::read(value, namespace),
        (CatalogFormat::Mcp, _) => mcp::read(value, namespace),
        (_, Some(provider)) => read_tools(provider, value, namespace),
        _ => read_items(value),
    }
}

/// Reads items in our own format: one item, a list, or an object with `items`.
fn read_items(value: &Value) -> Result<Vec<CatalogEntry>, CatalogError> {
    snapshot::verify_snapshot(value)?;
    let list = value.get("items").unwrap_or(value);
    let single = list.get("id").is_some_and(Value::is_string).then(|| std::slice::from_ref(list));
    let list = single.or_else(|| list.as_array().map(Vec::as_slice));
    let list = list.ok_or(CatalogError::MissingList { wanted: "a list of items" })?;
    let entry = |(index, value): (usize, &Value)| {
        let json: Result<ItemJson, _> = serde::Deserialize::deserialize(value);
        let item = json.map_err(CatalogError::NotAnItem).and_then(ItemJson::into_item);
        CatalogEntry { location: format!("entry {index}"), item }
    };
    Ok(list.iter().enumerate().map(entry).collect())
}

fn read_tools(
    format: ToolFormat,
    value: &Value,
    namespace: Option<&str>,
) -> Result<Vec<CatalogEntry>, CatalogError> {
    let list = value.get("tools").unwrap_or(value);
    if !list.is_array() {
        return Err(CatalogError::MissingList { wanted: "an array of tools" });
    }
    let drafts = formats::drafts_from_tools(format, namespace, list);
    let entry = |(index, draft): (usize, Result<_, formats::ImportError>)| {
        let item = draft.map_err(CatalogError::Import).map(|draft| {
            let mut item = SelectableItem::from(&draft);
            item.namespace = namespace.unwrap_or_default().to_owned();
            // These formats do not declare effects.
            item.effects = None;
            item
        });
        CatalogEntry { location: format!("entry {index}"), item }
    };
    Ok(drafts.into_iter().enumerate().map(entry).collect())
}

fn read_lines(text: &str) -> Vec<CatalogEntry> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, text)| CatalogEntry {
            location: format!("line {}", at + 1),
            item: read_line(text),
        })
        .collect()
}

fn read_line(line: &str) -> Result<SelectableItem, CatalogError> {
    if line.len() > MAX_LINE_BYTES {
        return Err(CatalogError::TooLarge {
            id: "?".to_owned(),
            field: "the line",
            size: line.len(),
            unit: "bytes",
            max: MAX_LINE_BYTES,
        });
    }
    let json: ItemJson = serde_json::from_str(line).map_err(CatalogError::NotAnItem)?;
    json.into_item()
}

fn read_skill(text: &str, options: LoadOptions<'_>) -> Result<LoadedCatalog, CatalogError> {
    let (front_matter, _) = skill::split_front_matter(text)?;
    let item = skill::skill_item(&parse_yaml(front_matter)?, options.namespace);
    let entries = vec![CatalogEntry { location: "SKILL.md".to_owned(), item }];
    Ok(LoadedCatalog { format: CatalogFormat::Skill, entries })
}

fn parse_json(text: &str) -> Result<Value, CatalogError> {
    serde_json::from_str(text).map_err(CatalogError::NotJson)
}

fn parse_json_or_yaml(text: &str) -> Result<Value, CatalogError> {
    if text.trim_start().starts_with('{') { parse_json(text) } else { parse_yaml(text) }
}

#[cfg(feature = "yaml")]
fn parse_yaml(text: &str) -> Result<Value, CatalogError> {
    yaml::parse(text)
}

#[cfg(not(feature = "yaml"))]
fn parse_yaml(_text: &str) -> Result<Value, CatalogError> {
    Err(CatalogError::NoYaml)
}
