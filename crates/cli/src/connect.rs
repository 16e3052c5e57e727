//! `weaver connect` and `weaver disconnect`: put MCP clients behind the gateway, and take that
//! back.

pub(super) mod args;
mod status;

use std::path::Path;

use serde_json::{Value, json};
use weaver_firewall::Firewall;
use weaver_gateway::clients::{
    Client, ClientFile, ClientFolders, ConfigLocation, ConnectedFile, ConnectedFiles,
    ConnectionPlan, ListedServer, Scope, UndoAction, unified_diff,
};
use weaver_gateway::config::Config;
use weaver_gateway::setup::{SEARCH_PROFILE, ServerMatcher, private_values};
use weaver_text::{escape, suggest};
use weaver_types::{Clock as _, SystemClock};

use super::{Exit, Failure, config_path, init, output};
use args::{Connect, Disconnect};

pub(super) use status::client_states;

pub(super) fn run(args: &Connect) -> Result<Exit, Failure> {
    let gateway = GatewayConnections::open(&args.config.resolve()?)?;
    if args.status {
        return status::run(&gateway, args);
    }
    let folders = init::found_servers::folders()?;
    let files = selected_files(args, &folders, &gateway)?;
    if !args.project {
        print_project_servers(args, &folders)?;
    }
    if files.is_empty() {
        let message = "no client has a server that weaver.toml knows";
        return Err(Failure::new(Exit::NotFound, "connect.no_clients", message).with_next_step(
            "name a client to add Weaver to it all the same: `weaver connect cursor`",
        ));
    }
    let matcher = gateway.matcher();
    let mut changed = 0_usize;
    for SelectedConfigFile { client, slot } in files {
        // Read the file again: it may hold several places, and an earlier one may have changed it.
        let file = ClientFile::read(client, slot, &folders)?;
        let before = file.clone();
        let governed = |server: &ListedServer| matcher.find(&before, server).is_some();
        let plan = gateway.connections.plan(file, &governed)?;
        let done = plan.is_done();
        if !args.dry_run && !done {
            gateway.connections.connect(&plan, SystemClock::default().now())?;
            changed += 1;
        }
        print_connection(&plan, args, &governed)?;
    }
    if !args.output.json && !args.dry_run && changed > 0 {
        output::text(&format!(
            "\nnext: use a tool in the client, and watch it arrive: {}\n      `weaver disconnect` takes \
             everything back\n",
            output::bold("weaver connect --status --wait 60")
        ))?;
    }
    Ok(Exit::Ok)
}

/// A gateway's configuration, and the clients that are connected to it.
pub(super) struct GatewayConnections {
    pub(super) config: Config,
    pub(super) connections: ConnectedFiles,
}

impl GatewayConnections {
    pub(super) fn open(file: &Path) -> Result<Self, Failure> {
        let config = config_path::load_ignoring_unset_variables(&config_path::absolute(file)?)?;
        let program = std::env::current_exe().map_err(|error| {
            Failure::new(
                Exit::Internal,
                "connect.program",
                format!("where this program is: {error}"),
            )
        })?;
        let folder = config.base().join(".weaver/clients");
        let search = Some(SEARCH_PROFILE.to_owned());
        let search = search.filter(|name| config.profiles.contains_key(name));
        let connections = ConnectedFiles::new(folder, program, config.file.clone());
        let connections = connections.with_search_profile(search);
        Ok(Self { config, connections })
    }

    fn matcher(&self) -> ServerMatcher<'_> {
        ServerMatcher::new(&self.config)
    }
}

/// The client of this id.
fn client_by_id(id: &str) -> Result<&'static Client, Failure> {
    Client::by_id(id).ok_or_else(|| {
        let known: Vec<&str> = Client::all().iter().map(|client| client.id).collect();
        let next = match suggest::nearest(id, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known are: {}", known.join(", ")),
        };
        let message = format!("`{}` is not a client that Weaver knows", escape::line(id));
        Failure::new(Exit::NotFound, "connect.unknown_client", message).with_next_step(next)
    })
}

/// A place in a client's configuration file that is to be connected.
struct SelectedConfigFile {
    client: &'static Client,
    slot: &'static ConfigLocation,
}

