//! One of many clients: it starts, lists tools, calls, and views results behind handles.

use std::fs;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::answer::{CallAnswer, VALUE_PREFIX};
use super::{ROUNDS, TrialState};
use crate::interop::client::Client;
use crate::interop::plan;

const TOOLS: [&str; 3] = ["tool_browse", "tool_execute", "tool_view"];

/// One call and its answer.
pub struct Call {
    pub value: String,
    pub answer: CallAnswer,
    pub took: Duration,
    /// Whether its server appends a line for it.
    pub counted: bool,
}

/// A result that a client keeps behind a handle.
#[derive(Clone)]
pub struct KeptResult {
    handle: String,
    value: String,
    /// Whether its client is one process for all calls, which still runs.
    session: bool,
}

/// What a client did.
#[derive(Default)]
pub struct ClientWork {
    /// Whether it keeps one process for all calls.
    pub session: bool,
    /// The time from its start to its tool list.
    pub start: Option<Duration>,
    pub calls: Vec<Call>,
    /// Whether another client's handle showed it the result.
    pub saw_another: bool,
    pub failures: Vec<String>,
}

/// Does the work of one client.
pub fn work(shared: &TrialState<'_>, number: usize) -> ClientWork {
    let mut worked = ClientWork::default();
    let folder = shared.folder.join(format!("client-{number}"));
    let mut client = open(shared, number, &folder, &mut worked);
    if let Ok(client) = &mut client {
        call_all(shared, number, client, &mut worked);
    }
    let done = client.and_then(|mut client| {
        let handle = keep_result(&mut client, number).context("handle");
        let (handle, failure) = match handle {
            Ok(handle) => (handle, None),
            Err(error) => (None, Some(error)),
        };
        shared.handles.lock().unwrap_or_else(PoisonError::into_inner)[number] = handle;
        match failure {
            Some(error) => Err(error),
            None => Ok(client),
        }
    });
    // A failed client must wait too, because the others wait for it.
    shared.met.wait();
    let done = done.map(|mut client| {
        let looked = view_other_result(shared, number, &mut client);
        (client, looked)
    });
    // A client must not exit while its handle is tested.
    shared.met.wait();
    let done = done.and_then(|(mut client, looked)| {
        worked.saw_another = looked.is_some();
        if looked.is_some_and(|looked| looked.session) {
            worked.failures.push(format!("{VALUE_PREFIX}{number}: saw what another client keeps"));
        }
        client.close()
    });
    if let Err(error) = done {
        worked.failures.push(format!("{VALUE_PREFIX}{number}: {error:#}"));
    }
    worked
}

/// Starts one of the stock clients, in turn, or the one that starts the server twice.
fn open(
    shared: &TrialState<'_>,
    number: usize,
    folder: &Path,
    worked: &mut ClientWork,
) -> Result<Client> {
    fs::create_dir_all(folder)?;
    let began = Instant::now();
    let kind = plan::CLIENTS.get(number % (plan::CLIENTS.len() + 1));
    let mut client = match kind {
        Some(client) => Client::start(shared.cache, *client, &shared.serve, folder)?,
        None => Client::twice(shared.cache, &shared.serve, folder)?,
    };
    let tools = client.list().context("list")?;
    worked.start = Some(began.elapsed());
    worked.session = matches!(client, Client::Sdk(_));
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    ensure!(names == TOOLS, "the tools are {names:?}");
    Ok(client)
}

fn call_all(shared: &TrialState<'_>, number: usize, client: &mut Client, worked: &mut ClientWork) {
    for nth in 0..ROUNDS * 2 {
        let counted = nth % 2 == 1;
        let value = format!("{VALUE_PREFIX}{number}-call-{nth}-");
        let request = if counted {
            json!({ "capability": "notes.send_message", "arguments": { "to": value, "text": "x" } })
        } else {
            json!({ "capability": "everything.echo", "arguments": { "message": value } })
        };
        let began = Instant::now();
        let result = client.call("tool_execute", &request);
        let (took, answer) = (began.elapsed(), CallAnswer::of(&result, &value));
        if answer == CallAnswer::Wrong {
            worked.failures.push(format!("{value}: {}", result_text(&result)));
        }
        worked.calls.push(Call { value, answer, took, counted });
        shared.answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// Keeps a result behind a handle and views it; `None` if the call did not run.
fn keep_result(client: &mut Client, number: usize) -> Result<Option<KeptResult>> {
    let value = format!("{VALUE_PREFIX}{number}-behind-");
    let arguments = json!({ "message": value });
    let request =
        json!({ "capability": "everything.echo", "arguments": arguments, "mode": "handle_only" });
    let kept = client.call("tool_execute", &request);
    if matches!(CallAnswer::of(&kept, &value), CallAnswer::NotRun | CallAnswer::Unknown) {
        return Ok(None);
    }
    let kept = kept?;
    let handle = kept["structuredContent"]["frame"]["handle"]["handle_id"].as_str();
    let handle = handle.with_context(|| format!("no handle: {kept}"))?.to_owned();
    let seen = client.call("tool_view", &json!({ "handle": handle, "limit": 10 }));
    ensure!(CallAnswer::of(&seen, &value) == CallAnswer::Own, "{}", result_text(&seen));
    Ok(Some(KeptResult { handle, value, session: matches!(client, Client::Sdk(_)) }))
}

/// The result behind the next client's handle, if it is shown. It must not be shown while that
/// client runs. If that client is a process per call, it is shown, because all act as one
/// principal.
fn view_other_result(
    shared: &TrialState<'_>,
    number: usize,
    client: &mut Client,
) -> Option<KeptResult> {
    let next = {
        let handles = shared.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles[(number + 1) % handles.len()].clone()
    };
    let next = next?;
    let seen = client.call("tool_view", &json!({ "handle": next.handle, "limit": 10 }));
    (CallAnswer::of(&seen, &next.value) == CallAnswer::Own).then_some(next)
}

fn result_text(result: &Result<Value>) -> String {
    match result {
        Ok(result) => result.to_string(),
        Err(error) => format!("{error:#}"),
    }
}
