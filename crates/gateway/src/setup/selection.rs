//! The servers that a gateway takes over from clients' files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::program_path;
use super::secret_place::SecretPlace;
use super::secrets::{self, ExtractedSecret};
use crate::clients::{ClientFile, ListedServer, ServerEntry, ServerTransport, UnusableEntry};
use crate::config::{Config, Transport, Upstream, legal_name};

/// Names with which tools of the gateway itself begin.
const RESERVED: [&str; 3] = ["kernel", "tools", "weaver"];

/// The servers to take over, and those that are not, each with a reason.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// What is taken over, in the order of the names.
    pub servers: Vec<SelectedServer>,
    /// What is not.
    pub left_out: Vec<SkippedServer>,
    /// The secrets that were found in them.
    pub secrets: Vec<ExtractedSecret>,
    /// Where the secrets lie, or are to lie.
    pub secret_place: SecretPlace,
}

/// A server that is taken over.
#[derive(Debug, Clone)]
pub struct SelectedServer {
    /// Its name in the gateway.
    pub name: String,
    /// What it is.
    pub entry: ServerEntry,
    /// Where it stands: the client's name, the file, and what the server is called there.
    pub origins: Vec<Origin>,
}

/// Where a server was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The client, as people call it.
    pub client: String,
    /// The file.
    pub file: PathBuf,
    /// What the server is called there.
    pub name: String,
}

/// A server that is not taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedServer {
    /// Where it stands.
    pub origin: Origin,
    /// The line of the file.
    pub line: usize,
    /// Why.
    pub reason: String,
}

/// The folders that each server was set up for, by its name.
pub type ServerFolders = BTreeMap<String, Vec<String>>;

/// Names that a gateway uses already.
#[derive(Debug, Clone, Default)]
pub struct TakenNames {
    /// Of servers.
    pub servers: BTreeSet<String>,
    /// Of variables.
    pub variables: BTreeSet<String>,
}

/// The variables and programs of this machine.
pub struct Machine<'a> {
    /// `PATH`.
    pub search_path: &'a OsStr,
    /// Whether a variable is set.
    pub is_set: &'a dyn Fn(&str) -> bool,
}

impl Selection {
    /// Takes the servers out of these files. The same server in several clients is one server. A
    /// name that two servers have is told apart by the client.
    #[must_use]
    pub fn of(files: &[ClientFile], machine: &Machine<'_>, taken: &TakenNames) -> Self {
        let mut selection = Self::default();
        let mut names = taken.servers.clone();
        let mut raw: Vec<ServerEntry> = Vec::new();
        // What a variable holds that is there already is not looked at: it is another secret.
        let own = taken.variables.iter().map(|name| (name.clone(), String::new()));
        let mut variables: BTreeMap<String, String> = own.collect();
        for file in files {
            for server in file.servers.iter().filter(|server| !server.is_gateway()) {
                let origin = Origin {
                    client: file.client_name.clone(),
                    file: file.path.clone(),
                    name: server.name.clone(),
                };
                let entry = match taken_over(server, machine) {
                    Ok(entry) => entry,
                    Err(UnusableEntry(reason)) => {
                        selection.left_out.push(SkippedServer {
                            origin,
                            line: server.line,
                            reason,
                        });
                        continue;
                    }
                };
                if let Some(at) = raw.iter().position(|one| one.transport == entry.transport)
                    && let Some(known) = selection.servers.get_mut(at)
                {
                    known.origins.push(origin);
                    continue;
                }
                raw.push(entry.clone());
                let name = free_name(&server.name, &file.client, &mut names);
                let mut entry = entry;
                let found = secrets::extract(&name, &mut entry, &mut variables);
                selection.secrets.extend(found);
                selection.servers.push(SelectedServer { name, entry, origins: vec![origin] });
            }
        }
        selection.servers.sort_by(|a, b| a.name.cmp(&b.name));
        selection
    }
}

impl Selection {
    /// The folders that each server was set up for: those among its arguments.
    #[must_use]
    pub fn folders(&self) -> ServerFolders {
        let home = std::env::var("HOME").unwrap_or_default();
        let of = |server: &SelectedServer| {
            let ServerTransport::Program { args, .. } = &server.entry.transport else {
                return Vec::new();
            };
            let expanded = args.iter().map(|arg| arg.replace("${HOME}", &home));
            let folders = expanded.filter(|arg| arg.starts_with('/') && Path::new(arg).is_dir());
            folders.collect()
        };
        self.servers.iter().map(|server| (server.name.clone(), of(server))).collect()
    }

