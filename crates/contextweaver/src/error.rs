//! Errors of catalogs and of context items.

use thiserror::Error;
use weaver_types::canonical::CanonicalError;
use weaver_types::formats::{ImportError, NameError};
use weaver_types::{CapabilityError, IdError};

/// Why an item or a catalog was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// Two items have the same id.
    #[error("two items have the id `{id}`: give each item its own")]
    Duplicate {
        /// The id, made visible.
        id: String,
    },
    /// The catalog is full.
    #[error("the catalog holds {max} items already: split it")]
    Full {
        /// Items allowed.
        max: usize,
    },
    /// A field is larger than its bound.
    #[error("{field} of `{id}` has {size} {unit}, at most {max} are allowed: shorten it")]
    TooLarge {
        /// The id of the item, made visible.
        id: String,
        /// Which field.
        field: &'static str,
        /// Its size.
        size: usize,
        /// What the size counts.
        unit: &'static str,
        /// The bound.
        max: usize,
    },
    /// The id breaks the rule for capability ids.
    #[error("the id cannot be used: {0}")]
    Id(#[from] IdError),
    /// An entry is not the JSON object of an item.
    #[error("not an item: {0}; write {{\"id\", \"name\", \"description\"}} in one object")]
    Json(#[source] serde_json::Error),
    /// Something is wrong with one entry of a text.
    #[error("{place}: {source}")]
    At {
        /// Where: `line 3`, `entry 3`, `GET /pets`.
        place: String,
        /// What is wrong there.
        #[source]
        source: Box<CatalogError>,
    },
    /// The text as a whole is no JSON.
    #[error("not JSON: {0}; name its format, or mend it there")]
    Text(#[source] serde_json::Error),
    /// The text is no YAML that is read here.
    #[error("not YAML that can be read: {problem}")]
    Yaml {
        /// What is wrong, and where.
        problem: String,
    },
    /// This build reads no YAML.
    #[error("this build reads no YAML: build contextweaver with the feature `yaml`")]
    NoYaml,
    /// What should hold the entries is not there.
    #[error("{wanted} is not there: check the file, or name its format")]
    NoList {
        /// What was looked for.
        wanted: &'static str,
    },
    /// A word is none of those that are known.
    #[error("`{text}` is not {what}: {known}")]
    Word {
        /// What it should have been.
        what: &'static str,
        /// The word, made visible.
        text: String,
        /// The words that are known.
        known: &'static str,
    },
    /// An entry lacks a field.
    #[error("there is no `{field}`: add it")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A definition of a provider's format is none.
    #[error("{0}")]
    Import(#[source] ImportError),
    /// The effects of an item are not understood.
    #[error(
        "the effects of `{id}` are not understood: write read_local, read_open, \
         write_local, write_open, destructive, or {{\"impact\", \"world\"}}"
    )]
    Effects {
        /// The id of the item, made visible.
        id: String,
    },
    /// The cost hint of an item is out of its bounds.
    #[error("the cost_hint of `{id}` is not within 0 and 10^12: correct it")]
    Cost {
        /// The id of the item, made visible.
        id: String,
    },
    /// A schema is no schema.
    #[error("{field} of `{id}` {problem}: correct it, or leave it out")]
    Schema {
        /// The id of the item, made visible.
        id: String,
        /// Which schema.
        field: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A version of OpenAPI that is not read.
    #[error("OpenAPI `{found}` is not read: convert it to 3.0 or 3.1")]
    OpenApi {
        /// The version, made visible.
        found: String,
    },
    /// The beginning of a skill is not as it must be.
    #[error("the front matter cannot be read: {problem}")]
    FrontMatter {
        /// What is wrong.
        problem: &'static str,
    },
    /// An edit is about an item that is not there.
    #[error("there is no item `{id}` to change or remove: add it first")]
    Absent {
        /// The id, made visible.
        id: String,
    },
    /// A catalog is not written in this format.
    #[error("{format} is read, not written: choose another format")]
    ReadOnly {
        /// The format.
        format: &'static str,
    },
    /// An item is no capability, so no provider's form of it exists.
    #[error("{0}")]
    Capability(#[source] CapabilityError),
    /// Two items would have one name in a provider's form.
    #[error("{0}")]
    Name(#[source] NameError),
    /// A value has no canonical form.
    #[error("no canonical JSON: {0}")]
    Canonical(#[from] CanonicalError),
    /// A snapshot is of another version.
    #[error(
        "the snapshot has version {found}, this build reads {known}: use a build that knows it"
    )]
    SnapshotVersion {
        /// Its version.
        found: u64,
        /// The version of this build.
        known: u64,
    },
    /// A snapshot is not what its digest says.
    #[error("the snapshot was changed: its digest is another; make it anew from its source")]
    SnapshotDigest,
    /// A name gives no term that a search could find; the index was not built.
    #[error("no search can find `{id}`: give it a name or a description")]
    Unreachable {
        /// The id of the item, made visible.
        id: String,
    },
}

impl CatalogError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Duplicate { .. } => "catalog.duplicate",
            Self::Full { .. } => "catalog.full",
            Self::TooLarge { .. } => "catalog.too_large",
            Self::Id(_) => "catalog.id",
            Self::Json(_) => "catalog.json",
            Self::At { source, .. } => source.code(),
            Self::Text(_) => "catalog.text",
            Self::Yaml { .. } => "catalog.yaml",
            Self::NoYaml => "catalog.no_yaml",
            Self::NoList { .. } => "catalog.no_list",
            Self::Word { .. } => "catalog.word",
            Self::Missing { .. } => "catalog.missing_field",
            Self::Import(source) => source.code(),
            Self::Effects { .. } => "catalog.effects",
            Self::Cost { .. } => "catalog.cost",
            Self::Schema { .. } => "catalog.schema",
            Self::OpenApi { .. } => "catalog.openapi",
            Self::FrontMatter { .. } => "catalog.front_matter",
            Self::Absent { .. } => "catalog.absent",
            Self::ReadOnly { .. } => "catalog.read_only",
            Self::Capability(source) => source.code(),
            Self::Name(source) => source.code(),
            Self::Canonical(_) => "catalog.canonical",
            Self::SnapshotVersion { .. } => "catalog.snapshot_version",
            Self::SnapshotDigest => "catalog.snapshot_digest",
            Self::Unreachable { .. } => "catalog.unreachable",
        }
    }
}

