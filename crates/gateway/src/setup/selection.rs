//! Selects the servers that a gateway takes over from clients' files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use weaver_text::escape;

use super::program_path;
use super::secret_location::SecretLocation;
use super::secrets::{self, ExtractedSecret};
use crate::clients::{
    ClientFile, ListedServer, ServerEntry, ServerTransport, ToolFilter, UnusableEntry,
};
use crate::config::{TransportSettings, UpstreamSettings, legal_name};

/// Names used by the gateway's own tools.
const RESERVED_NAMES: [&str; 3] = ["kernel", "tools", "weaver"];
/// Variables that name files of certificates. A server inherits them; but a daemon that a desktop
/// client started has none of what a shell sets.
pub(super) const CERTIFICATE_VARIABLES: [&str; 5] = [
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
];

/// The servers to take over, and the skipped ones with reasons.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The servers to take over, in the order of their names.
    pub servers: Vec<SelectedServer>,
    /// The servers that are skipped.
    pub skipped: Vec<SkippedServer>,
    /// The secrets found in them.
    pub secrets: Vec<ExtractedSecret>,
    /// Where the secrets are stored.
    pub secret_location: SecretLocation,
}

/// A server to take over.
#[derive(Debug, Clone)]
pub struct SelectedServer {
    /// Its name in the gateway.
    pub name: String,
    /// Its configuration.
    pub entry: ServerEntry,
    /// Where it was found.
    pub origins: Vec<ServerOrigin>,
    /// The tools that each of these clients takes from it, in the same order.
    pub tool_filters: Vec<ToolFilter>,
}

impl SelectedServer {
    /// The projects that it belongs to; none where a user's own file names it too.
    #[must_use]
    pub fn projects(&self) -> BTreeSet<&Path> {
        let projects = self.origins.iter().map(|origin| origin.project.as_deref());
        projects.collect::<Option<_>>().unwrap_or_default()
    }

    /// Whether every client that has the server leaves this tool out. The gateway has one policy for
    /// all of them, so a tool that one of them takes stays. Ids with a slash are resources and prompts,
    /// of which no such list speaks.
    #[must_use]
    pub fn leaves_out(&self, tool: &str) -> bool {
        !tool.contains('/')
            && !self.tool_filters.is_empty()
            && self.tool_filters.iter().all(|one| one.leaves_out(tool))
    }

    /// The clients that leave out tools which another one takes, so that they get them too.
    pub fn widened_clients(&self) -> impl Iterator<Item = &str> {
        let is_one = self.tool_filters.windows(2).all(|two| matches!(two, [a, b] if a == b));
        let origins = self.origins.iter().zip(&self.tool_filters);
        let widened = origins.filter(move |(_, filter)| !is_one && !filter.is_empty());
        widened.map(|(origin, _)| origin.client.as_str())
    }
}

/// Where a server was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOrigin {
    /// The display name of the client.
    pub client: String,
    /// The file.
    pub file: PathBuf,
    /// The server's name in that file.
    pub name: String,
    /// The project of the file; `None` for a user's own.
    pub project: Option<PathBuf>,
}

impl ServerOrigin {
    /// The line above the server's section in `weaver.toml`.
    pub(super) fn comment(&self) -> String {
        let (name, file) = (escape::line(&self.name), self.file.display().to_string());
        format!("# From {}, `{name}` in {}", self.client, escape::line(&file))
    }
}

/// A server that is not taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedServer {
    /// Where it was found.
    pub origin: ServerOrigin,
    /// The line of the file.
    pub line: usize,
    /// Why.
    pub reason: String,
}

/// The folders that each server was set up for, by its name.
pub type ServerFolders = BTreeMap<String, Vec<String>>;

/// Names that an existing gateway uses.
#[derive(Debug, Clone, Default)]
pub struct UsedNames {
    /// Names of servers.
    pub servers: BTreeSet<String>,
    /// Names of variables.
    pub variables: BTreeSet<String>,
}

