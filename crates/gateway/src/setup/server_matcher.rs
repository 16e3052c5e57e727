//! Recognises the servers of clients' files among those that a gateway has.

use std::collections::BTreeMap;
use std::path::Path;

use super::selection::{CERTIFICATE_VARIABLES, ServerOrigin};
use crate::bounded_file;
use crate::clients::{ClientFile, ListedServer, ServerTransport};
use crate::config::{self, Config, InstanceSharing, TransportSettings, UpstreamSettings};
use crate::serve::with_workspace_folder;

/// The value of a variable that is known only where the gateway runs, in a configuration that is
/// read only for what it names.
pub const UNKNOWN_VALUE: &str = "unset";

/// Recognises the servers of clients' files among those that a gateway has.
///
/// A server is the same if it is reached in the same way: the same program or address, with the
/// same arguments, variables, headers and folder. The name alone proves nothing, because two clients
/// may use it for different servers. A server whose section says that it was taken from this very
/// entry is the same also if something was added to the section since.
#[derive(Debug)]
pub struct ServerMatcher<'c> {
    config: &'c Config,
    /// The comments above each server's section.
    origins: BTreeMap<String, Vec<String>>,
}

impl<'c> ServerMatcher<'c> {
    /// Recognises the servers of this configuration.
    #[must_use]
    pub fn new(config: &'c Config) -> Self {
        // Without its text, nothing is known of origins.
        let text = bounded_file::read_text(&config.file, config::MAX_CONFIG_BYTES);
        Self { config, origins: section_comments(&text.unwrap_or_default()) }
    }

    /// The configured server that this entry of a client's file refers to.
    #[must_use]
    pub fn find(&self, file: &ClientFile, server: &ListedServer) -> Option<&'c UpstreamSettings> {
        let entry = &server.entry.as_ref().ok()?.transport;
        let base = self.config.base();
        let fits = |one: &&UpstreamSettings, match_kind| {
            let comparison = Comparison { base: &base, match_kind };
            let is_offered = match &file.project {
                Some(project) => one.is_offered_in(Some(project)),
                None => one.projects.is_empty(),
            };
            is_offered
                && match (&file.project, one.sharing) {
                    // It is started for each folder, and so for this one.
                    (Some(folder), InstanceSharing::Folder) => {
                        comparison.is_same(entry, &with_workspace_folder(one, folder).transport)
                    }
                    _ => comparison.is_same(entry, &one.transport),
                }
        };
        let origin = ServerOrigin {
            client: file.client_name.clone(),
            file: file.path.clone(),
            name: server.name.clone(),
            project: file.project.clone(),
        };
        let comment = origin.comment();
        let was_taken = |one: &&UpstreamSettings| {
            self.origins.get(one.name.as_str()).is_some_and(|lines| lines.contains(&comment))
        };
        let mut servers = self.config.upstreams.iter();
        let exact = servers.clone().find(|one| fits(one, MatchKind::Exact));
        exact.or_else(|| servers.find(|one| was_taken(one) && fits(one, MatchKind::Extended)))
    }
}

/// The comments directly above each server's section.
fn section_comments(text: &str) -> BTreeMap<String, Vec<String>> {
    let (mut found, mut above) = (BTreeMap::new(), Vec::new());
    for line in text.lines() {
        let name =
            line.strip_prefix("[mcpServers.").and_then(|rest| rest.trim_end().strip_suffix(']'));
        if let Some(name) = name {
            found.insert(name.to_owned(), std::mem::take(&mut above));
        } else if line.starts_with('#') {
            above.push(line.to_owned());
        } else {
            above.clear();
        }
    }
    found
}

/// How alike an entry and a configured server have to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatchKind {
    Exact,
    /// The configured server has all that the entry has.
    Extended,
}

/// Compares an entry with a configured server.
#[derive(Debug, Clone, Copy)]
struct Comparison<'a> {
    /// The folder of the configuration.
    base: &'a Path,
    match_kind: MatchKind,
}

