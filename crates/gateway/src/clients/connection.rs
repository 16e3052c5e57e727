//! Connecting a client to the gateway, and taking that back.
//!
//! Each connection has two files in a folder of the gateway: what the client's file held before,
//! byte for byte, and a record that says what was written. Both are on disk before the client's
//! file is replaced, so that whatever is interrupted can be finished or taken back. They may hold
//! the client's secrets, so the folder is one that servers cannot see.

mod record;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use weaver_types::Timestamp;

use super::catalogue::GatewayStart;
use super::error::ClientFileError;
use super::file::ClientFile;
use super::server_table::NewEntry;
use super::{Client, replace_file};
use record::{Record, digest};

/// What the gateway is called in a client's configuration.
pub const GATEWAY_ENTRY: &str = "weaver";

/// The connections of one gateway.
#[derive(Debug, Clone)]
pub struct Connections {
    /// The folder of the records.
    folder: PathBuf,
    /// The program that clients start.
    program: PathBuf,
    /// The configuration that it is started with.
    config: PathBuf,
    /// The profile of clients that search among tools themselves.
    search_profile: Option<String>,
}

/// A client's file that was connected.
#[derive(Debug, Clone)]
pub struct Connection {
    record: Record,
    folder: PathBuf,
}

/// How a connected file stands now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    /// As it was written.
    Connected,
    /// Changed since, with the gateway's entry in it.
    Edited,
    /// The gateway's entry is not in it any more.
    Removed,
    /// The file cannot be read.
    Unreadable,
}

/// A change of one client's file that was not made yet.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The file as it is.
    pub file: ClientFile,
    /// The text that it will have.
    pub text: String,
    /// The servers whose entries go, since the gateway stands in front of them.
    pub replaced: Vec<String>,
    /// The servers that stay, since the gateway does not know them.
    pub left: Vec<String>,
    /// What the file held before it was connected; nothing where there was none.
    before: Option<String>,
}

/// What taking a connection back does to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    /// It gets exactly the bytes that it had; nothing where there was no file.
    Exact(Option<String>),
    /// It was changed since: our entry goes, and the old ones come back.
    Merged(String),
    /// It stays as it is: our entry is not in it.
    Nothing,
}

impl Plan {
    /// Whether the file already is as it would be.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.file.exists && self.file.text == self.text
    }

    /// The text as it is.
    #[must_use]
    pub fn old_text(&self) -> &str {
        &self.file.text
    }
}

impl Connections {
    /// Those recorded in this folder, for a gateway that is started by this program with this
    /// configuration, both by their absolute paths.
    #[must_use]
    pub fn new(folder: PathBuf, program: PathBuf, config: PathBuf) -> Self {
        Self { folder, program, config, search_profile: None }
    }

    /// The same, where clients that search among tools themselves get this profile.
    #[must_use]
    pub fn with_search_profile(self, search_profile: Option<String>) -> Self {
        Self { search_profile, ..self }
    }

    /// The recorded connections, the latest first.
    ///
    /// # Errors
    /// [`ClientFileError`] for a record that cannot be read.
    pub fn all(&self) -> Result<Vec<Connection>, ClientFileError> {
        let mut found = Vec::new();
        let Ok(entries) = fs::read_dir(&self.folder) else { return Ok(found) };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|end| end == "json") {
                let record = Record::read(&path)?;
                found.push(Connection { record, folder: self.folder.clone() });
            }
        }
        found.sort_by(|a, b| (b.record.at, &b.record.name).cmp(&(a.record.at, &a.record.name)));
        Ok(found)
    }

    /// The connection of this file, if it was connected.
    fn of(&self, file: &ClientFile) -> Result<Option<Connection>, ClientFileError> {
        let name = Record::name_of(file);
        Ok(self.all()?.into_iter().find(|one| one.record.name == name))
    }

    /// Plans how a file is connected: every entry that `governed` knows gives way to the gateway's.
    ///
    /// # Errors
    /// [`ClientFileError`], where the file cannot be edited safely.
    pub fn plan(
        &self,
        file: ClientFile,
        governed: &dyn Fn(&super::ListedServer) -> bool,
    ) -> Result<Plan, ClientFileError> {
        // What is connected already is looked at as it was, so that nothing is forgotten.
        let known = self.of(&file)?;
        let undo = known.as_ref().map(|connection| connection.undo(&file)).transpose()?;
        // An entry that gave way before does not come back because the configuration changed.
        let earlier: &[String] = known.as_ref().map_or(&[], Connection::replaced);
        let governed =
            |server: &super::ListedServer| governed(server) || earlier.contains(&server.name);
        let before = match undo {
            Some(Undo::Exact(before)) => before,
            Some(Undo::Merged(text)) => Some(text),
            Some(Undo::Nothing) | None => file.exists.then(|| file.text.clone()),
        };
        let base = file.with_text(before.as_deref().unwrap_or_default())?;
        let (mut replaced, mut left) = (Vec::new(), Vec::new());
        for server in base.servers.iter().filter(|server| !server.is_gateway()) {
            let switched_off = server.entry.as_ref().is_ok_and(|entry| entry.disabled);
            let list = if governed(server) && !switched_off { &mut replaced } else { &mut left };
            list.push(server.name.clone());
        }
        let mut remove = replaced.clone();
        remove.push(GATEWAY_ENTRY.to_owned());
        let text = base.changed(&remove, &[self.entry(&file)])?;
        Ok(Plan { file, text, replaced, left, before })
    }

    fn entry(&self, file: &ClientFile) -> NewEntry {
        let (program, config) =
            (self.program.display().to_string(), self.config.display().to_string());
        let client = Client::named(&file.client).or(Client::all().first());
        let value = client.map(|client| {
            let profile = self.search_profile.as_deref().filter(|_| client.searches_tools());
            let (program, config, name) = (program.as_str(), config.as_str(), GATEWAY_ENTRY);
            client.gateway_entry(&GatewayStart { program, config, profile, name })
        });
        NewEntry { name: GATEWAY_ENTRY.to_owned(), value: value.unwrap_or_default(), text: None }
    }

    /// Makes the change: backup and record first, then the client's file.
    ///
    /// # Errors
    /// [`ClientFileError`]; the client's file is as it was then.
    pub fn connect(&self, plan: &Plan, now: Timestamp) -> Result<(), ClientFileError> {
        let failed = |path: &Path, error: &std::io::Error| {
            let message = format!("it cannot be written: {error}");
            let remedy = "make the folder writable for this user, then run the command again";
            ClientFileError::new(path, "clients.unwritable", message, remedy)
        };
        private_folder(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let record = Record::new(plan, now);
        for (path, text) in [
            (record.backup(&self.folder), plan.before.clone().unwrap_or_default()),
            (record.path(&self.folder), record.to_json()),
        ] {
            replace_file(&path, &text).map_err(|error| failed(&path, &error))?;
        }
        let target = &plan.file.path;
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
        }
        replace_file(target, &plan.text).map_err(|error| failed(target, &error))?;
        let current = [record.backup(&self.folder), record.path(&self.folder)];
        for old in record.files(&self.folder).iter().filter(|path| !current.contains(*path)) {
            // One that stays is used by nothing, and goes with the connection.
            let _ = fs::remove_file(old);
        }
        Ok(())
    }
}

