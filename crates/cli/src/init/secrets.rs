//! Where the secrets go that clients kept in the clear.

use weaver_gateway::secret::SystemKeychain;
use weaver_gateway::setup::{SecretPlace, Selection};

use super::questions;
use crate::{Exit, Failure, output};

/// Reads the word of `--secrets`.
pub(super) fn parse(word: Option<&str>) -> Result<Option<SecretPlace>, Failure> {
    let Some(word) = word else { return Ok(None) };
    let place = SecretPlace::parse(word).ok_or_else(|| {
        let message = format!("`{}` is no place for secrets", weaver_text::escape::line(word));
        Failure::new(Exit::Usage, "init.secrets", message).next("write env or keychain")
    })?;
    Ok(Some(place))
}

/// Asks where they go; nothing where they are to stay in the client. The keychain is offered where
/// one answers.
pub(super) fn ask(selection: &Selection) -> Result<Option<SecretPlace>, Failure> {
    let names: Vec<&str> = selection.secrets.iter().map(|one| one.variable.as_str()).collect();
    let has_keychain = SystemKeychain.reachable().is_ok();
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
            "" | "f" | "y" | "yes" => return Ok(Some(SecretPlace::EnvironmentFile)),
            "k" if has_keychain => return Ok(Some(SecretPlace::Keychain)),
            "n" | "no" => return Ok(None),
            _ => {}
        }
    }
}

/// Stores the secrets in the keychain where that is wanted. Without one that takes them they go into
/// the file of variables, which is said.
pub(super) fn store(place: SecretPlace, selection: &mut Selection) {
    if place == SecretPlace::EnvironmentFile || selection.secrets.is_empty() {
        return;
    }
    if let Err(error) = selection.store_secrets_in(&SystemKeychain) {
        output::aside(&format!(
            "{}: {error}; the secrets go into .weaver/secrets.env instead, for you alone\n",
            output::bold("note")
        ));
    }
}