impl Comparison<'_> {
    fn is_same(self, entry: &ServerTransport, upstream: &TransportSettings) -> bool {
        let home = std::env::var("HOME").unwrap_or_default();
        let expand = |text: &str| text.replace("${HOME}", &home);
        match (entry, upstream) {
            (
                ServerTransport::Program { command, args, env, cwd },
                TransportSettings::Stdio {
                    command: program,
                    args: own,
                    env: own_env,
                    cwd: own_cwd,
                    ..
                },
            ) => {
                let args: Vec<String> = args.iter().map(|arg| expand(arg)).collect();
                let cwd = cwd.as_ref().map(|cwd| self.base.join(expand(&cwd.to_string_lossy())));
                let is_extended = self.match_kind == MatchKind::Extended;
                is_same_program(&expand(command), program)
                    && self.is_same_list(&args, own)
                    && self.is_same_map(env, own_env, &|one, own| one == own)
                    && (cwd == *own_cwd || is_extended && cwd.is_none())
            }
            (
                ServerTransport::Address { url, headers },
                TransportSettings::Http { url: own, headers: own_headers, .. },
            ) => {
                // Another token is another account.
                is_same_value(url, own)
                    && self.is_same_map(headers, own_headers, &str::eq_ignore_ascii_case)
            }
            _ => false,
        }
    }

    fn is_same_list(self, list: &[String], own: &[String]) -> bool {
        // In an extended list, the own items are looked for in this order.
        let mut rest = own.iter();
        let in_order = list.iter().all(|one| rest.any(|own| is_same_value(one, own)));
        in_order && (list.len() == own.len() || self.match_kind == MatchKind::Extended)
    }

    fn is_same_map(
        self,
        map: &BTreeMap<String, String>,
        own: &BTreeMap<String, String>,
        is_same_name: &dyn Fn(&str, &str) -> bool,
    ) -> bool {
        let has = |(name, value): (&String, &String)| {
            let mut named = own.iter().filter(|(own, _)| is_same_name(name, own));
            // The value of a client's variable is known only where the gateway runs.
            named.any(|(_, own)| value.contains("${") || is_same_value(value, own))
        };
        let is_known = |name: &String| {
            // A setup adds these.
            name == "PATH"
                || CERTIFICATE_VARIABLES.contains(&name.as_str())
                || map.keys().any(|one| is_same_name(one, name))
        };
        map.iter().all(has) && (self.match_kind == MatchKind::Extended || own.keys().all(is_known))
    }
}

/// A name is looked up in `PATH` at the setup, so only a path says which program it is.
fn is_same_program(command: &str, program: &str) -> bool {
    let (command, program) = (Path::new(command), Path::new(program));
    match command.is_absolute() && program.is_absolute() {
        true => command == program,
        false => command.file_name() == program.file_name(),
    }
}