    /// The same, where servers with secrets stay where they are.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        let names: BTreeSet<String> = self.secrets.drain(..).map(|one| one.server).collect();
        let (with, without): (Vec<_>, Vec<_>) =
            self.servers.drain(..).partition(|server| names.contains(&server.name));
        self.servers = without;
        let left = with.into_iter().flat_map(|server| server.origins);
        self.left_out.extend(left.map(|origin| SkippedServer {
            origin,
            line: 0,
            reason: "it has secrets, and they stay where they are".to_owned(),
        }));
        self
    }

    /// Takes a server out again, and says why.
    pub fn leave_out(&mut self, name: &str, reason: &str) {
        let (gone, kept): (Vec<_>, Vec<_>) =
            self.servers.drain(..).partition(|server| server.name == name);
        self.servers = kept;
        self.secrets.retain(|secret| secret.server != name);
        let left = gone.into_iter().flat_map(|server| server.origins);
        let reason = reason.to_owned();
        self.left_out.extend(left.map(|origin| SkippedServer {
            origin,
            line: 0,
            reason: reason.clone(),
        }));
    }
}

/// The entry with its program found, or why it cannot be taken over.
fn taken_over(server: &ListedServer, machine: &Machine<'_>) -> Result<ServerEntry, UnusableEntry> {
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
        let Some(found) = program_path::find(&plain, search_path) else {
            return Err(UnusableEntry(format!("its program `{command}` is not found in PATH")));
        };
        *command = found.path.display().to_string();
        if let Some(path) = found.search_path {
            env.entry("PATH".to_owned()).or_insert(path);
        }
    }
    Ok(entry)
}

/// A variable without a default that is not set.
fn unset_variable(entry: &ServerEntry, machine: &Machine<'_>) -> Option<String> {
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
    names.find(|name| !name.contains(":-") && !(machine.is_set)(name)).map(str::to_owned)
}

/// A legal name that is not taken.
fn free_name(name: &str, client: &str, names: &mut BTreeSet<String>) -> String {
    let plain = legal_name(name);
    let second = legal_name(&format!("{plain}-{client}"));
    let numbered = (2..).map(|number| {
        let short: String = second.chars().take(28).collect();
        format!("{short}-{number}")
    });
    let free = |name: &String| !names.contains(name) && !RESERVED.contains(&name.as_str());
    let mut candidates = [plain.clone(), second.clone()].into_iter().chain(numbered);
    let found = candidates.find(free).unwrap_or(plain);
    names.insert(found.clone());
    found
}

/// What stands for a variable that is known only where the gateway is started, in a configuration that is
/// read for what it names alone.
pub const UNKNOWN_VALUE: &str = "unset";

/// The server of a configuration that is this entry of a client: one that is reached in the same
/// way. A name alone says nothing, since two clients may use one for different servers.
#[must_use]
pub fn matching_server<'c>(server: &ListedServer, config: &'c Config) -> Option<&'c Upstream> {
    let entry = server.entry.as_ref().ok()?;
    config.upstreams.iter().find(|one| is_same(&entry.transport, &one.transport))
}

fn is_same(entry: &ServerTransport, upstream: &Transport) -> bool {
    match (entry, upstream) {
        (
            ServerTransport::Program { command, args, env, .. },
            Transport::Stdio { command: program, args: own, env: own_env, .. },
        ) => {
            let (name, program) = (Path::new(command).file_name(), Path::new(program).file_name());
            let home = std::env::var("HOME").unwrap_or_default();
            let expand = |text: &String| text.replace("${HOME}", &home);
            let args: Vec<String> = args.iter().map(expand).collect();
            // What a variable holds is known only where the gateway is started.
            let mut plain = env.iter().filter(|(_, value)| !value.contains("${"));
            let same_env = plain.all(|(name, value)| own_env.get(name) == Some(value));
            name == program && args == *own && same_env
        }
        (
            ServerTransport::Address { url, headers },
            Transport::Http { url: own, headers: own_headers, .. },
        ) => {
            // Another token is another account.
            let mut plain = headers.iter().filter(|(_, value)| !value.contains("${"));
            let same_headers = plain.all(|(name, value)| {
                let mut same = own_headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
                same.any(|(_, own)| own == value || own.contains(UNKNOWN_VALUE))
            });
            url == own && same_headers
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServerLogin;

    #[test]
    fn another_account_at_the_same_address_is_another_server() {
        let of = |headers: &[(&str, &str)]| {
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let url = "https://mcp.example/mcp".to_owned();
        let same = |entry: &[(&str, &str)], own: &[(&str, &str)]| {
            let entry = ServerTransport::Address { url: url.clone(), headers: of(entry) };
            let (url, login) = (url.clone(), ServerLogin::default());
            is_same(&entry, &Transport::Http { url, headers: of(own), login })
        };
        let work = [("Authorization", "Bearer work")];
        assert!(same(&[], &work) && same(&[("authorization", "Bearer work")], &work));
        assert!(same(&[("Authorization", "Bearer ${TOKEN}")], &work));
        assert!(same(&work, &[("Authorization", "Bearer unset")]), "what it holds is not known");
        assert!(!same(&[("Authorization", "Bearer personal")], &work) && !same(&work, &[]));
    }
}
