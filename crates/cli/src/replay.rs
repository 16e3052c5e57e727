//! `weaver replay`: runs recorded steps through the same kernel that the gateway uses.

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
    Approver, MAX_LINE_BYTES, ReplayError, ReplaySetup, Scenario, ScenarioRunner, Summary,
};

/// The principal when neither the arguments nor the policy name one.
const DEFAULT_PRINCIPAL: &str = "owner";

pub(super) fn run(args: &Replay) -> Result<Exit, Failure> {
    let (documents, origin) = load(args)?;
    let name = args.scenarios.display().to_string();
    let mut lines =
        LineReader::open(&args.scenarios).map_err(|error| unreadable_scenarios(&name, &error))?;
    let mut out = BufWriter::new(io::stdout().lock());
    let (mut summary, mut invalid_lines) = (Summary::default(), 0_u64);
    let mut history = args.history.as_deref().map(HistoryFile::create).transpose()?;
    while let Some(line) =
        lines.line(MAX_LINE_BYTES).map_err(|error| unreadable_scenarios(&name, &error))?
    {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let number = lines.number();
        let outcome = match Scenario::parse(&line) {
            Ok(scenario) => {
                let mut outputs =
                    ReplayOutputs { summary: &mut summary, out: &mut out, history: &mut history };
                replay_scenario(args, &documents, &scenario, number, &mut outputs)
            }
            Err(problem) => Err(Interruption::Scenario {
                code: "replay.scenario",
                message: problem.to_string(),
            }),
        };
        match outcome {
            Ok(()) => {}
            Err(Interruption::Scenario { code, message }) => {
                invalid_lines += 1;
                let error = json!({ "code": code, "message": message });
                writeln!(out, "{}", json!({ "line": number, "error": error }))?;
            }
            Err(Interruption::Replay(failure)) => return Err(failure),
        }
        if !lines.never_waits() {
            out.flush()?;
        }
    }
    out.flush()?;
    let text = match args.output.json {
        true => summary.to_json(origin).to_string(),
        false => summary.to_text(origin),
    };
    // If this fails, there is nowhere left to report it.
    let _ = writeln!(io::stderr(), "{text}");
    if invalid_lines == 0 { Ok(Exit::Ok) } else { Err(invalid_scenarios(invalid_lines)) }
}

/// Why a scenario was not replayed to its end.
enum Interruption {
    /// A fault of the scenario. The others are replayed.
    Scenario { code: &'static str, message: String },
    /// The replay cannot go on.
    Replay(Failure),
}

impl From<Failure> for Interruption {
    fn from(failure: Failure) -> Self {
        Self::Replay(failure)
    }
}

impl From<io::Error> for Interruption {
    fn from(error: io::Error) -> Self {
        Self::Replay(error.into())
    }
}

impl From<ReplayError> for Interruption {
    fn from(error: ReplayError) -> Self {
        if matches!(error, ReplayError::Standing { .. }) {
            let failure = Failure::new(Exit::Invalid, error.code(), error);
            let next = "see what the policy allows under `approvals.standing`";
            return Self::Replay(failure.with_next_step(next));
        }
        Self::Scenario { code: error.code(), message: error.to_string() }
    }
}

fn replay_scenario(
    args: &Replay,
    setup: &ReplaySetup,
    scenario: &Scenario,
    number: u64,
    outputs: &mut ReplayOutputs<'_, impl io::Write>,
) -> Result<(), Interruption> {
    let mut runner = ScenarioRunner::open(setup, scenario, number)?;
    let ReplayOutputs { summary, out, history } = outputs;
    summary.scenarios += 1;
    for (number, step) in scenario.steps.iter().enumerate() {
        if args.restarts && number > 0 {
            runner = runner.reopened()?;
        }
        let mut line = runner.run_step(number, step)?;
        summary.count(line.verdict, line.micros.unwrap_or_default());
        if !args.micros {
            line.micros = None;
        }
        serde_json::to_writer(&mut **out, &line).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    if let Some(history) = history {
        history.add(&runner.events()?)?;
    }
    Ok(())
}

/// Where a replay writes its results.
struct ReplayOutputs<'o, W> {
    summary: &'o mut Summary,
    out: &'o mut W,
    history: &'o mut Option<HistoryFile>,
}

/// The documents, with approvers who can release everything, and the principal who calls.
fn load(args: &Replay) -> Result<(ReplaySetup, &'static str), Failure> {
    let now = SystemClock::default().now();
    let keyless = documents::load_files(&args.policy, &args.contracts, None, now)?;
    let policy = keyless.set.policy();
    let random = |error| Failure::new(Exit::Internal, "replay.random", error);
    let approver = Approver::new(policy, &OsRandom).map_err(random)?;
    let keys = approver.keys_document(policy);
    let set = documents::load_with_keys(&args.policy, &args.contracts, &keys, now)?;
    let id = match &args.principal {
        Some(id) => id.clone(),
        None => single_principal(set.policy().principals.keys())
            .unwrap_or_else(|| DEFAULT_PRINCIPAL.to_owned()),
    };
    let id = PrincipalId::parse(&id)
        .map_err(|error| Failure::new(Exit::Usage, "replay.principal", error))?;
    let principal = set.principal(&id).unwrap_or_else(|| Principal::new(id));
    let standing_approvals = match &args.approvals {
        Some(folder) => approvals::read_terms(folder, now)?,
        None => Vec::new(),
    };
    let mut schemas = BTreeMap::new();
    let tools = args.tools.as_deref().map(tool_list::read).transpose()?;
    for tool in tools.iter().flatten() {
        if let Some(schema) = ToolDescription::from_json(tool).input {
            schemas.insert(tool_list::capability_id(None, tool)?, schema.clone());
        }
    }
    let origin = documents::origin_name(&set);
    let (has_user_text, reopens_each_step) = (!args.no_user_words, args.restarts);
    let set = Arc::new(set);
    let setup = ReplaySetup {
        set,
        schemas,
        approver,
        standing_approvals,
        principal,
        has_user_text,
        reopens_each_step,
        now,
    };
    Ok((setup, origin))
}

/// The only item, if there is exactly one.
fn single_principal<'a>(mut all: impl Iterator<Item = &'a PrincipalId>) -> Option<String> {
    let first = all.next()?;
    all.next().is_none().then(|| first.to_string())
}

fn unreadable_scenarios(name: &str, error: &io::Error) -> Failure {
    let message = format!("{name}: the scenarios cannot be read: {error}");
    Failure::new(Exit::Invalid, "replay.unreadable", message).with_next_step("name a file, or `-`")
}

fn invalid_scenarios(invalid_lines: u64) -> Failure {
    let what = if invalid_lines == 1 {
        "1 line is not a scenario".to_owned()
    } else {
        format!("{invalid_lines} lines are not scenarios")
    };
    Failure::new(Exit::Invalid, "replay.scenarios", format!("{what} that can be replayed"))
        .with_next_step("see `error` in their answers, and `weaver replay --help` for the form")
}
