//! Errors of catalogs, context logs, builds and result views.

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
        /// The id, escaped.
        id: String,
    },
    /// The catalog is full.
    #[error("the catalog holds {max} items already: split it")]
    Full {
        /// The most items allowed.
        max: usize,
    },
    /// A field is larger than its bound.
    #[error("{field} of `{id}` has {size} {unit}, at most {max} are allowed: shorten it")]
    TooLarge {
        /// The id of the item, escaped.
        id: String,
        /// The field.
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
    NotAnItem(#[source] serde_json::Error),
    /// An error in one entry of a text.
    #[error("{place}: {source}")]
    At {
        /// The location: `line 3`, `entry 3`, `GET /pets`.
        place: String,
        /// What is wrong with the entry.
        #[source]
        source: Box<CatalogError>,
    },
    /// The text is not JSON.
    #[error("not JSON: {0}; name its format, or mend it there")]
    NotJson(#[source] serde_json::Error),
    /// The text is not YAML, or uses features of YAML that are not supported.
    #[error("not YAML that can be read: {problem}")]
    NotYaml {
        /// What is wrong, and where.
        problem: String,
    },
    /// This build cannot read YAML.
    #[error("this build reads no YAML: build contextweaver with the feature `yaml`")]
    NoYaml,
    /// The list of entries is missing.
    #[error("{wanted} is not there: check the file, or name its format")]
    MissingList {
        /// What was looked for.
        wanted: &'static str,
    },
    /// A word is not one of the known ones.
    #[error("`{text}` is not {what}: {known}")]
    UnknownWord {
        /// What the word should have been.
        what: &'static str,
        /// The word, escaped.
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
    /// A tool definition in a provider's format is invalid.
    #[error("{0}")]
    Import(#[source] ImportError),
    /// The effects of an item are not understood.
    #[error(
        "the effects of `{id}` are not understood: write read_local, read_open, \
         write_local, write_open, destructive, or {{\"impact\", \"world\"}}"
    )]
    Effects {
        /// The id of the item, escaped.
        id: String,
    },
    /// The cost hint of an item is out of its bounds.
    #[error("the cost_hint of `{id}` is not within 0 and 10^12: correct it")]
    Cost {
        /// The id of the item, escaped.
        id: String,
    },
    /// A schema is invalid or too large.
    #[error("{field} of `{id}` {problem}: correct it, or leave it out")]
    Schema {
        /// The id of the item, escaped.
        id: String,
        /// The field with the schema.
        field: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// An unsupported version of OpenAPI.
    #[error("OpenAPI `{found}` is not read: convert it to 3.0 or 3.1")]
    OpenApi {
        /// The version, escaped.
        found: String,
    },
    /// The front matter of a skill is malformed.
    #[error("the front matter cannot be read: {problem}")]
    FrontMatter {
        /// What is wrong.
        problem: &'static str,
    },
    /// An edit refers to an item that does not exist.
    #[error("there is no item `{id}` to change or remove: add it first")]
    Absent {
        /// The id, escaped.
        id: String,
    },
    /// The format can only be read, not written.
    #[error("{format} is read, not written: choose another format")]
    ReadOnly {
        /// The format.
        format: &'static str,
    },
    /// An item cannot be a capability, so it has no form in a provider's format.
    #[error("{0}")]
    Capability(#[source] CapabilityError),
    /// Two items would have the same name in a provider's format.
    #[error("{0}")]
    Name(#[source] NameError),
    /// A value cannot be written as canonical JSON.
    #[error("no canonical JSON: {0}")]
    Canonical(#[from] CanonicalError),
    /// A snapshot has an unsupported version.
    #[error(
        "the snapshot has version {found}, this build reads {known}: use a build that knows it"
    )]
    SnapshotVersion {
        /// The version of the snapshot.
        found: u64,
        /// The version that this build reads.
        known: u64,
    },
    /// The content of a snapshot does not match its digest.
    #[error("the snapshot was changed: its digest is another; make it anew from its source")]
    SnapshotDigest,
    /// An item has no term by which a search could find it; the index was not built.
    #[error("no search can find `{id}`: give it a name or a description")]
    Unreachable {
        /// The id of the item, escaped.
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
            Self::NotAnItem(_) => "catalog.json",
            Self::At { source, .. } => source.code(),
            Self::NotJson(_) => "catalog.text",
            Self::NotYaml { .. } => "catalog.yaml",
            Self::NoYaml => "catalog.no_yaml",
            Self::MissingList { .. } => "catalog.no_list",
            Self::UnknownWord { .. } => "catalog.word",
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

/// Why an item was not added to a context log.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogError {
    /// Two items have the same id.
    #[error("two context items have the id `{id}`: give each item its own")]
    Duplicate {
        /// The id, escaped.
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
        /// The id, escaped.
        id: String,
        /// The size of the item in bytes.
        size: usize,
        /// The most bytes allowed.
        max: usize,
    },
    /// The item would become its own ancestor.
    #[error("`{id}` would become its own ancestor: name another parent")]
    Cycle {
        /// The id of the item, escaped.
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

/// Why a durable log was not read or written.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DurableLogError {
    /// The name is invalid.
    #[error("`{name}` is not a valid name of a log: use 1 to 64 of a-z, 0-9, _ and -")]
    Name {
        /// The name, escaped and shortened.
        name: String,
    },
    /// The log does not accept the item.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The item cannot be written as canonical JSON, for example because it is nested too deep.
    #[error("the item `{id}` cannot be stored: {problem}")]
    Value {
        /// The id, escaped.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// A record does not hold a valid item.
    #[error("the record `{record}` does not hold a valid item: {problem}; restore the file")]
    Damaged {
        /// The record.
        record: String,
        /// What is wrong.
        problem: String,
    },
    /// The record was written by a newer version.
    #[error("the record `{record}` has version {found}, this build knows {known}: use a newer one")]
    Newer {
        /// The record.
        record: String,
        /// The version of the record.
        found: u64,
        /// The newest version that this build knows.
        known: u64,
    },
    /// Other processes appended first at every attempt.
    #[error("other processes keep appending to this log: try again")]
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
    /// Items that the request does not allow to be left out do not fit.
    #[error(
        "{count} of kind `{kind}` do not fit into {budget} tokens: allow more tokens, or let them \
         be dropped"
    )]
    Overflow {
        /// The kind of these items.
        kind: &'static str,
        /// The number of these items.
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

/// Why a view of a stored result was not given.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// The item has no stored result.
    #[error("no stored result belongs to `{id}`: ask for a result that has a handle")]
    NoHandle {
        /// The id of the item, escaped.
        id: String,
    },
    /// The firewall, or the policy before it, refused the view.
    #[error("the view was refused ({code}): {message}")]
    Refused {
        /// The stable code of the refusal.
        code: String,
        /// What is wrong, without any content of the result.
        message: String,
    },
}

impl ViewError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoHandle { .. } => "context.no_handle",
            Self::Refused { .. } => "context.view_refused",
        }
    }
}
