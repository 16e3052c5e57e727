//! `weaver schema`.

use weaver_gateway::config;
use weaver_types::signature::DocumentKind;

use super::{Exit, Failure, output};

/// A file that has a schema.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum SchemaFile {
    /// weaver.toml
    Config,
    /// policy.toml
    Policy,
    /// contracts.toml
    Contracts,
    /// keys.toml
    Keys,
}

pub(super) fn run(of: SchemaFile) -> Result<Exit, Failure> {
    let kind = match of {
        SchemaFile::Config => {
            output::text(&format!("{:#}\n", config::json_schema()))?;
            return Ok(Exit::Ok);
        }
        SchemaFile::Policy => DocumentKind::Policy,
        SchemaFile::Contracts => DocumentKind::Contracts,
        SchemaFile::Keys => DocumentKind::Keys,
    };
    output::text(weaver_policy::document_schema(kind).unwrap_or_default())?;
    Ok(Exit::Ok)
}
