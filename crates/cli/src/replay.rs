//! `weaver replay`: recorded steps through the real gate.

mod approvals;
pub(super) mod args;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write as _};
use std::sync::Arc;

use serde_json::json;
use weaver_policy_analysis::propose::ToolDescription;
use weaver_types::{Clock as _, OsRandom, Principal, PrincipalId, SystemClock};

use super::line_reader::LineReader;
use super::policy::documents;
use super::policy::history::HistoryFile;
use super::{Exit, Failure, tool_list};
use args::Replay;
use weaver_gateway::replay::{
    Approver, Documents, MAX_LINE, ReplayError, Scenario, Stage, Summary,
};

/// Who calls where nothing else is said.
const OWNER: &str = "owner";

pub(super) fn run(args: &Replay) -> Result<Exit, Failure> {
    let (documents, origin) = load(args)?;
    let name = args.scenarios.display().to_string();
    let mut lines = LineReader::open(&args.scenarios).map_err(|error| unreadable(&name, &error))?;
    let mut out = BufWriter::new(io::stdout().lock());
    let (mut summary, mut wrong) = (Summary::default(), 0_u64);
    let mut history = args.history.as_deref().map(HistoryFile::create).transpose()?;
    while let Some(line) = lines.line(MAX_LINE).map_err(|error| unreadable(&name, &error))? {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let number = lines.number();
        let played = match Scenario::parse(&line) {
            Ok(scenario) => {
                let mut outputs =
                    Outputs { summary: &mut summary, out: &mut out, history: &mut history };
                play(args, &documents, &scenario, number, &mut outputs)?
            }
            Err(problem) => Err(("replay.scenario", problem.to_string())),
        };
        if let Err((code, message)) = played {
            wrong += 1;
            let error = json!({ "code": code, "message": message });
            writeln!(out, "{}", json!({ "line": number, "error": error }))?;
        }
        if !lines.more_at_hand() {
            out.flush()?;
        }
    }
    out.flush()?;
    let text = match args.output.json {
        true => summary.json(origin).to_string(),
        false => summary.words(origin),
    };
    // There is nowhere left to say that this failed.
    let _ = writeln!(io::stderr(), "{text}");
    if wrong == 0 { Ok(Exit::Ok) } else { Err(invalid(wrong)) }
}

/// Plays one scenario; what is wrong with it is the inner error.
fn play(
    args: &Replay,
    documents: &Documents,
    scenario: &Scenario,
    number: u64,
    outputs: &mut Outputs<'_, impl io::Write>,
) -> Result<Result<(), (&'static str, String)>, Failure> {
    let mut stage = match Stage::open(documents, scenario, number) {
        Ok(stage) => stage,
        Err(error @ ReplayError::Standing { .. }) => {
            let failure = Failure::new(Exit::Invalid, error.code(), error);
            return Err(failure.next("see what the policy allows under `approvals.standing`"));
        }
        Err(error) => return Ok(Err((error.code(), error.to_string()))),
    };
    let Outputs { summary, out, history } = outputs;
    summary.scenarios += 1;
    for (number, step) in scenario.steps.iter().enumerate() {
        if args.restarts && number > 0 {
            stage = match stage.restarted() {
                Ok(stage) => stage,
                Err(error) => return Ok(Err((error.code(), error.to_string()))),
            };
        }
        let mut line = stage.play(number, step);
        summary.count(line.verdict, line.micros.unwrap_or_default());
        if !args.micros {
            line.micros = None;
        }
        serde_json::to_writer(&mut **out, &line).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    if let Some(history) = history {
        match stage.events() {
            Ok(events) => history.add(&events)?,
            Err(error) => return Ok(Err((error.code(), error.to_string()))),
        }
    }
    Ok(Ok(()))
}

/// Where a replay writes to.
struct Outputs<'o, W> {
    summary: &'o mut Summary,
    out: &'o mut W,
    history: &'o mut Option<HistoryFile>,
}

/// The documents with people who can release everything, and who calls.
fn load(args: &Replay) -> Result<(Documents, &'static str), Failure> {
    let now = SystemClock::default().now();
    let keyless = documents::files(&args.policy, &args.contracts, None, now)?;
    let policy = keyless.set.policy();
    let random = |error| Failure::new(Exit::Internal, "replay.random", error);
    let approver = Approver::new(policy, &OsRandom).map_err(random)?;
    let keys = approver.document(policy);
    let set = documents::with_keys(&args.policy, &args.contracts, &keys, now)?;
    let id = match &args.principal {
        Some(id) => id.clone(),
        None => only(set.policy().principals.keys()).unwrap_or_else(|| OWNER.to_owned()),
    };
    let id = PrincipalId::parse(&id)
        .map_err(|error| Failure::new(Exit::Usage, "replay.principal", error))?;
    let principal = set.principal(&id).unwrap_or_else(|| Principal::new(id));
    let standings = match &args.approvals {
        Some(folder) => approvals::read(folder, now)?,
        None => Vec::new(),
    };
    let mut schemas = BTreeMap::new();
    let tools = args.tools.as_deref().map(tool_list::read).transpose()?;
    for tool in tools.iter().flatten() {
        if let Some(schema) = ToolDescription::of(tool).input {
            schemas.insert(tool_list::id(None, tool)?, schema.clone());
        }
    }
    let origin = documents::origin(&set);
    let (user_words, restarts) = (!args.no_user_words, args.restarts);
    let set = Arc::new(set);
    let documents =
        Documents { set, schemas, approver, standings, principal, user_words, restarts, now };
    Ok((documents, origin))
}

/// The one that there is.
fn only<'a>(mut all: impl Iterator<Item = &'a PrincipalId>) -> Option<String> {
    let first = all.next()?;
    all.next().is_none().then(|| first.to_string())
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let message = format!("{name}: the scenarios cannot be read: {error}");
    Failure::new(Exit::Invalid, "replay.unreadable", message).next("name a file, or `-`")
}

fn invalid(wrong: u64) -> Failure {
    let what = if wrong == 1 {
        "1 line is no scenario".to_owned()
    } else {
        format!("{wrong} lines are no scenarios")
    };
    Failure::new(Exit::Invalid, "replay.scenarios", format!("{what} that can be replayed"))
        .next("see `error` in their answers, and `weaver replay --help` for the form")
}