/// The places that the arguments select.
fn selected_files(
    args: &Connect,
    folders: &ClientFolders,
    gateway: &GatewayConnections,
) -> Result<Vec<SelectedConfigFile>, Failure> {
    let (mut files, matcher) = (Vec::new(), gateway.matcher());
    let named = args.clients.iter().map(|id| client_by_id(id)).collect::<Result<Vec<_>, _>>()?;
    let all = Client::all().iter().filter(|client| named.is_empty() || named.contains(client));
    for client in all {
        let is_named = named.contains(&client);
        let mut has_gateway_server = false;
        let slots = client.distinct_locations(folders);
        for slot in slots.filter(|slot| slot.scope == Scope::User || args.project) {
            if !slot.file(folders).exists() {
                continue;
            }
            let file = match ClientFile::read(client, slot, folders) {
                Ok(file) => file,
                Err(error) if is_named => return Err(error.into()),
                Err(error) => {
                    output::stderr(&format!(
                        "note: passed over:\n{}",
                        output::finding_text(error.finding())
                    ));
                    continue;
                }
            };
            let is_governed = |server: &ListedServer| {
                server.is_gateway() || matcher.find(&file, server).is_some()
            };
            if file.servers.iter().any(is_governed) {
                has_gateway_server = true;
                files.push(SelectedConfigFile { client, slot });
            }
        }
        // A client that is named gets Weaver even if it has no server that Weaver knows.
        if is_named && !has_gateway_server {
            let slots = || client.locations.iter();
            let existing =
                slots().find(|slot| slot.scope == Scope::User && slot.file(folders).exists());
            if let Some(slot) = existing.or_else(|| slots().next()) {
                files.push(SelectedConfigFile { client, slot });
            }
        }
    }
    Ok(files)
}

/// The change of a client's file, without the secrets of either text.
fn shown_difference(file: &ClientFile, old: &str, new: &str) -> String {
    let texts = [old, new].map(|text| file.with_text(text));
    let servers = texts.iter().flatten().flat_map(ClientFile::usable_servers);
    let secrets: Vec<String> = servers.flat_map(|(_, entry)| private_values(entry)).collect();
    let difference = unified_diff(&file.path.display().to_string(), old, new, &secrets);
    // Servers that the gateway cannot take over have secrets too.
    Firewall::new().redact_text(&difference).text
}

fn print_connection(
    plan: &ConnectionPlan,
    args: &Connect,
    governed: &dyn Fn(&ListedServer) -> bool,
) -> Result<(), Failure> {
    let file = &plan.file;
    let path = file.path.display().to_string();
    let text = shown_difference(file, plan.old_text(), &plan.text);
    if args.output.json {
        output::json(&json!({
            "client": file.client, "file": path, "replaced": plan.replaced, "left": plan.kept,
            "changed": !plan.is_done(), "dry_run": args.dry_run,
            "diff": args.dry_run.then_some(text),
        }))?;
        return Ok(());
    }
    let mut out = String::new();
    if args.dry_run {
        out.push_str(&text);
    }
    let (many, name) = (plan.replaced.len(), output::bold(&file.client_name));
    let (verb, reload) = match (args.dry_run, plan.is_done()) {
        (_, true) => ("is connected already", false),
        (true, false) => ("would be connected", false),
        (false, false) => ("is connected", true),
    };
    let servers = if many == 0 { String::new() } else { format!(": {}", plan.replaced.join(", ")) };
    out.push_str(&format!(
        "{name} {verb}{}  {}\n",
        escape::line(&servers),
        output::dim(&escape::line(&path))
    ));
    out.push_str(&kept_text(plan, governed));
    if let Some(client) = Client::by_id(&file.client).filter(|_| reload) {
        out.push_str(&format!("  now: {}\n", client.reload));
    }
    output::text(&out)?;
    Ok(())
}

/// The servers that stay in the file: those that can be taken in, and the others with the reason.
fn kept_text(plan: &ConnectionPlan, governed: &dyn Fn(&ListedServer) -> bool) -> String {
    let kept = plan.file.servers.iter().filter(|server| plan.kept.contains(&server.name));
    let (mut new, mut out) = (Vec::new(), String::new());
    for server in kept {
        let name = escape::line(&server.name);
        let reason = match &server.entry {
            Ok(entry) if entry.disabled => continue,
            Ok(_) if governed(server) => continue,
            Ok(_) => {
                new.push(name);
                continue;
            }
            Err(reason) => reason.to_string(),
        };
        out.push_str(&format!("  stays without Weaver: {name}: {}\n", escape::line(&reason)));
    }
    if !new.is_empty() {
        out.push_str(&format!(
            "  stays without Weaver: {}. `weaver update` takes in what works; then connect again\n",
            new.join(", ")
        ));
    }
    out
}

