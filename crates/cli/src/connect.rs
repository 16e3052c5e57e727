//! `weaver connect` and `weaver disconnect`: MCP clients behind the gateway, and back.

pub(super) mod args;
mod status;

use std::path::Path;

use serde_json::{Value, json};
use weaver_gateway::clients::{
    Client, ClientFile, ConfigPlace, Connection, Connections, Folders, ListedServer, Plan, Scope,
    ServerTransport, Undo, unified,
};
use weaver_gateway::config::{self, Config};
use weaver_gateway::setup::{SEARCH_PROFILE, UNKNOWN_VALUE, matching_server};
use weaver_text::{escape, suggest};
use weaver_types::{Clock as _, SystemClock};

use super::{Exit, Failure, config_path, init, output};
use args::{Connect, Disconnect};

pub(super) use status::client_states;

pub(super) fn run(args: &Connect) -> Result<Exit, Failure> {
    let place = ConnectedGateway::open(args.config.as_deref())?;
    if args.status {
        return status::run(&place, args);
    }
    let folders = init::found_servers::folders()?;
    let files = files(args, &folders, &place)?;
    if files.is_empty() {
        let message = "no client has a server that weaver.toml knows";
        return Err(Failure::new(Exit::Unknown, "connect.no_clients", message)
            .next("name a client to add Weaver to it all the same: `weaver connect cursor`"));
    }
    let governed = |server: &ListedServer| matching_server(server, &place.config).is_some();
    let mut changed = 0_usize;
    for SelectedFile { client, slot } in files {
        // Read anew: several places may be in one file, and an earlier one of them was changed by now.
        let file = ClientFile::read(client, slot, &folders)?;
        let plan = place.connections.plan(file, &governed)?;
        let done = plan.is_done();
        if !args.dry_run && !done {
            place.connections.connect(&plan, SystemClock::default().now())?;
            changed += 1;
        }
        told(&plan, args)?;
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

/// The configuration, and what is connected to it.
pub(super) struct ConnectedGateway {
    pub(super) config: Config,
    pub(super) connections: Connections,
}

impl ConnectedGateway {
    pub(super) fn open(named: Option<&Path>) -> Result<Self, Failure> {
        let file = config_path::absolute(named)?;
        // Variables are for the servers, which are not started here.
        let lookup =
            |name: &str| Some(std::env::var(name).unwrap_or_else(|_| UNKNOWN_VALUE.to_owned()));
        let config = config::load_with(&file, &lookup)?;
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
        let connections = Connections::new(folder, program, config.file.clone());
        let connections = connections.with_search_profile(search);
        Ok(Self { config, connections })
    }
}

/// The client of this id.
fn client(id: &str) -> Result<&'static Client, Failure> {
    Client::named(id).ok_or_else(|| {
        let known: Vec<&str> = Client::all().iter().map(|client| client.id).collect();
        let next = match suggest::nearest(id, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known are: {}", known.join(", ")),
        };
        let message = format!("`{}` is not a client that Weaver knows", escape::line(id));
        Failure::new(Exit::Unknown, "connect.unknown_client", message).next(next)
    })
}

/// A place that is to be connected.
struct SelectedFile {
    client: &'static Client,
    slot: &'static ConfigPlace,
}

/// The places that are to be connected.
fn files(
    args: &Connect,
    folders: &Folders,
    place: &ConnectedGateway,
) -> Result<Vec<SelectedFile>, Failure> {
    let mut files = Vec::new();
    let named = args.clients.iter().map(|id| client(id)).collect::<Result<Vec<_>, _>>()?;
    let all = Client::all().iter().filter(|client| named.is_empty() || named.contains(client));
    for client in all {
        let asked = named.contains(&client);
        let mut any = false;
        let slots = client.distinct_places(folders);
        for slot in slots.filter(|slot| slot.scope == Scope::User || args.project) {
            if !slot.file(folders).exists() {
                continue;
            }
            let file = match ClientFile::read(client, slot, folders) {
                Ok(file) => file,
                Err(error) if asked => return Err(error.into()),
                Err(error) => {
                    output::aside(&format!(
                        "note: passed over:\n{}",
                        output::finding(error.finding())
                    ));
                    continue;
                }
            };
            let known = |server: &ListedServer| {
                server.is_gateway() || matching_server(server, &place.config).is_some()
            };
            if file.servers.iter().any(known) {
                any = true;
                files.push(SelectedFile { client, slot });
            }
        }
        // Who names a client wants Weaver in it, whatever it has now.
        if asked && !any {
            let slots = || client.places.iter();
            let there =
                slots().find(|slot| slot.scope == Scope::User && slot.file(folders).exists());
            if let Some(slot) = there.or_else(|| slots().next()) {
                files.push(SelectedFile { client, slot });
            }
        }
    }
    Ok(files)
}

/// The secrets in a file, which a difference does not show.
fn secrets(file: &ClientFile) -> Vec<String> {
    let mut all = Vec::new();
    for (_, entry) in file.usable() {
        match &entry.transport {
            ServerTransport::Program { env, .. } => all.extend(env.values().cloned()),
            ServerTransport::Address { headers, .. } => all.extend(headers.values().cloned()),
        }
    }
    all.retain(|value| value.chars().count() >= 8 && !value.starts_with(['/', '$']));
    all
}

fn told(plan: &Plan, args: &Connect) -> Result<(), Failure> {
    let file = &plan.file;
    let path = file.path.display().to_string();
    let text = unified(&path, plan.old_text(), &plan.text, &secrets(file));
    if args.output.json {
        output::json(&json!({
            "client": file.client, "file": path, "replaced": plan.replaced, "left": plan.left,
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
    if !plan.left.is_empty() {
        let left = escape::line(&plan.left.join(", ")).into_owned();
        out.push_str(&format!(
            "  stays without Weaver: {left}. `weaver update` takes in what works; then connect again\n"
        ));
    }
    if let Some(client) = Client::named(&file.client).filter(|_| reload) {
        out.push_str(&format!("  now: {}\n", client.reload));
    }
    output::text(&out)?;
    Ok(())
}

pub(super) fn disconnect(args: &Disconnect) -> Result<Exit, Failure> {
    let place = ConnectedGateway::open(args.config.as_deref())?;
    let named = args.clients.iter().map(|id| client(id)).collect::<Result<Vec<_>, _>>()?;
    let all = place.connections.all()?;
    let wanted = |one: &&Connection| {
        named.is_empty() || named.iter().any(|client| client.id == one.client())
    };
    let wanted: Vec<&Connection> = all.iter().filter(wanted).collect();
    if wanted.is_empty() && !args.output.json {
        output::line("no client is connected")?;
    }
    for connection in wanted {
        let file = connection.read()?;
        let undo = connection.undo(&file)?;
        if !args.dry_run {
            connection.disconnect(&undo)?;
        }
        taken_back(&file, &undo, args)?;
    }
    Ok(Exit::Ok)
}

fn taken_back(file: &ClientFile, undo: &Undo, args: &Disconnect) -> Result<(), Failure> {
    let path = file.path.display().to_string();
    let (new, how): (Option<&String>, &str) = match undo {
        Undo::Exact(Some(text)) => (Some(text), "is as it was before, byte for byte"),
        Undo::Exact(None) => (None, "is gone again: there was no file before"),
        Undo::Merged(text) => {
            (Some(text), "was changed since: only Weaver's entry goes, the old ones are back")
        }
        Undo::Nothing => (None, "no longer has Weaver's entry: left as it is"),
    };
    if args.output.json {
        let state: Value = match undo {
            Undo::Exact(_) => "exact".into(),
            Undo::Merged(_) => "merged".into(),
            Undo::Nothing => "nothing".into(),
        };
        output::json(
            &json!({ "client": file.client, "file": path, "undo": state, "dry_run": args.dry_run }),
        )?;
        return Ok(());
    }
    let mut out = String::new();
    if let Some(new) = new.filter(|_| args.dry_run) {
        let old = file.text();
        out.push_str(&unified(&path, old, new, &secrets(file)));
    }
    out.push_str(&format!("{}: {path} {how}\n", output::bold(&file.client_name)));
    output::text(&out)?;
    Ok(())
}