/// True for a value that the configuration has, as far as it is known here.
fn is_same_value(value: &str, own: &str) -> bool {
    let known_parts_match = |(before, after): (&str, &str)| {
        value.len() >= before.len() + after.len()
            && value.starts_with(before)
            && value.ends_with(after)
    };
    value == own || own.split_once(UNKNOWN_VALUE).is_some_and(known_parts_match)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::ServerLogin;

    fn same(entry: &ServerTransport, own: &TransportSettings, match_kind: MatchKind) -> bool {
        Comparison { base: Path::new("/gateway"), match_kind }.is_same(entry, own)
    }

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn another_account_at_the_same_address_is_another_server() {
        let url = "https://mcp.example/mcp".to_owned();
        let same = |entry: &[(&str, &str)], own: &[(&str, &str)], match_kind| {
            let entry = ServerTransport::Address { url: url.clone(), headers: map(entry) };
            let (url, login) = (url.clone(), ServerLogin::default());
            let (headers, certificate_authority) = (map(own), None);
            let own = TransportSettings::Http { url, headers, login, certificate_authority };
            same(&entry, &own, match_kind)
        };
        let work = [("Authorization", "Bearer work")];
        let exact = MatchKind::Exact;
        assert!(same(&[("authorization", "Bearer work")], &work, exact));
        assert!(same(&[("Authorization", "Bearer ${TOKEN}")], &work, exact));
        assert!(same(&work, &[("Authorization", "Bearer unset")], exact), "its value is not known");
        assert!(!same(&[("Authorization", "Bearer personal")], &work, exact));
        assert!(!same(&work, &[], exact));
        assert!(!same(&[], &work, exact), "without a token, nobody's account");
        assert!(same(&[], &work, MatchKind::Extended));
    }

    #[test]
    fn a_program_in_another_folder_or_with_other_variables_is_another_server() {
        let entry =
            |args: &str, env: &[(&str, &str)], cwd: Option<&str>| ServerTransport::Program {
                command: "npx".to_owned(),
                args: words(args),
                env: map(env),
                cwd: cwd.map(PathBuf::from),
            };
        let own = |args: &str, env: &[(&str, &str)], cwd: Option<&str>| TransportSettings::Stdio {
            command: "/usr/bin/npx".to_owned(),
            args: words(args),
            env: map(env),
            cwd: cwd.map(PathBuf::from),
            confine: None,
        };
        let prod = own("-y db", &[("DB", "prod"), ("PATH", "/usr/bin")], Some("/a"));
        let (exact, extended) = (MatchKind::Exact, MatchKind::Extended);
        assert!(same(&entry("-y db", &[("DB", "prod")], Some("/a")), &prod, exact));
        for (n, other) in [
            entry("-y db", &[("DB", "prod")], Some("/b")),
            entry("-y db", &[("DB", "prod")], None),
            entry("-y db", &[("DB", "dev")], Some("/a")),
            entry("-y db", &[], Some("/a")),
            entry("-y db .", &[("DB", "prod")], Some("/a")),
        ]
        .iter()
        .enumerate()
        {
            assert!(!same(other, &prod, exact), "{n}");
        }
        assert!(same(&entry("-y db", &[], None), &prod, extended), "something was added");
        assert!(same(&entry("-y", &[], None), &prod, extended));
        assert!(!same(&entry("-y db", &[("DB", "dev")], None), &prod, extended));
        assert!(!same(&entry("db -y", &[], None), &prod, extended));
        let path = |command: &str| {
            let ServerTransport::Program { args, env, .. } = entry("x", &[], None) else {
                panic!()
            };
            ServerTransport::Program { command: command.to_owned(), args, env, cwd: None }
        };
        assert!(same(&path("/usr/bin/npx"), &own("x", &[], None), exact));
        assert!(!same(&path("/home/ana/npx"), &own("x", &[], None), exact));
    }

    #[test]
    fn the_comments_above_a_section_are_its_own() {
        let text = "# a head\n\n# From A, `x` in /x\n# From B, `y` in /y\n[mcpServers.one]\n\
                    command = \"x\"\n\n[mcpServers.two]\n";
        let found = section_comments(text);
        assert_eq!(found["one"], ["# From A, `x` in /x", "# From B, `y` in /y"]);
        assert!(found["two"].is_empty());
    }

    #[test]
    fn a_value_is_the_same_as_far_as_it_is_known() {
        for (value, own, is_same) in [
            ("--key=abc", "--key=abc", true),
            ("--key=abc", "--key=unset", true),
            ("abc", "unset", true),
            ("https://x.example/?k=abc&p=1", "https://x.example/?k=unset&p=1", true),
            ("https://x.example/?k=abc&p=2", "https://x.example/?k=unset&p=1", false),
            ("--other=abc", "--key=unset", false),
            ("--key=abc", "--key=abd", false),
            ("aa", "aunseta", true),
            ("a", "aunseta", false),
        ] {
            assert_eq!(is_same_value(value, own), is_same, "{value} {own}");
        }
    }
}
