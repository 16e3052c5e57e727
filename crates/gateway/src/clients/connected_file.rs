//! Connecting a client to the gateway, and taking that back.
//!
//! Each connection has two files in a folder of the gateway: what the client's file held before,
//! byte for byte, and a record that says what was written. Both are on disk before the client's
//! file is replaced, so that whatever is interrupted can be finished or taken back. They may hold
//! the client's secrets, so the folder is one that servers cannot see.

mod connection_record;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use weaver_types::Timestamp;

use super::catalogue::{GatewayLaunch, Scope};
use super::error::ClientFileError;
use super::file::ClientFile;
use super::server_table::NewEntry;
use super::{Client, ClientFolders, replace_file};
use crate::private_file;
use connection_record::{ConnectionRecord, text_digest};

/// The gateway's name in a client's configuration.
pub const GATEWAY_ENTRY: &str = "weaver";

/// The connected client files of one gateway.
#[derive(Debug, Clone)]
pub struct ConnectedFiles {
    /// The folder with their records.
    folder: PathBuf,
    /// The program that clients start.
    program: PathBuf,
    /// The gateway's configuration file.
    config: PathBuf,
    /// The profile of clients that search among tools themselves.
    search_profile: Option<String>,
}

/// A client's file that has been connected to the gateway.
#[derive(Debug, Clone)]
pub struct ConnectedFile {
    record: ConnectionRecord,
    folder: PathBuf,
}

/// The current state of a connected file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectedFileState {
    /// As the gateway wrote it.
    Connected,
    /// Changed since, but it still has the gateway's entry.
    Edited,
    /// The gateway's entry was removed.
    Removed,
    /// The file cannot be read.
    Unreadable,
}

impl ConnectedFileState {
    /// Whether the client still comes through the gateway.
    #[must_use]
    pub fn is_connected(self) -> bool {
        matches!(self, Self::Connected | Self::Edited)
    }
}

/// A planned change of one client's file.
#[derive(Debug, Clone)]
pub struct ConnectionPlan {
    /// The current file.
    pub file: ClientFile,
    /// The new text.
    pub text: String,
    /// The servers whose entries are removed, because the gateway provides them.
    pub replaced: Vec<String>,
    /// The servers that stay, because the gateway does not know them.
    pub kept: Vec<String>,
    /// The text before the file was connected; `None` if there was no file.
    original: Option<String>,
}

/// How disconnecting changes the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoAction {
    /// It gets exactly its original bytes; `None` if there was no file.
    Exact(Option<String>),
    /// It was changed since: the gateway's entry is removed and the old entries are restored.
    Merged(String),
    /// It stays unchanged, because the gateway's entry is not in it.
    Nothing,
}

impl ConnectionPlan {
    /// Whether the file already has the new text.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.file.exists && self.file.text == self.text
    }

    /// The current text.
    #[must_use]
    pub fn old_text(&self) -> &str {
        &self.file.text
    }
}

impl ConnectedFiles {
    /// The connected files recorded in `folder`, for a gateway started by this program with this
    /// configuration, both absolute paths.
    #[must_use]
    pub fn new(folder: PathBuf, program: PathBuf, config: PathBuf) -> Self {
        Self { folder, program, config, search_profile: None }
    }

    /// The same, with a profile for clients that search among tools themselves.
    #[must_use]
    pub fn with_search_profile(self, search_profile: Option<String>) -> Self {
        Self { search_profile, ..self }
    }

