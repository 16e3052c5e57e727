//! `weaver update`, and `weaver init` for an existing gateway: adds what is new.

use std::path::Path;

use serde_json::json;
use weaver_gateway::config::UpstreamSettings;
use weaver_gateway::secret::KeyFile;
use weaver_gateway::setup::{GatewayUpdate, Posture, Selection, ServerChanges, UsedNames};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock};

use super::answers::Answers;
use super::args::{Init, Update as Args};
use super::found_servers::ProjectServers;
use super::{found_servers, list_within, questions, report, secrets, table};
use crate::output::OutputFormat;
use crate::policy::signing::with_key_hint;
use crate::shared_args::{ConfigArg, JsonFlag, PassphraseArgs};
use crate::{Exit, Failure, config_path, output};

/// `weaver init` for an existing gateway.
pub(super) fn update_existing(args: &Init, dir: &Path) -> Result<Exit, Failure> {
    let update = Args {
        servers: Vec::new(),
        config: ConfigArg::of(&dir.join("weaver.toml")),
        from: args.from.clone(),
        project: args.project,
        yes: args.yes || args.answers.is_some(),
        secrets: args.secrets.clone(),
        key: None,
        timeout: args.timeout,
        accept: Vec::new(),
        passphrase: PassphraseArgs { passphrase_fd: args.passphrase.passphrase_fd },
        output: JsonFlag { json: args.output.json },
    };
    output::stderr(&format!("{} is there already: taking in what is new\n", dir.display()));
    if let Some(word) = &args.posture {
        require_posture(&dir.join("weaver.toml"), super::parse_posture(word)?)?;
    }
    let answers = args.answers.as_deref().map(Answers::read).transpose()?.unwrap_or_default();
    let answers_file = args.answers.as_deref();
    apply_update(
        &update,
        &UpdateExclusions { answers, answers_file, leave_secrets: args.leave_secrets },
    )
}

/// Fails if another posture is asked for than that of the policy in force, which stays.
fn require_posture(file: &Path, posture: Posture) -> Result<(), Failure> {
    let update = GatewayUpdate::open(file, SystemClock::default().now())?;
    let current = update.posture();
    if current == posture {
        return Ok(());
    }
    let message = format!(
        "the policy that is there is `{}`, and stays so: --posture is for a new gateway",
        current.as_str()
    );
    Err(Failure::new(Exit::Usage, "init.posture_kept", message)
        .with_next_step(format!("`weaver posture {}` changes it", posture.as_str())))
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    apply_update(args, &UpdateExclusions::default())
}

/// What stays out although it is new.
#[derive(Default)]
struct UpdateExclusions<'a> {
    answers: Answers,
    /// Where the answers come from.
    answers_file: Option<&'a Path>,
    leave_secrets: bool,
}

