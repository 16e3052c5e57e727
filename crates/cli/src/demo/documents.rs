//! The demo's configuration and its three documents, signed with a new root key.

use std::path::Path;

use weaver_gateway::secret::{KeyFile, Passphrase, generate_passphrase};
use weaver_policy::{DocumentSource, sign_document, signing_key_id};
use weaver_types::signature::{DocumentKind, PublicKey, SigningKey};
use weaver_types::{Clock, KeyId, OsRandom, Random, SystemClock};
use zeroize::Zeroizing;

use super::folder::{DemoFolder, OLD_NOTE, write as write_file};
use super::{DemoError, server};

const CONFIG: &str = include_str!("../../assets/demo/weaver.toml");
const POLICY: &str = include_str!("../../assets/demo/policy.toml");
const CONTRACTS: &str = include_str!("../../assets/demo/contracts.toml");
const KEYS: &str = include_str!("../../assets/demo/keys.toml");

/// The keys that the rest of the demo needs.
pub(super) struct DemoKeys {
    /// The passphrase of the key files, if the folder is kept.
    pub(super) passphrase: Option<Zeroizing<String>>,
    /// The key of the person who may release held calls.
    pub(super) approver: SigningKey,
}

/// Writes configuration, documents and signatures, and encrypted keys if the folder is kept.
pub(super) fn write(folder: &DemoFolder) -> Result<DemoKeys, DemoError> {
    let (passphrase, root, approver) = if folder.is_kept() {
        let text = generate_passphrase(&OsRandom).map_err(key_error)?;
        let passphrase = Passphrase::new(text.clone()).map_err(document_error)?;
        let root = new_key_file(folder, "root", &passphrase)?;
        let approver = new_key_file(folder, "owner", &passphrase)?;
        (Some(text), root, approver)
    } else {
        // These keys are not stored.
        (None, throwaway_key()?, throwaway_key()?)
    };
    write_file(&folder.config(), &config(folder, &root.public())?)?;
    let keys = KEYS.replace("{approver}", &approver.public().to_string());
    for (kind, text) in [
        (DocumentKind::Policy, POLICY),
        (DocumentKind::Contracts, &contracts(folder)?),
        (DocumentKind::Keys, &keys),
    ] {
        write_signed(folder, kind, text, &root)?;
    }
    Ok(DemoKeys { passphrase, approver })
}

/// A path as UTF-8, for configuration and command lines.
pub(super) fn utf8(path: &Path) -> Result<&str, DemoError> {
    path.to_str().ok_or_else(|| DemoError::System {
        what: "use this path",
        reason: format!("`{}` is not UTF-8; choose another folder", path.display()),
    })
}

fn config(folder: &DemoFolder, root: &PublicKey) -> Result<String, DemoError> {
    let program = std::env::current_exe().map_err(|error| DemoError::System {
        what: "find the path of this program",
        reason: error.to_string(),
    })?;
    Ok(CONFIG
        .replace("{key}", &toml_quote(&root.to_string()))
        .replace("{command}", &toml_quote(utf8(&program)?))
        .replace("{root}", &toml_quote(utf8(&folder.files())?)))
}

/// Quotes a text for TOML.
fn toml_quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// The contracts document, with each tool pinned to this build's server.
fn contracts(folder: &DemoFolder) -> Result<String, DemoError> {
    let text = CONTRACTS.replace("{old_note}", &toml_quote(utf8(&folder.note(OLD_NOTE))?));
    let digests = server::tool_digests();
    Ok(digests.iter().fold(text, |text, (name, digest)| {
        text.replace(&format!("{{{name}}}"), &digest.to_string())
    }))
}

fn write_signed(
    folder: &DemoFolder,
    kind: DocumentKind,
    text: &str,
    root: &SigningKey,
) -> Result<(), DemoError> {
    let name = format!("{kind}.toml");
    let id = signing_key_id(&root.public()).map_err(document_error)?;
    let source = DocumentSource::unsigned(&name, text);
    let now = SystemClock::default().now();
    let envelope = sign_document(&source, kind, id, root, now).map_err(document_error)?;
    let envelope = envelope.to_json().map_err(document_error)?;
    // Editors read the schema that the first line of the document names.
    if let Some(schema) = weaver_policy::document_schema(kind) {
        write_file(&folder.documents().join(format!("{kind}.schema.json")), schema)?;
    }
    write_file(&folder.documents().join(&name), text)?;
    write_file(&folder.documents().join(format!("{name}.sig")), &format!("{envelope}\n"))
}

fn new_key_file(
    folder: &DemoFolder,
    name: &str,
    passphrase: &Passphrase,
) -> Result<SigningKey, DemoError> {
    let id = KeyId::parse(name).map_err(document_error)?;
    let (file, key) = KeyFile::generate(id, passphrase, &OsRandom).map_err(key_error)?;
    file.write_new(&folder.keys().join(format!("{name}.key"))).map_err(key_error)?;
    Ok(key)
}

fn throwaway_key() -> Result<SigningKey, DemoError> {
    let mut seed = Zeroizing::new([0_u8; 32]);
    OsRandom.fill(seed.as_mut_slice()).map_err(key_error)?;
    Ok(SigningKey::from_seed(*seed))
}

fn document_error(error: impl ToString) -> DemoError {
    DemoError::Documents(error.to_string())
}

fn key_error(error: impl ToString) -> DemoError {
    DemoError::System { what: "make a key", reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_placeholder_is_left() {
        let folder = DemoFolder::open(None).unwrap();
        let key = SigningKey::from_seed([7; 32]).public();
        for text in [contracts(&folder).unwrap(), config(&folder, &key).unwrap()] {
            assert!(
                !text.contains("\"{") && !text.contains("= {key") && !text.contains("= {old"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_path_with_quotes_stays_a_path() {
        let text = format!("x = {}", toml_quote("C:\\a \"b\""));
        assert_eq!(text.parse::<toml::Table>().unwrap()["x"].as_str(), Some("C:\\a \"b\""));
    }
}
