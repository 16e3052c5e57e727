//! `weaver schema`.

use weaver_gateway::config;
use weaver_types::signature::Kind;

use super::{Exit, Failure, output};

/// A file that Weaver reads.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum SchemaOf {
    /// weaver.toml
    Config,
    /// policy.toml
    Policy,
    /// contracts.toml
    Contracts,
    /// keys.toml
    Keys,
}

pub(super) fn run(of: SchemaOf) -> Result<Exit, Failure> {
    let kind = match of {
        SchemaOf::Config => {
            output::text(&format!("{:#}\n", config::json_schema()))?;
            return Ok(Exit::Ok);
        }
        SchemaOf::Policy => Kind::Policy,
        SchemaOf::Contracts => Kind::Contracts,
        SchemaOf::Keys => Kind::Keys,
    };
    output::text(weaver_policy::schema(kind).unwrap_or_default())?;
    Ok(Exit::Ok)
}