fn apply_update(args: &Args, exclusions: &UpdateExclusions<'_>) -> Result<Exit, Failure> {
    let place = secrets::parse(args.secrets.as_deref())?.unwrap_or_default();
    let file = config_path::absolute(&args.config.resolve()?)?;
    let now = SystemClock::default().now();
    let update = GatewayUpdate::open(&file, now)?;
    // Before the servers are started, which may take minutes.
    if !args.yes && !args.output.json && !questions::has_terminal() {
        output::stderr("there is no terminal to ask on: this only shows what is new\n");
    }
    let files = update.unknown_servers(found_servers::client_files(&args.from)?);
    let of_project = ProjectServers::new(args.project, !args.yes && !args.output.json);
    let files = of_project.filter(files)?;
    let taken = UsedNames { servers: update.server_names(), variables: update.variables() };
    let mut selection = found_servers::select(&files, &taken);
    for name in &exclusions.answers.leave {
        selection.skip_server(name, "your answers leave it where it is");
    }
    if exclusions.leave_secrets {
        selection = selection.without_secrets();
    }
    output::stderr(&found_servers::found_text(&files, &selection));
    output::stderr(&found_servers::tool_filter_text(&selection));
    let mut servers = update.listing_servers(&selection)?;
    if !args.servers.is_empty() {
        refuse_unknown_servers(&args.servers, &servers)?;
        let is_named = |name: &str| args.servers.iter().any(|named| named == name);
        selection.keep_servers(is_named);
        servers.retain(|one| is_named(one.name.as_str()));
    }
    output::stderr(&format!("starting {} …\n", output::counted(servers.len(), "server")));
    let listed = list_within(update.config(), &servers, args.timeout)?;
    let changes = update.changes(listed, &servers, &selection, &args.accept).map_err(|error| {
        Failure::new(Exit::NotFound, "init.unknown_tool", error)
            .with_next_step("`weaver contracts list` shows what the servers list")
    })?;
    let is_taken_in = |id: &String| changes.new_tools.keys().any(|new| new.as_str() == id);
    for id in args.accept.iter().filter(|id| !is_taken_in(id)) {
        let (server, tool) = id.split_once('.').unwrap_or(("kernel", id));
        output::stderr(&format!(
            "{}: {id} has a contract already; `weaver contracts approve {server} {tool}` approves what it says \
             now, unless a rule of the policy denies it\n",
            output::bold("note")
        ));
    }
    for (name, problem) in &changes.unreachable {
        selection.skip_server(name.as_str(), &format!("{}{problem}", report::DID_NOT_START));
    }
    let report =
        UpdateReport { config: &file, selection: &selection, changes: &changes, is_signed: false };
    output::stderr(&report.text());
    let is_new = |id: &str| changes.new_tools.keys().any(|one| one.as_str() == id);
    if let Some(path) = exclusions.answers_file {
        exclusions.answers.refuse_new_tools(path, is_new)?;
    }
    let nothing_new = selection.servers.is_empty() && changes.new_tools.is_empty();
    // With JSON and without `--yes`, only prints what it would do.
    if nothing_new || args.output.json && !args.yes {
        return report.print(args.output.format());
    }
    if !args.yes {
        if !questions::has_terminal() {
            let message = "there is no terminal to ask on";
            return Err(Failure::new(Exit::Usage, "init.no_terminal", message)
                .with_next_step("take in what is new with `--yes`"));
        }
        questions::confirm("Take this in?")?;
    }
    let key = args.key.clone().unwrap_or_else(|| update.root_key());
    let key_file = KeyFile::read(&key).map_err(|error| with_key_hint(&key, error.into()))?;
    let key = args.passphrase.unlock(&key, &key_file)?;
    secrets::store(place, &mut selection);
    let report =
        UpdateReport { config: &file, selection: &selection, changes: &changes, is_signed: true };
    update.apply(&selection, &changes, &key, now)?;
    report.print(args.output.format())
}

/// Fails if a name is neither that of a server nor that of one that was found.
fn refuse_unknown_servers(names: &[String], servers: &[UpstreamSettings]) -> Result<(), Failure> {
    let is_known = |name: &String| servers.iter().any(|one| one.name.as_str() == name);
    match names.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let message =
                format!("there is no server `{}`, and none was found", escape::line(name));
            let known: Vec<&str> = servers.iter().map(|one| one.name.as_str()).collect();
            Err(Failure::new(Exit::NotFound, "init.unknown_server", message)
                .with_next_step(format!("name one of: {}", known.join(", "))))
        }
    }
}

/// A client still starts a new server itself.
const CONNECT_AGAIN: &str =
    "next: weaver connect   puts new servers of clients behind it; until then clients start them\n";

/// The longest reason for a doubt, in characters.
const MAX_DOUBT_CHARS: usize = 400;

/// What an update found.
struct UpdateReport<'a> {
    config: &'a Path,
    selection: &'a Selection,
    changes: &'a ServerChanges,
    /// Whether the changes were applied and signed.
    is_signed: bool,
}

