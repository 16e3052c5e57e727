//! The folder of a new gateway: written to a staging folder, checked there, and moved in one step.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use weaver_policy::{DocumentSource, PolicySet, document_schema, sign_document, signing_key_id};
use weaver_types::signature::{DocumentKind, SigningKey};
use weaver_types::{KeyId, OsRandom, Timestamp};

use super::documents::{GatewayDraft, OWNER_KEY, PublicKeys, ROOT_KEY, SECRETS_FILE};
use super::error::{SetupError, io_error};
use super::review::Review;
use super::selection::Selection;
use crate::clients::write_new_file;
use crate::config::{self, Config};
use crate::interruption;
use crate::private_file;
use crate::secret::{KeyFile, Passphrase};

/// The name of the folder until it is complete. If an interrupted setup leaves it behind, the next
/// setup removes it.
const STAGING_FOLDER: &str = ".weaver-setup";

/// The keys of a new gateway: the root key of the documents, and the key of the person who releases
/// held calls.
pub struct GatewayKeys {
    root: KeyFile,
    root_key: SigningKey,
    owner: KeyFile,
}

impl GatewayKeys {
    /// Generates both keys, encrypted with one passphrase.
    ///
    /// # Errors
    /// [`SetupError::Secret`].
    pub fn generate(passphrase: &Passphrase) -> Result<Self, SetupError> {
        let id =
            |name: &str| KeyId::parse(name).map_err(|error| SetupError::Signing(error.to_string()));
        let (root, root_key) = KeyFile::generate(id("root")?, passphrase, &OsRandom)?;
        let (owner, _) = KeyFile::generate(id("owner")?, passphrase, &OsRandom)?;
        Ok(Self { root, root_key, owner })
    }

    fn public(&self) -> PublicKeys<'_> {
        PublicKeys { root: self.root.public(), owner: self.owner.public() }
    }
}

/// A folder that is being set up. Dropping it unfinished leaves nothing behind.
pub struct SetupFolder {
    target: PathBuf,
    staging: PathBuf,
    work: PathBuf,
    /// Whether the work folder was made here.
    made_work: bool,
}

impl SetupFolder {
    /// Starts to set up a gateway in this folder, which must be new or empty. Its servers work in the
    /// folder `work`, which is made unless it is there.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn begin(target: &Path, work: &Path) -> Result<Self, SetupError> {
        let target = std::path::absolute(target).map_err(io_error("find", target))?;
        let work = without_parents(work).map_err(io_error("make", work))?;
        match fs::read_dir(&target).map(|mut entries| entries.next().is_some()) {
            Ok(false) => {}
            Ok(true) => return Err(SetupError::Occupied { path: target }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("open", &target)(error)),
        }
        let parent = target.parent().unwrap_or(&target);
        fs::create_dir_all(parent).map_err(io_error("make", parent))?;
        let staging = parent.join(STAGING_FOLDER);
        match fs::remove_dir_all(&staging) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("remove what an interrupted setup left in", &staging)(error));
            }
            _ => {}
        }
        let made_work = !work.exists();
        private_file::create_folders(&work).map_err(io_error("make", &work))?;
        let folder = Self { target, staging, work, made_work };
        for name in ["", "policy", ".weaver", ".weaver/inbox", ".weaver/keys"] {
            let path = folder.staging.join(name);
            private_file::create_folder(&path).map_err(io_error("make", &path))?;
        }
        Ok(folder)
    }

    /// A temporary configuration from which the selected servers can be started.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn listing_config(&self, selection: &Selection) -> Result<Config, SetupError> {
        // The real keys are generated later; starting a server verifies nothing.
        let stand_in = SigningKey::from_seed([0; 32]).public();
        let keys = PublicKeys { root: &stand_in, owner: &stand_in };
        let draft = GatewayDraft::for_listing(selection, keys, &self.work);
        self.write_config_and_secrets(&draft)?;
        config::load(self.staging.join("weaver.toml")).map_err(SetupError::Check)
    }

    /// Writes, signs and checks everything, then moves it into place.
    ///
    /// # Errors
    /// [`SetupError`]; then nothing is left behind.
    pub fn finish(
        self,
        selection: &Selection,
        review: &Review,
        keys: &GatewayKeys,
        now: Timestamp,
    ) -> Result<(Config, PolicySet), SetupError> {
        let draft = GatewayDraft::from_review(selection, review, keys.public(), &self.work);
        self.write_config_and_secrets(&draft)?;
        let signer =
            DocumentSigner { folder: &self.staging.join("policy"), key: &keys.root_key, now };
        for (kind, text) in [
            (DocumentKind::Policy, &draft.policy),
            (DocumentKind::Contracts, &draft.contracts),
            (DocumentKind::Keys, &draft.keys),
        ] {
            signer.write(kind, text)?;
        }
        for (file, name) in [(&keys.root, ROOT_KEY), (&keys.owner, OWNER_KEY)] {
            file.write_new(&self.staging.join(name))?;
        }
        let schema = self.staging.join("weaver.schema.json");
        write_new_file(&schema, format!("{:#}\n", config::json_schema()))
            .map_err(io_error("write", &schema))?;
        config::check(self.staging.join("weaver.toml"), now).map_err(SetupError::Check)?;
        move_into_place(&self.staging, &self.target)?;
        config::check(self.target.join("weaver.toml"), now).map_err(SetupError::Check)
    }

    fn write_config_and_secrets(&self, draft: &GatewayDraft) -> Result<(), SetupError> {
        let files = [("weaver.toml", Some(&draft.config)), (SECRETS_FILE, draft.secrets.as_ref())];
        for (name, text) in files {
            let path = self.staging.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(io_error("replace", &path)(error));
                }
                _ => {}
            }
            if let Some(text) = text {
                write_new_file(&path, text).map_err(io_error("write", &path))?;
            }
        }
        Ok(())
    }
}