    /// All recorded files, the latest first.
    ///
    /// # Errors
    /// [`ClientFileError`] for an unreadable record.
    pub fn all(&self) -> Result<Vec<ConnectedFile>, ClientFileError> {
        let mut found = Vec::new();
        let Ok(entries) = fs::read_dir(&self.folder) else { return Ok(found) };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|end| end == "json") {
                let record = ConnectionRecord::read(&path)?;
                found.push(ConnectedFile { record, folder: self.folder.clone() });
            }
        }
        found.sort_by(|a, b| (b.record.at, &b.record.name).cmp(&(a.record.at, &a.record.name)));
        Ok(found)
    }

    /// The record of this file, if it is connected.
    fn find(&self, file: &ClientFile) -> Result<Option<ConnectedFile>, ClientFileError> {
        let name = ConnectionRecord::name_of(file);
        Ok(self.all()?.into_iter().find(|one| one.record.name == name))
    }

    /// Plans to connect a file: every entry for which `governed` returns true is replaced by the
    /// gateway's.
    ///
    /// # Errors
    /// [`ClientFileError`] if the file cannot be edited safely.
    pub fn plan(
        &self,
        file: ClientFile,
        governed: &dyn Fn(&super::ListedServer) -> bool,
    ) -> Result<ConnectionPlan, ClientFileError> {
        // A connected file is considered in its original form, so that no server is forgotten.
        let known = self.find(&file)?;
        let undo = known.as_ref().map(|connection| connection.undo(&file)).transpose()?;
        // An entry replaced earlier does not return because the configuration changed.
        let earlier: &[String] = known.as_ref().map_or(&[], ConnectedFile::replaced);
        let governed =
            |server: &super::ListedServer| governed(server) || earlier.contains(&server.name);
        let original = match undo {
            Some(UndoAction::Exact(original)) => original,
            Some(UndoAction::Merged(text)) => Some(text),
            Some(UndoAction::Nothing) | None => file.exists.then(|| file.text.clone()),
        };
        let base = file.with_text(original.as_deref().unwrap_or_default())?;
        let (mut replaced, mut kept) = (Vec::new(), Vec::new());
        for server in base.servers.iter().filter(|server| !server.is_gateway()) {
            let switched_off = server.entry.as_ref().is_ok_and(|entry| entry.disabled);
            let list = if governed(server) && !switched_off { &mut replaced } else { &mut kept };
            list.push(server.name.clone());
        }
        let mut remove = replaced.clone();
        remove.push(GATEWAY_ENTRY.to_owned());
        let text = base.with_change(&remove, &[self.entry(&base, &replaced)])?;
        Ok(ConnectionPlan { file, text, replaced, kept, original })
    }

    fn entry(&self, file: &ClientFile, replaced: &[String]) -> NewEntry {
        let replaced = file.servers.iter().filter(|server| replaced.contains(&server.name));
        let replaced: Vec<_> = replaced.map(|server| &server.located.value).collect();
        let (program, config) =
            (self.program.display().to_string(), self.config.display().to_string());
        let client = Client::by_id(&file.client).or(Client::all().first());
        let value = client.map(|client| {
            let profile = self.search_profile.as_deref().filter(|_| client.searches_tools());
            let (program, config, name) = (program.as_str(), config.as_str(), GATEWAY_ENTRY);
            let folder = file.project.as_deref().and_then(Path::to_str);
            let launch = GatewayLaunch { program, config, profile, folder, name };
            client.gateway_entry(&launch, &replaced)
        });
        NewEntry { name: GATEWAY_ENTRY.to_owned(), value: value.unwrap_or_default(), text: None }
    }

    /// Makes the change: backup and record first, then the client's file.
    ///
    /// # Errors
    /// [`ClientFileError`]; then the client's file is unchanged.
    pub fn connect(&self, plan: &ConnectionPlan, now: Timestamp) -> Result<(), ClientFileError> {
        let failed = |path: &Path, error: &std::io::Error| {
            let message = format!("it cannot be written: {error}");
            let remedy = "make the folder writable for this user, then run the command again";
            ClientFileError::new(path, "clients.unwritable", message, remedy)
        };
        private_file::create_folders(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let record = ConnectionRecord::new(plan, now);
        for (path, text) in [
            (record.backup(&self.folder), plan.original.clone().unwrap_or_default()),
            (record.path(&self.folder), record.to_json()?),
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
            // A leftover file is unused and is removed when the file is disconnected.
            let _ = fs::remove_file(old);
        }
        Ok(())
    }
}

impl ConnectedFile {
    /// The client's id.
    #[must_use]
    pub fn client(&self) -> &str {
        &self.record.client
    }