/// Why an item was not taken into a context log.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogError {
    /// Two items have the same id.
    #[error("two context items have the id `{id}`: give each item its own")]
    Duplicate {
        /// The id, made visible.
        id: String,
    },
    /// The log is full.
    #[error("the context log holds {max} {unit} already: start a new one")]
    Full {
        /// The bound.
        max: usize,
        /// What is bounded.
        unit: &'static str,
    },
    /// One item is larger than its bound.
    #[error("the context item `{id}` has {size} bytes, at most {max} are allowed: shorten it")]
    TooLarge {
        /// The id, made visible.
        id: String,
        /// Its bytes.
        size: usize,
        /// Bytes allowed.
        max: usize,
    },
    /// The item would hang on itself.
    #[error("`{id}` would hang on itself: name another parent")]
    Cycle {
        /// The id of the item, made visible.
        id: String,
    },
}

impl LogError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Duplicate { .. } => "context.duplicate",
            Self::Full { .. } => "context.full",
            Self::TooLarge { .. } => "context.too_large",
            Self::Cycle { .. } => "context.cycle",
        }
    }
}

/// Why a log that outlives the process was not read or written.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DurableLogError {
    /// The name is none.
    #[error("`{name}` is no name of a log: use 1 to 64 of a-z, 0-9, _ and -")]
    Name {
        /// The name, made visible and cut.
        name: String,
    },
    /// The log does not take the item.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The item has no canonical form: nesting beyond the bound.
    #[error("the item `{id}` cannot be stored: {problem}")]
    Value {
        /// The id, made visible.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// A record holds no item.
    #[error("the record `{record}` holds no item: {problem}; restore the file")]
    Damaged {
        /// The record.
        record: String,
        /// What is wrong.
        problem: String,
    },
    /// A later version wrote the record.
    #[error("the record `{record}` has version {found}, this build knows {known}: use a newer one")]
    Newer {
        /// The record.
        record: String,
        /// Its version.
        found: u64,
        /// The version that is known.
        known: u64,
    },
    /// Others were faster each time.
    #[error("others add to this log all the time: try again")]
    Contended,
    /// The store failed.
    #[error("the store of the log failed: {0}")]
    Store(#[from] weaver_types::ledger::LedgerError),
}

impl DurableLogError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name { .. } => "context.name",
            Self::Log(error) => error.code(),
            Self::Value { .. } => "context.value",
            Self::Damaged { .. } => "context.damaged",
            Self::Newer { .. } => "context.newer",
            Self::Contended => "context.contended",
            Self::Store(_) => "context.store",
        }
    }
}

/// Why a context was not compiled.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// Something that must not be left out does not fit.
    #[error(
        "{count} of kind `{kind}` do not fit into {budget} tokens: allow more tokens, or let them \
         be dropped"
    )]
    Overflow {
        /// The kind.
        kind: &'static str,
        /// How many items of it.
        count: usize,
        /// The budget, in tokens.
        budget: usize,
    },
}

impl BuildError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Overflow { .. } => "context.overflow",
        }
    }
}

/// Why a look at a stored result was refused.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// There is nothing behind the item.
    #[error("nothing lies behind `{id}`: ask for a result that has a handle")]
    Nothing {
        /// The id of the item, made visible.
        id: String,
    },
    /// The firewall, or the policy before it, says no.
    #[error("the view was refused ({code}): {message}")]
    Refused {
        /// The stable code of what refused it.
        code: String,
        /// What is wrong, without any of the result.
        message: String,
    },
}

impl ViewError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Nothing { .. } => "context.no_handle",
            Self::Refused { .. } => "context.view_refused",
        }
    }
}