impl Drop for SetupFolder {
    fn drop(&mut self) {
        // After the move it no longer exists. If removing fails, the next setup tries again.
        let _ = fs::remove_dir_all(&self.staging);
        // Only an empty folder can be removed this way: one in which nobody has worked yet.
        if self.made_work && !self.target.join("weaver.toml").exists() {
            let _ = fs::remove_dir(&self.work);
        }
    }
}

/// The absolute path of a folder, with no part that leads upwards. The folders above it are made.
fn without_parents(folder: &Path) -> io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    let Some((above, name)) = folder.parent().zip(folder.file_name()) else { return Ok(folder) };
    private_file::create_folders(above)?;
    match folder.components().any(|part| part == Component::ParentDir) {
        true => Ok(crate::canonical_path(above)?.join(name)),
        false => Ok(folder),
    }
}

fn move_into_place(staging: &Path, target: &Path) -> Result<(), SetupError> {
    #[cfg(not(unix))]
    if target.is_dir() {
        fs::remove_dir(target).map_err(io_error("replace", target))?;
    }
    fs::rename(staging, target).map_err(io_error("move the new folder to", target))?;
    interruption::step();
    #[cfg(unix)]
    if let Some(parent) = target.parent() {
        let synced = fs::File::open(parent).and_then(|folder| folder.sync_all());
        synced.map_err(io_error("sync", parent))?;
    }
    Ok(())
}

/// Writes documents with their signatures.
pub(super) struct DocumentSigner<'a> {
    pub(super) folder: &'a Path,
    pub(super) key: &'a SigningKey,
    pub(super) now: Timestamp,
}

impl DocumentSigner<'_> {
    pub(super) fn write(&self, kind: DocumentKind, text: &str) -> Result<(), SetupError> {
        let name = format!("{kind}.toml");
        let refused =
            |error: weaver_policy::LoadError| SetupError::Documents(error.findings().to_vec());
        let id = signing_key_id(&self.key.public())
            .map_err(|error| SetupError::Signing(error.to_string()))?;
        let source = DocumentSource::unsigned(&name, text);
        let envelope = sign_document(&source, kind, id, self.key, self.now).map_err(refused)?;
        let envelope =
            envelope.to_json().map_err(|error| SetupError::Signing(error.to_string()))?;
        let mut files =
            vec![(name.clone(), text.to_owned()), (format!("{name}.sig"), format!("{envelope}\n"))];
        // Editors use this schema, named in the document's first line, to complete and check keys.
        if let Some(schema) = document_schema(kind) {
            files.push((format!("{kind}.schema.json"), schema.to_owned()));
        }
        for (name, text) in files {
            let path = self.folder.join(name);
            write_new_file(&path, &text).map_err(io_error("write", &path))?;
        }
        Ok(())
    }
}
