//! What the tests share: the real binary, and a folder with a configuration.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use weaver_policy::{DocumentSource, document_kind, sign_document, signing_key_id};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::Timestamp;
use weaver_types::signature::SigningKey;

/// Far beyond what anything takes: a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(90);

/// Waits until something is so.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    until_found(what, || holds().then_some(()));
}

/// Waits until there is something, and gives it.
pub(crate) fn until_found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "it never came to this: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// How a run of the command ended; the code is -1 if a signal ended it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Standard output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The codes of the findings that a failure with `--json` tells.
    pub(crate) fn finding_codes(&self) -> Vec<String> {
        let failure: Value = serde_json::from_str(&self.err).unwrap();
        let findings = failure["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
    }
}

/// Runs `weaver`.
pub(crate) fn weaver<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Run {
    weaver_with(args, "")
}

/// Runs `weaver` with this text as its standard input.
pub(crate) fn weaver_with<S: AsRef<std::ffi::OsStr>>(args: &[S], input: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weaver"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that fails early may have closed its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Run::new(child.wait_with_output().unwrap())
}

/// A folder with `weaver.toml` and three documents, signed unless a test changes that.
pub(crate) struct Folder {
    dir: TempDir,
    root: SigningKey,
}

pub(crate) const HEAD: &str = "format = 1\nid = \"example\"\nversion = 1\n";

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = Self { dir: TempDir::new().unwrap(), root: SigningKey::from_seed([7; 32]) };
        let public = folder.root.public();
        std::fs::create_dir_all(folder.path(".weaver/inbox")).unwrap();
        folder.write(
            "weaver.toml",
            &format!(
                "[principal]\nid = \"owner\"\n\n[trust]\nroot = \"{public}\"\n\n\
                 [mcpServers.files]\ncommand = \"files-server\"\n"
            ),
        );
        for kind in ["policy", "contracts", "keys"] {
            folder.write(&format!("policy/{kind}.toml"), &format!("kind = \"{kind}\"\n{HEAD}"));
        }
        folder.append("policy/policy.toml", "principals.owner.roles = []\n");
        ["policy", "contracts", "keys"].iter().for_each(|kind| folder.sign(kind));
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The path as an argument.
    pub(crate) fn arg(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        let old = fs::read_to_string(self.path(name)).unwrap();
        self.write(name, &format!("{old}{text}"));
    }

    /// Signs a document of the folder with the root key.
    pub(crate) fn sign(&self, kind: &str) {
        self.sign_with(kind, &self.root);
    }

    pub(crate) fn sign_with(&self, kind: &str, key: &SigningKey) {
        let path = self.path(&format!("policy/{kind}.toml"));
        let text = fs::read_to_string(&path).unwrap();
        let source = DocumentSource::unsigned("x", &text);
        let id = signing_key_id(&key.public()).unwrap();
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        let envelope = sign_document(&source, document_kind(&text).unwrap(), id, key, now).unwrap();
        self.write(&format!("policy/{kind}.toml.sig"), &envelope.to_json().unwrap());
    }

    /// Runs `weaver` with the configuration of the folder.
    pub(crate) fn weaver(&self, args: &[&str]) -> Run {
        weaver(&[args, &["--config", &self.arg("weaver.toml")]].concat())
    }

    /// The ledger of the gateway, to read it.
    pub(crate) fn reader(&self) -> Reader {
        Reader::open(self.path(".weaver/ledger.db")).unwrap()
    }

    /// The ledger of the gateway, which no gateway uses now.
    pub(crate) fn ledger(&self) -> SqliteLedger {
        SqliteLedger::open(self.path(".weaver/ledger.db"), OpenOptions::default()).unwrap()
    }

    pub(crate) fn check(&self, more: &[&str]) -> Run {
        self.weaver(&[&["check"], more].concat())
    }
}

/// The mode bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
