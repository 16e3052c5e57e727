//! `weaver sign`.

use std::path::{Path, PathBuf};

use serde_json::json;
use weaver_gateway::bounded_file;
use weaver_gateway::clients::replace_public_file;
use weaver_gateway::config::{self, DEFAULT_FILE_NAME};
use weaver_gateway::secret::KeyFile;
use weaver_gateway::setup;
use weaver_policy::{
    DocumentFinding, DocumentSource, MAX_DOCUMENT_BYTES, document_kind, signing_key_id,
};
use weaver_text::escape;
use weaver_types::signature::{DocumentKind, Envelope};
use weaver_types::{Clock as _, SystemClock, Timestamp};

use super::args::Sign;
use super::policy::{documents, lint};
use super::{Exit, Failure, output};
use crate::output::OutputFormat;

/// A document that is to be signed.
struct DocumentToSign<'a> {
    path: &'a Path,
    name: String,
    text: String,
    kind: DocumentKind,
}

pub(super) fn run(args: &Sign) -> Result<Exit, Failure> {
    let to_sign = read_documents(&args.files)?;
    let (key_path, config) = match &args.key {
        Some(path) => (path.clone(), None),
        None => default_key(&args.files).map(|(key, config)| (key, Some(config)))?,
    };
    let key_file = KeyFile::read(&key_path)?;
    if let Some(config) = config {
        check_root_key(&key_path, &key_file, &config)?;
    }
    let key = args.passphrase.unlock(&key_path, &key_file)?;
    let id = signing_key_id(&key.public())
        .map_err(|error| Failure::new(Exit::Internal, error.code(), error))?;
    let now = SystemClock::default().now();
    let mut findings = Vec::new();
    let mut signed = Vec::new();
    for document in &to_sign {
        let source = DocumentSource::unsigned(&document.name, &document.text);
        match weaver_policy::sign_document(&source, document.kind, id.clone(), &key, now) {
            Ok(envelope) => signed.push((document, envelope)),
            Err(error) => findings.extend(error.findings().iter().cloned()),
        }
    }
    fail_on_findings(&findings)?;
    for (document, envelope) in signed {
        let path = write_envelope(document.path, &envelope)?;
        print_signature(document, &envelope, &path, args.output.format())?;
    }
    for note in approver_notes(&to_sign, now) {
        output::stderr(&format!("{}: {note}\n", output::bold("note")));
    }
    Ok(Exit::Ok)
}

/// Approvers who can release their own calls, according to the policy and the keys of the folder in
/// which one of both was signed.
fn approver_notes(to_sign: &[DocumentToSign<'_>], now: Timestamp) -> Vec<String> {
    let about = [DocumentKind::Policy, DocumentKind::Keys];
    let signed = to_sign.iter().find(|document| about.contains(&document.kind));
    let folder = signed.and_then(|document| document.path.parent());
    let Some(folder) = folder else { return Vec::new() };
    let file = |name: &str| folder.join(name);
    let (policy, contracts) = (file("policy.toml"), file("contracts.toml"));
    // Another document that cannot be read is told when it is signed itself.
    match documents::load_files(&policy, &contracts, Some(&file("keys.toml")), now) {
        Ok(loaded) => lint::approver_notes(&loaded.set, now),
        Err(_) => Vec::new(),
    }
}

/// The root key that `weaver init` made for the gateway of the first document, and the gateway's
/// configuration.
fn default_key(files: &[PathBuf]) -> Result<(PathBuf, PathBuf), Failure> {
    let document = files.first().and_then(|file| std::path::absolute(file).ok());
    let folders = document.iter().flat_map(|file| file.ancestors());
    let mut configs = folders
        .map(|folder| (setup::root_key_file(folder), folder.join(DEFAULT_FILE_NAME)))
        .filter(|(_, config)| config.is_file());
    configs.next().filter(|(key, _)| key.is_file()).ok_or_else(|| {
        let message = "no key file is named, and `weaver init` made none for these documents";
        Failure::new(Exit::Usage, "sign.no_key", message)
            .with_next_step("name the key file of the root key: `--key FILE`")
    })
}

/// Refuses a default key that the configuration no longer trusts. A configuration that cannot be
/// read is another command's problem.
fn check_root_key(path: &Path, key: &KeyFile, config: &Path) -> Result<(), Failure> {
    match config::load(config) {
        Ok(trusted) if trusted.root_key != *key.public() => {
            let (path, config) = (path.display().to_string(), config.display().to_string());
            let (path, config) = (escape::line(&path), escape::line(&config));
            let message = format!("{config} trusts another root key than that of {path}");
            Err(Failure::new(Exit::Invalid, "sign.other_root", message)
                .with_next_step("name the key file of the root key: `--key FILE`"))
        }
        _ => Ok(()),
    }
}

/// Reads every document, or says what is wrong in each of them.
fn read_documents(files: &[PathBuf]) -> Result<Vec<DocumentToSign<'_>>, Failure> {
    let mut findings = Vec::new();
    let mut documents = Vec::new();
    for path in files {
        let name = path.display().to_string();
        match bounded_file::read_text(path, MAX_DOCUMENT_BYTES) {
            Ok(text) => match document_kind(&text) {
                Ok(kind) => documents.push(DocumentToSign { path, name, text, kind }),
                Err(error) => findings.extend(
                    error
                        .findings()
                        .iter()
                        .map(|finding| DocumentFinding { file: name.clone(), ..finding.clone() }),
                ),
            },
            Err(error) => findings.push(DocumentFinding {
                file: name,
                line: None,
                column: None,
                key: None,
                code: "sign.unreadable",
                message: error.to_string(),
                remedy: "name a policy, contracts or keys document".to_owned(),
            }),
        }
    }
    fail_on_findings(&findings)?;
    Ok(documents)
}

fn fail_on_findings(findings: &[DocumentFinding]) -> Result<(), Failure> {
    match findings.first() {
        Some(first) => Err(Failure::findings(first.code, findings)
            .with_next_step("correct the documents; nothing was signed")),
        None => Ok(()),
    }
}

/// Writes the envelope next to the document, atomically. A link stays a link, and a signature that
/// is replaced keeps its permissions. A new one is public: a gateway of another user may check it.
fn write_envelope(document: &Path, envelope: &Envelope) -> Result<PathBuf, Failure> {
    let path = document.with_added_extension("sig");
    let text = envelope.to_json();
    let text = text.map_err(|error| Failure::new(Exit::Internal, error.code(), error))?;
    replace_public_file(&path, &format!("{text}\n")).map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        Failure::new(Exit::Invalid, "sign.unwritable", message)
            .with_next_step("make the folder writable, then sign again")
    })?;
    Ok(path)
}

fn print_signature(
    document: &DocumentToSign<'_>,
    envelope: &Envelope,
    path: &Path,
    format: OutputFormat,
) -> Result<(), Failure> {
    let (kind, digest, key) = (document.kind, envelope.digest(), envelope.key());
    if format == OutputFormat::Json {
        output::json(&json!({
            "file": document.name,
            "kind": kind.as_str(),
            "digest": digest.to_string(),
            "key": key.as_str(),
            "signature": path.display().to_string(),
        }))?;
    } else {
        let good = output::good("signed");
        let digest = output::dim(&digest.to_string());
        output::line(&format!("{good} {kind} {} → {} {digest}", document.name, path.display()))?;
    }
    Ok(())
}