/// The environment variables and programs of this machine.
pub struct HostEnvironment<'a> {
    /// `PATH`.
    pub search_path: &'a OsStr,
    /// The value of a variable, if it is set.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Selection {
    /// Selects the servers from these files. Identical servers in several clients become one. If
    /// two servers have the same name, the name of their project or client is appended.
    #[must_use]
    pub fn from_files(
        files: &[ClientFile],
        machine: &HostEnvironment<'_>,
        used: &UsedNames,
    ) -> Self {
        let mut selection = Self::default();
        let mut names = used.servers.clone();
        let mut raw: Vec<ServerEntry> = Vec::new();
        // The value of an existing variable is unknown, so it counts as a different secret.
        let used_variables = used.variables.iter().map(|name| (name.clone(), String::new()));
        let mut variables: BTreeMap<String, String> = used_variables.collect();
        for file in files {
            for server in file.servers.iter().filter(|server| !server.is_gateway()) {
                let origin = ServerOrigin {
                    client: file.client_name.clone(),
                    file: file.path.clone(),
                    name: server.name.clone(),
                    project: file.project.clone(),
                };
                let entry = match resolve_entry(server, machine) {
                    Ok(entry) => entry,
                    Err(UnusableEntry(reason)) => {
                        selection.skipped.push(SkippedServer { origin, line: server.line, reason });
                        continue;
                    }
                };
                if let Some(at) = raw.iter().position(|one| one.transport == entry.transport)
                    && let Some(known) = selection.servers.get_mut(at)
                {
                    known.tool_filters.push(entry.tools);
                    rename_plainly(known, &origin, &mut names, &mut selection.secrets);
                    known.origins.push(origin);
                    continue;
                }
                raw.push(entry.clone());
                let name = free_name(&server.name, distinguishing_name(file), &mut names);
                let mut entry = entry;
                let found = secrets::extract(&name, &mut entry, &mut variables);
                selection.secrets.extend(found);
                let tool_filters = vec![entry.tools.clone()];
                let origins = vec![origin];
                selection.servers.push(SelectedServer { name, entry, origins, tool_filters });
            }
        }
        selection.servers.sort_by(|a, b| a.name.cmp(&b.name));
        selection
    }
}

impl Selection {
    /// The folders that each server was set up for: the folders among its arguments. Where it works
    /// in one of them, so do relative paths.
    #[must_use]
    pub fn folders(&self) -> ServerFolders {
        let home = std::env::var("HOME").unwrap_or_default();
        let of = |server: &SelectedServer| {
            let ServerTransport::Program { args, cwd, .. } = &server.entry.transport else {
                return Vec::new();
            };
            let expand = |text: &str| text.replace("${HOME}", &home);
            let cwd = cwd.as_ref().map(|cwd| PathBuf::from(expand(&cwd.to_string_lossy())));
            let cwd = cwd.filter(|cwd| cwd.is_absolute());
            let args: Vec<String> = args.iter().map(|arg| expand(arg)).collect();
            folders_among(&args, cwd.as_deref())
        };
        self.servers.iter().map(|server| (server.name.clone(), of(server))).collect()
    }

    /// The folders that each configured server was set up for.
    #[must_use]
    pub(super) fn folders_of(servers: &[UpstreamSettings]) -> ServerFolders {
        let of = |server: &UpstreamSettings| match &server.transport {
            TransportSettings::Stdio { args, cwd, .. } => folders_among(args, cwd.as_deref()),
            TransportSettings::Http { .. } => Vec::new(),
        };
        servers.iter().map(|server| (server.name.to_string(), of(server))).collect()
    }

    /// The same without servers that have secrets; these are skipped.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        let names: BTreeSet<String> = self.secrets.drain(..).map(|one| one.server).collect();
        let (with, without): (Vec<_>, Vec<_>) =
            self.servers.drain(..).partition(|server| names.contains(&server.name));
        self.servers = without;
        let left = with.into_iter().flat_map(|server| server.origins);
        self.skipped.extend(left.map(|origin| SkippedServer {
            origin,
            line: 0,
            reason: "it has secrets, and they stay where they are".to_owned(),
        }));
        self
    }

    /// Leaves only these servers, without a reason for the others.
    pub fn keep_servers(&mut self, keeps: impl Fn(&str) -> bool) {
        self.servers.retain(|server| keeps(&server.name));
        self.secrets.retain(|secret| keeps(&secret.server));
    }

    /// Skips a server with a reason.
    pub fn skip_server(&mut self, name: &str, reason: &str) {
        let (gone, kept): (Vec<_>, Vec<_>) =
            self.servers.drain(..).partition(|server| server.name == name);
        self.servers = kept;
        self.secrets.retain(|secret| secret.server != name);
        let left = gone.into_iter().flat_map(|server| server.origins);
        let reason = reason.to_owned();
        self.skipped.extend(left.map(|origin| SkippedServer {
            origin,
            line: 0,
            reason: reason.clone(),
        }));
    }
}

/// The folders among the arguments of a server that works in a folder.
fn folders_among(args: &[String], cwd: Option<&Path>) -> Vec<String> {
    let mut folders: Vec<String> = args.iter().filter_map(|arg| folder_of(arg, cwd)).collect();
    if cwd.is_some_and(|cwd| folders.iter().any(|one| cwd.starts_with(one))) {
        folders.push(".".to_owned());
    }
    folders.into_iter().map(expressible).collect()
}

