//! Reads one configuration file of a client.

use std::path::{Path, PathBuf};

use weaver_text::escape;

use super::catalogue::{self, Client, ConfigLocation, Scope};
use super::error::{ClientFileError, SyntaxFault};
use super::server_entry::{self, EntryReading, ServerEntry, UnusableEntry};
use super::server_table::{self, LocatedEntry, NewEntry, Syntax, TableChange};
use super::{ClientFolders, GATEWAY_ENTRY};
use crate::bounded_file::{self, ReadError};

/// Where a path leads, through all links; of a file that does not exist, by its folder.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let by_folder = || {
        let (folder, name) = (path.parent()?, path.file_name()?);
        Some(crate::canonical_path(folder).ok()?.join(name))
    };
    crate::canonical_path(path).ok().or_else(by_folder).unwrap_or_else(|| path.to_owned())
}

/// The largest client file that is read. Claude Code stores much more than servers in one file.
const MAX_FILE_BYTES: usize = 32 * 1024 * 1024;

/// A client's configuration file and the servers in it.
#[derive(Debug, Clone)]
pub struct ClientFile {
    /// The client's id; `file` for a file that belongs to no known client.
    pub client: String,
    /// The client's display name.
    pub client_name: String,
    /// For whom it applies.
    pub scope: Scope,
    /// The path; a symbolic link is followed on writing.
    pub path: PathBuf,
    /// The servers, in file order.
    pub servers: Vec<ListedServer>,
    pub(super) text: String,
    pub(super) syntax: Syntax,
    pub(super) keys: Vec<String>,
    pub(super) exists: bool,
    /// The project folder, in which its servers work.
    pub(crate) project: Option<PathBuf>,
    /// Whether it lies in the project folder, so that whoever made that folder wrote it.
    pub comes_with_project: bool,
}

/// A server in a client's file.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedServer {
    /// The client's name for it.
    pub name: String,
    /// Its line in the file.
    pub line: usize,
    /// Its configuration, or why it cannot be taken over.
    pub entry: Result<ServerEntry, UnusableEntry>,
    pub(super) located: LocatedEntry,
}

impl ListedServer {
    /// Whether this is the gateway's own entry.
    #[must_use]
    pub fn is_gateway(&self) -> bool {
        self.name == GATEWAY_ENTRY
    }
}

impl ClientFile {
    /// Reads the existing files of all clients. Invalid ones are returned as errors.
    #[must_use]
    pub fn find_all(folders: &ClientFolders) -> Vec<Result<Self, ClientFileError>> {
        let clients = Client::all().iter();
        let places = clients.flat_map(|client| {
            client.distinct_locations(folders).map(move |place| (client, place))
        });
        places
            .filter(|(_, place)| place.file(folders).exists())
            .map(|(client, place)| Self::read(client, place, folders))
            .collect()
    }

    /// Reads one file of a client; a missing file has no servers.
    ///
    /// # Errors
    /// [`ClientFileError`] with the location of the problem.
    pub fn read(
        client: &Client,
        place: &ConfigLocation,
        folders: &ClientFolders,
    ) -> Result<Self, ClientFileError> {
        let project = (place.scope == Scope::Project).then(|| folders.project.clone());
        let mut file = Self {
            client: client.id.to_owned(),
            client_name: client.name.to_owned(),
            scope: place.scope,
            path: place.file(folders),
            servers: Vec::new(),
            text: String::new(),
            syntax: place.syntax,
            keys: place.keys(folders),
            exists: true,
            project,
            comes_with_project: place.is_in_project(),
        };
        file.load(IfAbsent::Empty)?;
        Ok(file)
    }

