//! The folder of a new gateway: written beside its place, checked there, and moved in one step.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weaver_policy::{PolicySet, Source, root_key_id, schema, sign};
use weaver_types::signature::{Kind, SigningKey};
use weaver_types::{KeyId, OsRandom, Timestamp};

use super::documents::{Draft, OWNER_KEY, PublicKeys, ROOT_KEY, SECRETS};
use super::error::{SetupError, system};
use super::review::Review;
use super::selection::Selection;
use crate::clients::write_new_file;
use crate::config::{self, Config};
use crate::interruption;
use crate::secret::{KeyFile, Passphrase};

/// What the folder is called until it is whole. One that is left behind by an interrupted setup is
/// removed by the next.
const STAGE: &str = ".weaver-setup";

/// The keys of a new gateway: of the documents, and of the person who releases held calls.
pub struct OwnKeys {
    root: KeyFile,
    root_key: SigningKey,
    owner: KeyFile,
}

impl OwnKeys {
    /// Makes both keys under one passphrase.
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

/// A folder that is being set up. Dropped before it is finished, it leaves nothing.
pub struct SetupFolder {
    target: PathBuf,
    stage: PathBuf,
}

impl SetupFolder {
    /// Begins a gateway in this folder, which must be new or empty.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn begin(target: &Path) -> Result<Self, SetupError> {
        let target = std::path::absolute(target).map_err(system("find", target))?;
        match fs::read_dir(&target).map(|mut entries| entries.next().is_some()) {
            Ok(false) => {}
            Ok(true) => return Err(SetupError::Occupied { path: target }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(system("open", &target)(error)),
        }
        let parent = target.parent().unwrap_or(&target);
        fs::create_dir_all(parent).map_err(system("make", parent))?;
        let stage = parent.join(STAGE);
        match fs::remove_dir_all(&stage) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(system("remove what an interrupted setup left in", &stage)(error));
            }
            _ => {}
        }
        let folder = Self { target, stage };
        for name in ["", "policy", ".weaver", ".weaver/inbox", ".weaver/keys"] {
            let path = folder.stage.join(name);
            new_folder(&path).map_err(system("make", &path))?;
        }
        Ok(folder)
    }

    /// A configuration with which the selected servers can be started. Nothing of it stays.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn listing_config(&self, selection: &Selection) -> Result<Config, SetupError> {
        // The keys come later: nothing is verified to start a server.
        let stand_in = SigningKey::from_seed([0; 32]).public();
        let keys = PublicKeys { root: &stand_in, owner: &stand_in };
        let draft = Draft::of_servers(selection, keys);
        self.write_plumbing(&draft)?;
        config::load(self.stage.join("weaver.toml")).map_err(SetupError::Check)
    }

    /// Writes, signs and checks everything, then moves it to its place.
    ///
    /// # Errors
    /// [`SetupError`]; nothing is left behind then.
    pub fn finish(
        self,
        selection: &Selection,
        review: &Review,
        keys: &OwnKeys,
        now: Timestamp,
    ) -> Result<(Config, PolicySet), SetupError> {
        let draft = Draft::reviewed(selection, review, keys.public());
        self.write_plumbing(&draft)?;
        let signer = Signer { folder: &self.stage.join("policy"), key: &keys.root_key, now };
        for (kind, text) in [
            (Kind::Policy, &draft.policy),
            (Kind::Contracts, &draft.contracts),
            (Kind::Keys, &draft.keys),
        ] {
            signer.write(kind, text)?;
        }
        for (file, name) in [(&keys.root, ROOT_KEY), (&keys.owner, OWNER_KEY)] {
            file.write_new(&self.stage.join(name))?;
        }
        let schema = self.stage.join("weaver.schema.json");
        write_new_file(&schema, &format!("{:#}\n", config::json_schema()))
            .map_err(system("write", &schema))?;
        config::check(self.stage.join("weaver.toml"), now).map_err(SetupError::Check)?;
        move_into_place(&self.stage, &self.target)?;
        config::check(self.target.join("weaver.toml"), now).map_err(SetupError::Check)
    }

    fn write_plumbing(&self, draft: &Draft) -> Result<(), SetupError> {
        let files = [("weaver.toml", Some(&draft.config)), (SECRETS, draft.secrets.as_ref())];
        for (name, text) in files {
            let path = self.stage.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(system("replace", &path)(error));
                }
                _ => {}
            }
            if let Some(text) = text {
                write_new_file(&path, text).map_err(system("write", &path))?;
            }
        }
        Ok(())
    }
}

impl Drop for SetupFolder {
    fn drop(&mut self) {
        // After the move it is not there any more. What cannot be removed, the next setup removes.
        let _ = fs::remove_dir_all(&self.stage);
    }
}

fn move_into_place(stage: &Path, target: &Path) -> Result<(), SetupError> {
    #[cfg(not(unix))]
    if target.is_dir() {
        fs::remove_dir(target).map_err(system("replace", target))?;
    }
    fs::rename(stage, target).map_err(system("move the new folder to", target))?;
    interruption::step();
    #[cfg(unix)]
    if let Some(parent) = target.parent() {
        let synced = fs::File::open(parent).and_then(|folder| folder.sync_all());
        synced.map_err(system("sync", parent))?;
    }
    Ok(())
}

/// Makes a folder for this user alone.
fn new_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes documents with their signatures.
pub(super) struct Signer<'a> {
    pub(super) folder: &'a Path,
    pub(super) key: &'a SigningKey,
    pub(super) now: Timestamp,
}

impl Signer<'_> {
    pub(super) fn write(&self, kind: Kind, text: &str) -> Result<(), SetupError> {
        let name = format!("{kind}.toml");
        let refused =
            |error: weaver_policy::LoadError| SetupError::Documents(error.findings().to_vec());
        let id = root_key_id(&self.key.public())
            .map_err(|error| SetupError::Signing(error.to_string()))?;
        let source = Source::unsigned(&name, text);
        let envelope = sign(&source, kind, id, self.key, self.now).map_err(refused)?;
        let envelope =
            envelope.to_json().map_err(|error| SetupError::Signing(error.to_string()))?;
        let mut files =
            vec![(name.clone(), text.to_owned()), (format!("{name}.sig"), format!("{envelope}\n"))];
        // An editor that knows the first line of the document completes and checks keys by this.
        if let Some(schema) = schema(kind) {
            files.push((format!("{kind}.schema.json"), schema.to_owned()));
        }
        for (name, text) in files {
            let path = self.folder.join(name);
            write_new_file(&path, &text).map_err(system("write", &path))?;
        }
        Ok(())
    }
}