/// The folder as a rule can name it. One with a drive or a backslash is in no rule, since programs read
/// such paths in different ways: only relative paths are known to be inside, and the others wait.
fn expressible(folder: String) -> String {
    let has_drive = folder.as_bytes().get(1) == Some(&b':');
    if has_drive || folder.contains('\\') { ".".to_owned() } else { folder }
}

/// The folder that an argument names: a path, or one that is relative to the server's own folder.
/// A mere word may be anything.
fn folder_of(arg: &str, cwd: Option<&Path>) -> Option<String> {
    let is_relative = matches!(arg, "." | "..") || arg.starts_with("./") || arg.starts_with("../");
    let folder = match cwd {
        Some(cwd) if is_relative => crate::canonical_path(&cwd.join(arg)).ok()?,
        _ => PathBuf::from(arg),
    };
    let folder = folder.to_str().filter(|_| folder.is_absolute() && folder.is_dir());
    folder.map(str::to_owned)
}

/// Gives a server the name that it has in this client too, if its present name had to be made up
/// and this one is free.
fn rename_plainly(
    server: &mut SelectedServer,
    origin: &ServerOrigin,
    names: &mut BTreeSet<String>,
    secrets: &mut [ExtractedSecret],
) {
    let is_made_up = server.origins.iter().all(|one| one.name != server.name);
    let is_plain = legal_name(&origin.name) == origin.name;
    let is_free = !names.contains(&origin.name) && !RESERVED_NAMES.contains(&origin.name.as_str());
    if is_made_up && is_plain && is_free {
        names.remove(&server.name);
        names.insert(origin.name.clone());
        for secret in secrets.iter_mut().filter(|secret| secret.server == server.name) {
            secret.server.clone_from(&origin.name);
        }
        server.name.clone_from(&origin.name);
    }
}

/// The entry with its program resolved, or why it cannot be taken over.
fn resolve_entry(
    server: &ListedServer,
    machine: &HostEnvironment<'_>,
) -> Result<ServerEntry, UnusableEntry> {
    let mut entry = server.entry.clone()?;
    if entry.disabled {
        return Err("it is switched off in the client".into());
    }
    if let Some(name) = unset_variable(&entry, machine) {
        return Err(UnusableEntry(format!("its variable {name} is not set here")));
    }
    if let ServerTransport::Program { command, env, .. } = &mut entry.transport {
        let home = std::env::var("HOME").unwrap_or_default();
        let plain = command.replace("${HOME}", &home);
        let own = env.get("PATH").filter(|path| !path.contains("${"));
        let search_path = own.map_or(machine.search_path, OsStr::new);
        let Some(found) = program_path::find_program(&plain, search_path) else {
            return Err(UnusableEntry(format!("its program `{command}` is not found in PATH")));
        };
        *command = found.path.display().to_string();
        if let Some(path) = found.search_path {
            env.entry("PATH".to_owned()).or_insert(path);
        }
        for name in CERTIFICATE_VARIABLES {
            if let Some(value) = (machine.variable)(name).and_then(|value| value.into_string().ok())
            {
                env.entry(name.to_owned()).or_insert(value);
            }
        }
    }
    Ok(entry)
}

/// A variable that is not set and has no default.
fn unset_variable(entry: &ServerEntry, machine: &HostEnvironment<'_>) -> Option<String> {
    let mut texts: Vec<&String> = Vec::new();
    match &entry.transport {
        ServerTransport::Program { command, args, env, .. } => {
            texts.push(command);
            texts.extend(args);
            texts.extend(env.values());
        }
        ServerTransport::Address { url, headers } => {
            texts.push(url);
            texts.extend(headers.values());
        }
    }
    let variables = texts.into_iter().flat_map(|text| text.split("${").skip(1));
    let mut names = variables.filter_map(|rest| rest.split_once('}').map(|(name, _)| name));
    names.find(|name| !name.contains(":-") && (machine.variable)(name).is_none()).map(str::to_owned)
}

/// What distinguishes a server from another of its name: the project of its file, so that a model
/// can tell two projects apart, or else the client.
fn distinguishing_name(file: &ClientFile) -> &str {
    let folder = file.project.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
    folder.unwrap_or(&file.client)
}

/// A valid name that is not used.
fn free_name(name: &str, distinguishing: &str, names: &mut BTreeSet<String>) -> String {
    let plain = legal_name(name);
    let second = legal_name(&format!("{plain}-{distinguishing}"));
    let numbered = (2..).map(|number| {
        let short: String = second.chars().take(28).collect();
        format!("{short}-{number}")
    });
    let free = |name: &String| !names.contains(name) && !RESERVED_NAMES.contains(&name.as_str());
    let mut candidates = [plain.clone(), second.clone()].into_iter().chain(numbered);
    let found = candidates.find(free).unwrap_or(plain);
    names.insert(found.clone());
    found
}

#[cfg(test)]
mod tests;
