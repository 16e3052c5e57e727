//! `weaver connect --status`: which clients run through the gateway, shown by a real call.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weaver_gateway::clients::{Client, Connection, ConnectionState};
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::query::{Facts, Filter, Question, ask};
use weaver_types::{EventKind, Timestamp};

use super::ConnectedGateway;
use super::args::Connect;
use crate::{Exit, Failure, output};

/// How often the log is asked.
const OFTEN: Duration = Duration::from_millis(300);

/// A connected client, as it stands.
pub(crate) struct ClientState {
    pub(crate) name: String,
    pub(crate) connection: Connection,
    pub(crate) state: ConnectionState,
}

/// How the connected clients stand.
pub(crate) fn client_states(place: &ConnectedGateway) -> Result<Vec<ClientState>, Failure> {
    let states = place.connections.all()?.into_iter().map(|connection| {
        let name = Client::named(connection.client());
        let name = name.map_or(connection.client(), |client| client.name).to_owned();
        ClientState { name, state: connection.state(), connection }
    });
    Ok(states.collect())
}

pub(super) fn run(place: &ConnectedGateway, args: &Connect) -> Result<Exit, Failure> {
    let clients = client_states(place)?;
    if !args.output.json {
        output::text(&table(&clients))?;
    }
    let live = |one: &&ClientState| {
        matches!(one.state, ConnectionState::Connected | ConnectionState::Edited)
    };
    let since = clients.iter().filter(live).map(|one| one.connection.at()).max();
    let call = match since {
        None => None,
        Some(since) => first_call(place, since, args)?,
    };
    if args.output.json {
        output::json(&status_json(&clients, call.as_ref()))?;
    } else {
        output::text(&call_text(since, call.as_ref()))?;
    }
    let seen = call.is_some() || args.wait.is_none();
    Ok(if since.is_some() && seen { Exit::Ok } else { Exit::Failed })
}

fn word(state: ConnectionState) -> &'static str {
    match state {
        ConnectionState::Connected => "connected",
        ConnectionState::Edited => "connected; the file was changed since",
        ConnectionState::Removed => "not connected: Weaver's entry is gone from the file",
        ConnectionState::Unreadable => "unknown: the file cannot be read",
    }
}

fn table(clients: &[ClientState]) -> String {
    if clients.is_empty() {
        return "no client is connected; `weaver connect` does that\n".to_owned();
    }
    let row = |one: &ClientState| {
        let servers = one.connection.replaced().join(", ");
        let file = one.connection.file().display().to_string();
        format!(
            "{:<16} {}  {}  {}\n",
            one.name,
            word(one.state),
            escape::line(&servers),
            output::dim(&escape::line(&file))
        )
    };
    clients.iter().map(row).collect()
}

/// The first call since then; with `--wait`, one that is still to come too.
fn first_call(
    place: &ConnectedGateway,
    since: Timestamp,
    args: &Connect,
) -> Result<Option<Facts>, Failure> {
    let until = args.wait.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut told = false;
    loop {
        let found = look(place, since)?;
        let over = until.is_none_or(|until| Instant::now() >= until);
        if found.is_some() || over {
            return Ok(found);
        }
        if !told && !args.output.json {
            output::aside("waiting for the first call; use a tool in the client …\n");
            told = true;
        }
        std::thread::sleep(OFTEN);
    }
}

fn look(place: &ConnectedGateway, since: Timestamp) -> Result<Option<Facts>, Failure> {
    let store = &place.config.store;
    // Before the first start there is no ledger.
    if !store.is_file() {
        return Ok(None);
    }
    let reader = Reader::open(store).map_err(|error| Failure::store(store, &error))?;
    let filter = Filter::default().within(Some(since), None);
    for kind in [EventKind::Intent, EventKind::Refused] {
        let filter = filter.clone().with(weaver_trace_store::query::Field::Event, kind.as_str());
        let question = Question { limit: 1, ..Question::oldest(filter) };
        let page = ask(&reader, None, &question)
            .map_err(|error| Failure::new(Exit::Store, error.code(), error))?;
        if let Some(found) = page.events.into_iter().next() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn call_text(since: Option<Timestamp>, call: Option<&Facts>) -> String {
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

fn status_json(clients: &[ClientState], call: Option<&Facts>) -> Value {
    let clients: Vec<Value> = clients
        .iter()
        .map(|one| {
            json!({
                "client": one.connection.client(),
                "file": one.connection.file().display().to_string(),
                "state": match one.state {
                    ConnectionState::Connected => "connected",
                    ConnectionState::Edited => "edited",
                    ConnectionState::Removed => "removed",
                    ConnectionState::Unreadable => "unreadable",
                },
                "servers": one.connection.replaced(),
                "since": one.connection.at().rfc3339(),
            })
        })
        .collect();
    let call = call.map(|call| {
        json!({ "call": call.call(), "capability": call.capability(), "verdict": call.verdict(),
            "at": call.at().map(|at| at.rfc3339()) })
    });
    json!({ "clients": clients, "first_call": call })
}