impl UpdateReport<'_> {
    fn text(&self) -> String {
        let mut out = String::new();
        for server in &self.selection.servers {
            out.push_str(&format!("{} server {}\n", output::good("new"), server.name));
        }
        for (id, proposal) in &self.changes.new_tools {
            let why = proposal.reasons.get("effects").map_or("", String::as_str);
            let why = output::dim(&escape::shorten(why, 90));
            let effect = table::effect(proposal);
            let permission = if self.changes.held.contains(id) { "ask  " } else { "allow" };
            out.push_str(&format!(
                "{} tool {id}  {permission}  {effect}  {why}\n",
                output::good("new")
            ));
        }
        for id in &self.changes.changed_tools {
            let more = match self.changes.raised_effects.contains(id) {
                true => ", and its description speaks of more than its contract allows",
                false => "",
            };
            out.push_str(&format!(
                "{} tool {id}: it is not what was signed, and is refused{more}; look at it with \
                 `weaver contracts diff`, then `weaver contracts approve`\n",
                output::bad("changed")
            ));
        }
        for id in &self.changes.suspicious {
            // The server's name keeps the others from being started.
            let server = id.as_str().split('.').next().unwrap_or_default();
            let doubt = self.changes.doubts.get(id).map_or("", String::as_str);
            out.push_str(&format!(
                "{} tool {id}: {}; it stays hidden until you take it in: weaver update {server} --accept {id}\n",
                output::bad("waits"),
                escape::shorten(doubt, MAX_DOUBT_CHARS)
            ));
        }
        for id in &self.changes.missing_tools {
            out.push_str(&format!(
                "{} tool {id}: its server does not list it any more\n",
                output::bold("gone")
            ));
        }
        for (name, problem) in &self.changes.unreachable {
            out.push_str(&format!("{}: {name}: {}\n", output::bold("away"), escape::line(problem)));
        }
        for problem in &self.changes.problems {
            out.push_str(&format!("{}: {}\n", output::bold("left out"), escape::line(problem)));
        }
        out
    }

    fn print(&self, format: OutputFormat) -> Result<Exit, Failure> {
        let Self { config, selection, changes, is_signed } = self;
        let exit = if changes.changed_tools.is_empty() { Exit::Ok } else { Exit::Failed };
        let servers: Vec<&str> = selection.servers.iter().map(|one| one.name.as_str()).collect();
        if format == OutputFormat::Json {
            output::json(&json!({
                "config": config.display().to_string(),
                "servers": servers,
                "signed": is_signed,
                "tools": changes.new_tools.keys().collect::<Vec<_>>(),
                "changed": changes.changed_tools,
                "raised": changes.raised_effects,
                "suspicious": changes.suspicious,
                "missing": changes.missing_tools,
                "away": changes.unreachable.iter().map(|(name, why)| (name.as_str(), why)).collect::<std::collections::BTreeMap<_, _>>(),
            }))?;
            return Ok(exit);
        }
        let (servers, tools) = (servers.len(), changes.new_tools.len());
        let good = output::good("ok");
        let text = match (servers, tools) {
            (0, 0) => format!("{good}: nothing new\n"),
            (servers, tools) => format!(
                "{good}: {} and {}, signed; a running gateway takes them in by itself\n{}",
                output::counted(servers, "new server"),
                output::counted(tools, "new tool"),
                if servers == 0 { "" } else { CONNECT_AGAIN },
            ),
        };
        output::text(&format!("{text}{}", self.left_out_text()))?;
        Ok(exit)
    }

    /// Which servers did not answer, and how they are taken in once they do.
    fn left_out_text(&self) -> String {
        let names: Vec<&str> = self.changes.unreachable.keys().map(|name| name.as_str()).collect();
        if names.is_empty() {
            return String::new();
        }
        let more_time =
            report::more_time(self.changes.unreachable.values().map(|why| why.as_str()));
        format!(
            "{}: {} did not answer; once they do: weaver update {}{more_time}\n",
            output::bold("left out"),
            escape::line(&names.join(", ")),
            escape::line(&names.join(" "))
        )
    }
}