    /// Reads any file with servers: of a known client, or with a table such as `mcpServers`.
    ///
    /// # Errors
    /// As [`Self::read`], and for a missing file or one without servers.
    pub fn read_from(path: &Path) -> Result<Self, ClientFileError> {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        let syntax = match end {
            "toml" => Syntax::Toml,
            "yaml" | "yml" => Syntax::Yaml,
            _ => Syntax::Json,
        };
        let tables: [&[&str]; 6] = [
            &["mcpServers"],
            &["mcp_servers"],
            &["servers"],
            &["context_servers"],
            &["extensions"],
            &["mcp"],
        ];
        let mut file = Self {
            client: "file".to_owned(),
            client_name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            scope: Scope::User,
            path: path.to_owned(),
            servers: Vec::new(),
            text: String::new(),
            syntax,
            keys: Vec::new(),
            exists: true,
            project: catalogue::project_of(path),
            comes_with_project: false,
        };
        file.text = file.read_text(IfAbsent::Error)?;
        let tree =
            server_table::parse(syntax, &file.text).map_err(|fault| file.syntax_error(&fault))?;
        let found = tables.iter().find(|keys| {
            keys.iter()
                .try_fold(&tree, |level, key| level.get(key))
                .is_some_and(serde_json::Value::is_object)
        });
        let Some(keys) = found else {
            let message = "there are no MCP servers in this file";
            let remedy = "name a client's file with `mcpServers` (or `mcp_servers`, `servers`, \
                          `context_servers`, `extensions`, `mcp`) in it";
            return Err(ClientFileError::new(path, "clients.no_servers", message, remedy));
        };
        file.keys = keys.iter().map(|key| (*key).to_owned()).collect();
        file.load(IfAbsent::Error)?;
        Ok(file)
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The servers that the gateway can take over.
    pub fn usable_servers(&self) -> impl Iterator<Item = (&ListedServer, &ServerEntry)> {
        let servers = self.servers.iter().filter(|server| !server.is_gateway());
        servers.filter_map(|server| Some((server, server.entry.as_ref().ok()?)))
    }

    /// Reads the file again from disk.
    pub(super) fn reread(mut self) -> Result<Self, ClientFileError> {
        self.load(IfAbsent::Empty)?;
        Ok(self)
    }

    /// The same file with another text.
    ///
    /// # Errors
    /// [`ClientFileError`] where the text cannot be read.
    pub fn with_text(&self, text: &str) -> Result<Self, ClientFileError> {
        let mut file = Self { text: text.to_owned(), servers: Vec::new(), ..self.clone() };
        file.parse_servers()?;
        Ok(file)
    }

    fn load(&mut self, absence: IfAbsent) -> Result<(), ClientFileError> {
        self.refuse_link_out_of_project()?;
        self.exists = self.path.exists();
        self.text = self.read_text(absence)?;
        self.parse_servers()
    }

    /// A repository must not choose which file of the user is read and written.
    fn refuse_link_out_of_project(&self) -> Result<(), ClientFileError> {
        let Some(project) = self.project.as_deref().filter(|_| self.comes_with_project) else {
            return Ok(());
        };
        let leads_to = resolved(&self.path);
        if leads_to.starts_with(resolved(project)) {
            return Ok(());
        }
        let message = format!("it leads out of its folder, to {}", leads_to.display());
        let remedy = "name that file itself, with `--from`, or put a file in the place of the link";
        Err(ClientFileError::new(&self.path, "clients.leads_out", message, remedy))
    }

    fn parse_servers(&mut self) -> Result<(), ClientFileError> {
        self.servers.clear();
        let entries = server_table::entries(self.syntax, &self.text, &self.keys);
        let entries = entries.map_err(|fault| self.syntax_error(&fault))?;
        for located in entries {
            let entry = match server_entry::read(&located.value, self.project.as_deref()) {
                EntryReading::ClientInternal => continue,
                EntryReading::Server(entry) => Ok(entry),
                EntryReading::Unusable(reason) => Err(reason),
            };
            let before = self.text.get(..located.offset).unwrap_or_default();
            let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
            let name = located.name.clone();
            self.servers.push(ListedServer { name, line, entry, located });
        }
        Ok(())
    }

    fn read_text(&self, absence: IfAbsent) -> Result<String, ClientFileError> {
        match bounded_file::read_text(&self.path, MAX_FILE_BYTES) {
            Ok(text) => Ok(text),
            Err(ReadError::Absent) if absence == IfAbsent::Empty => Ok(String::new()),
            Err(error) => {
                let remedy = match error {
                    ReadError::Absent => "check the path",
                    ReadError::TooLarge { .. } => {
                        "this is hardly a client's configuration; name another file"
                    }
                    ReadError::NotText => "save it as UTF-8, then try again",
                    ReadError::System(_) => "make the file readable for this user, then try again",
                };
                Err(ClientFileError::new(
                    &self.path,
                    "clients.unreadable",
                    error.to_string(),
                    remedy,
                ))
            }
        }
    }

    /// The text after a change of the table.
    pub(super) fn with_change(
        &self,
        remove: &[String],
        insert: &[NewEntry],
    ) -> Result<String, ClientFileError> {
        let change = TableChange { keys: &self.keys, remove, insert };
        server_table::apply(self.syntax, &self.text, &change).map_err(|fault| {
            let message = fault.message.clone();
            let remedy = "nothing was changed; put the entry into the file by hand: \
                          `weaver connect --dry-run` shows it";
            ClientFileError::new(&self.path, "clients.not_editable", message, remedy)
                .with_location(&self.text, fault.offset)
                .with_key(self.keys.join("."))
        })
    }

    fn syntax_error(&self, fault: &SyntaxFault) -> ClientFileError {
        let message = escape::line(&fault.message).into_owned();
        let remedy = "correct it; its client cannot read it as it is either";
        let error = ClientFileError::new(&self.path, "clients.syntax", message, remedy);
        error.with_location(&self.text, fault.offset)
    }
}

/// How a missing file is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfAbsent {
    Empty,
    Error,
}