    /// The path of the client's file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.record.file
    }

    /// Whether it is a file of the current project folder.
    #[must_use]
    pub fn is_of_project(&self, folders: &ClientFolders) -> bool {
        let record = &self.record;
        let client = Client::by_id(&record.client);
        let places = client.into_iter().flat_map(|client| client.distinct_locations(folders));
        places
            .filter(|place| place.scope == Scope::Project)
            .any(|place| place.file(folders) == record.file && place.keys(folders) == record.keys)
    }

    /// When it was connected.
    #[must_use]
    pub fn connected_at(&self) -> Timestamp {
        self.record.at
    }

    /// The servers that the gateway provides to this client.
    #[must_use]
    pub fn replaced(&self) -> &[String] {
        &self.record.replaced
    }

    /// Reads the client's file in its current form.
    ///
    /// # Errors
    /// [`ClientFileError`] if the file is invalid now.
    pub fn read_file(&self) -> Result<ClientFile, ClientFileError> {
        self.record.client_file()
    }

    /// The current state of the file.
    #[must_use]
    pub fn state(&self) -> ConnectedFileState {
        let Ok(file) = self.read_file() else { return ConnectedFileState::Unreadable };
        if !file.servers.iter().any(super::ListedServer::is_gateway) {
            return ConnectedFileState::Removed;
        }
        if text_digest(&file.text) == self.record.written_digest {
            ConnectedFileState::Connected
        } else {
            ConnectedFileState::Edited
        }
    }

    /// How disconnecting would change the file.
    ///
    /// # Errors
    /// [`ClientFileError`] if the backup is missing or the file cannot be edited safely.
    pub fn undo(&self, file: &ClientFile) -> Result<UndoAction, ClientFileError> {
        let backup = self.record.backup(&self.folder);
        let original = fs::read_to_string(&backup).map_err(|error| {
            let message = format!("what the file held before cannot be read: {error}");
            let remedy = "take the entry `weaver` out of the client's file by hand";
            ClientFileError::new(&backup, "clients.no_backup", message, remedy)
        })?;
        if text_digest(&original) != self.record.original_digest {
            let message = "what the file held before was changed since";
            let remedy = "take the entry `weaver` out of the client's file by hand";
            return Err(ClientFileError::new(&backup, "clients.backup_changed", message, remedy));
        }
        if text_digest(&file.text) == self.record.written_digest {
            return Ok(UndoAction::Exact(self.record.existed.then_some(original)));
        }
        if !file.servers.iter().any(super::ListedServer::is_gateway) {
            return Ok(UndoAction::Nothing);
        }
        let before = file.with_text(&original)?;
        let taken: BTreeSet<&str> =
            file.servers.iter().map(|server| server.name.as_str()).collect();
        let restored = before.servers.iter().filter(|server| {
            self.record.replaced.contains(&server.name) && !taken.contains(server.name.as_str())
        });
        let restored: Vec<NewEntry> =
            restored.map(|server| server.located.clone().into()).collect();
        Ok(UndoAction::Merged(file.with_change(&[GATEWAY_ENTRY.to_owned()], &restored)?))
    }

    /// Disconnects the file, then removes its record.
    ///
    /// # Errors
    /// [`ClientFileError`]; then the file is still recorded as connected.
    pub fn disconnect(&self, undo: &UndoAction) -> Result<(), ClientFileError> {
        let path = &self.record.file;
        let written = match undo {
            UndoAction::Exact(Some(text)) | UndoAction::Merged(text) => replace_file(path, text),
            UndoAction::Exact(None) => fs::remove_file(path),
            UndoAction::Nothing => Ok(()),
        };
        written.map_err(|error| {
            let message = format!("it cannot be written: {error}");
            let remedy = "make the file and its folder writable, then run the command again";
            ClientFileError::new(path, "clients.unwritable", message, remedy)
        })?;
        // The record first: a backup without a record has no effect.
        let _ = fs::remove_file(self.record.path(&self.folder));
        for path in self.record.files(&self.folder) {
            // A leftover record will be found to be undone already.
            let _ = fs::remove_file(path);
        }
        Ok(())
    }
}
