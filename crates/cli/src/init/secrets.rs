//! Decides where to store the secrets that clients kept in plain text.

use weaver_gateway::secret::SystemKeychain;
use weaver_gateway::setup::{SecretLocation, Selection};

use super::questions;
use crate::{Exit, Failure, output};

/// Parses the value of `--secrets`.
pub(super) fn parse(word: Option<&str>) -> Result<Option<SecretLocation>, Failure> {
    let Some(word) = word else { return Ok(None) };
    let place = SecretLocation::parse(word).ok_or_else(|| {
        let message = format!("`{}` is not a place for secrets", weaver_text::escape::line(word));
        Failure::new(Exit::Usage, "init.secrets", message).with_next_step("write env or keychain")
    })?;
    Ok(Some(place))
}

/// Asks where the secrets go; `None` if they stay with the client. Offers the keychain if one is
/// reachable.
pub(super) fn ask(selection: &Selection) -> Result<Option<SecretLocation>, Failure> {
    let names: Vec<&str> = selection.secrets.iter().map(|one| one.variable.as_str()).collect();
    let has_keychain = SystemKeychain.check_reachable().is_ok();
    let (keychain, keys) = match has_keychain {
        true => ("  k  in the keychain of this system, encrypted\n", "[f/k/n]"),
        false => ("", "[f/n]"),
    };
    let question = format!(
        "\nThere are secrets in the settings of your clients: {}.\nWhere should Weaver keep them?\n  \
         f  in a file for you alone, which servers cannot read (default)\n{keychain}  \
         n  nowhere: the servers that need them stay where they are, without Weaver\n{keys} ",
        names.join(", ")
    );
    loop {
        match questions::ask(&question)?.to_ascii_lowercase().as_str() {
            "" | "f" => return Ok(Some(SecretLocation::EnvironmentFile)),
            "k" if has_keychain => return Ok(Some(SecretLocation::Keychain)),
            "n" => return Ok(None),
            _ => {}
        }
    }
}

/// Stores the secrets in the keychain if that was chosen. If the keychain fails, they go into the
/// file of variables, with a note.
pub(super) fn store(place: SecretLocation, selection: &mut Selection) {
    if place == SecretLocation::EnvironmentFile || selection.secrets.is_empty() {
        return;
    }
    if let Err(error) = selection.store_secrets_in(&SystemKeychain) {
        output::stderr(&format!(
            "{}: {error}; the secrets go into .weaver/secrets.env instead, for you alone\n",
            output::bold("note")
        ));
    }
}