/// Makes a folder for this user alone.
fn private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Connection {
    /// The id of the client.
    #[must_use]
    pub fn client(&self) -> &str {
        &self.record.client
    }

    /// The client's file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.record.file
    }

    /// When it was connected.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.record.at
    }

    /// The servers that the gateway stands in front of for this client.
    #[must_use]
    pub fn replaced(&self) -> &[String] {
        &self.record.replaced
    }

    /// Reads the client's file as it is now.
    ///
    /// # Errors
    /// [`ClientFileError`] for a file that is broken now.
    pub fn read(&self) -> Result<ClientFile, ClientFileError> {
        self.record.client_file()
    }

    /// How the file stands now.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        let Ok(file) = self.read() else { return ConnectionState::Unreadable };
        if !file.servers.iter().any(super::ListedServer::is_gateway) {
            return ConnectionState::Removed;
        }
        if digest(&file.text) == self.record.written {
            ConnectionState::Connected
        } else {
            ConnectionState::Edited
        }
    }

    /// What taking it back does to the file.
    ///
    /// # Errors
    /// [`ClientFileError`], where the backup is missing or the file cannot be edited safely.
    pub fn undo(&self, file: &ClientFile) -> Result<Undo, ClientFileError> {
        let backup = self.backup();
        let original = fs::read_to_string(&backup).map_err(|error| {
            let message = format!("what the file held before cannot be read: {error}");
            let remedy = "take the entry `weaver` out of the client's file by hand";
            ClientFileError::new(&backup, "clients.no_backup", message, remedy)
        })?;
        if digest(&original) != self.record.original {
            let message = "what the file held before was changed since";
            let remedy = "take the entry `weaver` out of the client's file by hand";
            return Err(ClientFileError::new(&backup, "clients.backup_changed", message, remedy));
        }
        if digest(&file.text) == self.record.written {
            return Ok(Undo::Exact(self.record.existed.then_some(original)));
        }
        if !file.servers.iter().any(super::ListedServer::is_gateway) {
            return Ok(Undo::Nothing);
        }
        let before = file.with_text(&original)?;
        let taken: BTreeSet<&str> =
            file.servers.iter().map(|server| server.name.as_str()).collect();
        let back = before.servers.iter().filter(|server| {
            self.record.replaced.contains(&server.name) && !taken.contains(server.name.as_str())
        });
        let back: Vec<NewEntry> = back.map(|server| server.located.clone().into()).collect();
        Ok(Undo::Merged(file.changed(&[GATEWAY_ENTRY.to_owned()], &back)?))
    }

    /// Takes it back, then forgets it.
    ///
    /// # Errors
    /// [`ClientFileError`]; the connection is still recorded then.
    pub fn disconnect(&self, undo: &Undo) -> Result<(), ClientFileError> {
        let path = &self.record.file;
        let written = match undo {
            Undo::Exact(Some(text)) | Undo::Merged(text) => replace_file(path, text),
            Undo::Exact(None) => fs::remove_file(path),
            Undo::Nothing => Ok(()),
        };
        written.map_err(|error| {
            let message = format!("it cannot be written: {error}");
            let remedy = "make the file and its folder writable, then run the command again";
            ClientFileError::new(path, "clients.unwritable", message, remedy)
        })?;
        // The record first: a backup alone says nothing.
        let _ = fs::remove_file(self.record.path(&self.folder));
        for path in self.record.files(&self.folder) {
            // What stays behind is found to be undone already.
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    /// The backup, also where an earlier version named it without a digest.
    fn backup(&self) -> PathBuf {
        let named = self.record.backup(&self.folder);
        let earlier = self.folder.join(format!("{}.backup", self.record.name));
        if !named.exists() && earlier.exists() { earlier } else { named }
    }
}