/// What clients start in this folder without Weaver: the servers in the folder's files, which are
/// changed only on request. Nothing is said of a broken file: its client cannot read it either.
pub(super) fn project_servers(folders: &ClientFolders) -> Vec<(ClientFile, Vec<String>)> {
    let is_started = |server: &&ListedServer| {
        !server.is_gateway() && !server.entry.as_ref().is_ok_and(|entry| entry.disabled)
    };
    let files = ClientFile::find_all(folders).into_iter().flatten();
    let files = files.filter(|file| file.scope == Scope::Project);
    let with_names = files.map(|file| {
        let started = file.servers.iter().filter(is_started);
        let names: Vec<String> = started.map(|server| server.name.clone()).collect();
        (file, names)
    });
    with_names.filter(|(_, names)| !names.is_empty()).collect()
}

fn print_project_servers(args: &Connect, folders: &ClientFolders) -> Result<(), Failure> {
    let is_meant =
        |file: &ClientFile| args.clients.is_empty() || args.clients.contains(&file.client);
    let found = project_servers(folders);
    for (file, names) in found.into_iter().filter(|(file, _)| is_meant(file)) {
        let path = file.path.display().to_string();
        if args.output.json {
            output::json(&json!({
                "client": file.client, "file": path, "replaced": [], "left": names,
                "changed": false, "dry_run": args.dry_run, "diff": null,
            }))?;
            continue;
        }
        output::text(&format!(
            "{} starts {} of this folder itself, without Weaver  {}\n  `weaver update` takes in \
             what is new, and `weaver connect --project` puts this file behind Weaver, for \
             everyone who shares it\n",
            output::bold(&file.client_name),
            escape::line(&names.join(", ")),
            output::dim(&escape::line(&path)),
        ))?;
    }
    Ok(())
}

pub(super) fn disconnect(args: &Disconnect) -> Result<Exit, Failure> {
    let gateway = GatewayConnections::open(&args.config.resolve()?)?;
    let named = args.clients.iter().map(|id| client_by_id(id)).collect::<Result<Vec<_>, _>>()?;
    let all = gateway.connections.all()?;
    let project = args.project.then(init::found_servers::folders).transpose()?;
    let selected = |one: &&ConnectedFile| {
        let is_named = named.is_empty() || named.iter().any(|client| client.id == one.client());
        is_named && project.as_ref().is_none_or(|folders| one.is_of_project(folders))
    };
    let selected: Vec<&ConnectedFile> = all.iter().filter(selected).collect();
    if selected.is_empty() {
        match args.output.json {
            true => output::json(&json!({ "ok": true, "files": 0, "dry_run": args.dry_run }))?,
            false => output::line(match args.project {
                true => "no file of this folder is connected",
                false => "no client is connected",
            })?,
        }
    }
    for connection in selected {
        let file = connection.read_file()?;
        let undo = connection.undo(&file)?;
        if !args.dry_run {
            connection.disconnect(&undo)?;
        }
        print_disconnection(&file, &undo, args)?;
    }
    Ok(Exit::Ok)
}

fn print_disconnection(
    file: &ClientFile,
    undo: &UndoAction,
    args: &Disconnect,
) -> Result<(), Failure> {
    let path = file.path.display().to_string();
    let (new, how): (Option<&String>, &str) = match undo {
        UndoAction::Exact(Some(text)) => (Some(text), "is as it was before, byte for byte"),
        UndoAction::Exact(None) => (None, "is gone again: there was no file before"),
        UndoAction::Merged(text) => {
            (Some(text), "was changed since: only Weaver's entry goes, the old ones are back")
        }
        UndoAction::Nothing => (None, "no longer has Weaver's entry: left as it is"),
    };
    if args.output.json {
        let state: Value = match undo {
            UndoAction::Exact(_) => "exact".into(),
            UndoAction::Merged(_) => "merged".into(),
            UndoAction::Nothing => "nothing".into(),
        };
        output::json(
            &json!({ "client": file.client, "file": path, "undo": state, "dry_run": args.dry_run }),
        )?;
        return Ok(());
    }
    let mut out = String::new();
    if let Some(new) = new.filter(|_| args.dry_run) {
        out.push_str(&shown_difference(file, file.text(), new));
    }
    out.push_str(&format!("{}: {path} {how}\n", output::bold(&file.client_name)));
    output::text(&out)?;
    Ok(())
}
