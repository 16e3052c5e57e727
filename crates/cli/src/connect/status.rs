//! `weaver connect --status`: which clients are connected, and the first call that came through.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weaver_gateway::clients::{Client, ConnectedFile, ConnectedFileState};
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::query::{EventFacts, EventFilter, LogQuery, run_query};
use weaver_types::{EventKind, Timestamp};

use super::GatewayConnections;
use super::args::Connect;
use crate::{Exit, Failure, output};

/// How often the log is queried.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// A connected client, and the state of its connection.
pub(crate) struct ClientState {
    pub(crate) name: String,
    pub(crate) connection: ConnectedFile,
    pub(crate) state: ConnectedFileState,
}

/// The connected clients and their states.
pub(crate) fn client_states(gateway: &GatewayConnections) -> Result<Vec<ClientState>, Failure> {
    let states = gateway.connections.all()?.into_iter().map(|connection| {
        let name = Client::by_id(connection.client());
        let name = name.map_or(connection.client(), |client| client.name).to_owned();
        ClientState { name, state: connection.state(), connection }
    });
    Ok(states.collect())
}

pub(super) fn run(gateway: &GatewayConnections, args: &Connect) -> Result<Exit, Failure> {
    let clients = client_states(gateway)?;
    if !args.output.json {
        output::text(&clients_table(&clients))?;
    }
    let connected = clients.iter().filter(|one| one.state.is_connected());
    let since = connected.map(|one| one.connection.connected_at()).max();
    let call = match since {
        None => None,
        Some(since) => first_call(gateway, since, args)?,
    };
    if args.output.json {
        output::json(&status_json(&clients, call.as_ref()))?;
    } else {
        output::text(&call_text(since, call.as_ref()))?;
    }
    let seen = call.is_some() || args.wait.is_none();
    Ok(if since.is_some() && seen { Exit::Ok } else { Exit::Failed })
}

fn state_text(state: ConnectedFileState) -> &'static str {
    match state {
        ConnectedFileState::Connected => "connected",
        ConnectedFileState::Edited => "connected; the file was changed since",
        ConnectedFileState::Removed => "not connected: Weaver's entry is gone from the file",
        ConnectedFileState::Unreadable => "unknown: the file cannot be read",
    }
}

fn clients_table(clients: &[ClientState]) -> String {
    if clients.is_empty() {
        return "no client is connected; `weaver connect` does that\n".to_owned();
    }
    let row = |one: &ClientState| {
        let servers = one.connection.replaced().join(", ");
        let file = one.connection.file().display().to_string();
        format!(
            "{:<16} {}  {}  {}\n",
            one.name,
            state_text(one.state),
            escape::line(&servers),
            output::dim(&escape::line(&file))
        )
    };
    clients.iter().map(row).collect()
}

/// The first call since then; with `--wait`, waits for one.
fn first_call(
    gateway: &GatewayConnections,
    since: Timestamp,
    args: &Connect,
) -> Result<Option<EventFacts>, Failure> {
    let until = args.wait.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut has_prompted = false;
    loop {
        let found = find_call(gateway, since)?;
        let has_timed_out = until.is_none_or(|until| Instant::now() >= until);
        if found.is_some() || has_timed_out {
            return Ok(found);
        }
        if !has_prompted && !args.output.json {
            output::stderr("waiting for the first call; use a tool in the client …\n");
            has_prompted = true;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn find_call(
    gateway: &GatewayConnections,
    since: Timestamp,
) -> Result<Option<EventFacts>, Failure> {
    let store = &gateway.config.store_path;
    // There is no ledger before the gateway's first start.
    if !store.is_file() {
        return Ok(None);
    }
    let reader = Reader::open(store).map_err(|error| Failure::store(store, &error))?;
    let filter = EventFilter::default().within(Some(since), None);
    for kind in [EventKind::Intent, EventKind::Refused] {
        let filter =
            filter.clone().with(weaver_trace_store::query::FilterField::Event, kind.as_str());
        let question = LogQuery { limit: 1, ..LogQuery::oldest(filter) };
        let page = run_query(&reader, None, &question)
            .map_err(|error| Failure::new(Exit::Store, error.code(), error))?;
        if let Some(found) = page.events.into_iter().next() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn call_text(since: Option<Timestamp>, call: Option<&EventFacts>) -> String {
    match (since, call) {
        (None, _) => String::new(),
        (Some(_), None) => "no call has come through yet: use a tool in the client, and see \
                            `weaver connect --status --wait 60`\n"
            .to_owned(),
        (Some(_), Some(call)) => {
            let tool = escape::line(call.capability().unwrap_or("a tool")).into_owned();
            let at = call.at().map(|at| at.rfc3339()).unwrap_or_default();
            let refused = call.kind() == Some(EventKind::Refused);
            let what = match (refused, call.verdict()) {
                (false, _) => output::good("went through"),
                (true, Some("hold")) => output::bold("is held for a person"),
                (true, Some("ask")) => output::bold("was sent back to the model"),
                (true, _) => output::bad("was refused"),
            };
            let id = escape::line(call.call().unwrap_or_default()).into_owned();
            format!(
                "the first call since connecting: {tool} {what} at {at}  {}\n",
                output::dim(&id)
            )
        }
    }
}

fn status_json(clients: &[ClientState], call: Option<&EventFacts>) -> Value {
    let clients: Vec<Value> = clients
        .iter()
        .map(|one| {
            json!({
                "client": one.connection.client(),
                "file": one.connection.file().display().to_string(),
                "state": match one.state {
                    ConnectedFileState::Connected => "connected",
                    ConnectedFileState::Edited => "edited",
                    ConnectedFileState::Removed => "removed",
                    ConnectedFileState::Unreadable => "unreadable",
                },
                "servers": one.connection.replaced(),
                "since": one.connection.connected_at().rfc3339(),
            })
        })
        .collect();
    let call = call.map(|call| {
        json!({ "call": call.call(), "capability": call.capability(), "verdict": call.verdict(),
            "at": call.at().map(|at| at.rfc3339()) })
    });
    json!({ "clients": clients, "first_call": call })
}
