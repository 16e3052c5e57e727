//! Arguments that several commands share.

use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::argument_error::ArgumentError;
use crate::output::OutputFormat;

/// Parses a keyword as documents write it.
pub(crate) fn parse_keyword<T: DeserializeOwned>(text: &str) -> Result<T, ArgumentError> {
    serde_json::from_value(Value::String(text.to_owned())).map_err(ArgumentError::malformed)
}

#[derive(Debug, Args)]
pub(crate) struct JsonFlag {
    /// Print JSON for scripts
    #[arg(long)]
    pub(crate) json: bool,
}

impl JsonFlag {
    /// The output format that the flag selects.
    pub(crate) fn format(&self) -> OutputFormat {
        OutputFormat::from_flag(self.json)
    }
}

#[derive(Debug, Args)]
pub(crate) struct PassphraseArgs {
    /// Read the passphrase from this file descriptor
    #[arg(long, value_name = "N")]
    pub(crate) passphrase_fd: Option<u32>,
}
