//! `weaver update`, and `weaver init` where a gateway is there: takes in what is new.

use std::path::Path;

use serde_json::json;
use weaver_gateway::secret::{KeyFile, Passphrase};
use weaver_gateway::setup::{Changes, Selection, TakenNames, Update};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock};

use super::answers::Answers;
use super::args::{Init, Update as Args};
use super::{ask, found_servers, questions, secrets};
use crate::output::OutputFormat;
use crate::policy::signing::with_key_hint;
use crate::shared_args::{Json, PassphraseFrom};
use crate::{Exit, Failure, config_path, output};

/// `weaver init` on a gateway that is there.
pub(super) fn again(args: &Init, dir: &Path) -> Result<Exit, Failure> {
    let update = Args {
        config: Some(dir.join("weaver.toml")),
        from: args.from.clone(),
        yes: args.yes || args.answers.is_some(),
        secrets: args.secrets.clone(),
        key: None,
        timeout: args.timeout,
        passphrase: PassphraseFrom { passphrase_fd: args.passphrase.passphrase_fd },
        output: Json { json: args.output.json },
    };
    output::aside(&format!("{} is there already: taking in what is new\n", dir.display()));
    let answers = args.answers.as_deref().map(Answers::read).transpose()?.unwrap_or_default();
    let answers_file = args.answers.as_deref();
    take_in(&update, &Reservations { answers, answers_file, leave_secrets: args.leave_secrets })
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    take_in(args, &Reservations::default())
}

/// What is not taken in although it is new.
#[derive(Default)]
struct Reservations<'a> {
    answers: Answers,
    /// Where the answers come from.
    answers_file: Option<&'a Path>,
    leave_secrets: bool,
}

fn take_in(args: &Args, reservations: &Reservations<'_>) -> Result<Exit, Failure> {
    let place = secrets::parse(args.secrets.as_deref())?.unwrap_or_default();
    let file = config_path::absolute(args.config.as_deref())?;
    let now = SystemClock::default().now();
    let update = Update::open(&file, now)?;
    let files = update.unknown_servers(found_servers::files(&args.from)?);
    let taken = TakenNames { servers: update.names(), variables: update.variables() };
    let mut selection = found_servers::selection(&files, &taken);
    for name in &reservations.answers.leave {
        selection.leave_out(name, "your answers leave it where it is");
    }
    if reservations.leave_secrets {
        selection = selection.without_secrets();
    }
    output::aside(&found_servers::told(&files, &selection));
    let servers = update.listing_servers(&selection)?;
    output::aside(&format!("starting {} servers …\n", servers.len()));
    let changes = update.changes(ask(update.config(), &servers, args.timeout)?);
    for (name, problem) in &changes.away {
        selection.leave_out(name.as_str(), &format!("it did not start: {problem}"));
    }
    let report =
        UpdateReport { config: &file, selection: &selection, changes: &changes, is_signed: false };
    output::aside(&report.text());
    let is_new = |id: &str| changes.new.keys().any(|one| one.as_str() == id);
    if let Some(path) = reservations.answers_file {
        reservations.answers.refuse_new_tools(path, is_new)?;
    }
    let nothing_new = selection.servers.is_empty() && changes.new.is_empty();
    // JSON alone says what it would do, and nothing is written.
    if nothing_new || args.output.json && !args.yes {
        return report.print(args.output.format());
    }
    if !args.yes {
        if !questions::has_terminal() {
            let message = "there is no terminal to ask on";
            return Err(Failure::new(Exit::Usage, "init.no_terminal", message)
                .next("take in what is new with `--yes`"));
        }
        questions::yes("Take this in?")?;
    }
    let key = args.key.clone().unwrap_or_else(|| update.root_key());
    let key_file = KeyFile::read(&key).map_err(|error| with_key_hint(&key, error.into()))?;
    let passphrase = match args.passphrase.passphrase_fd {
        Some(fd) => Passphrase::from_descriptor(fd)?,
        None => Passphrase::ask(&format!("Passphrase of {}: ", key.display()))?,
    };
    let key = key_file.open(&passphrase)?;
    secrets::store(place, &mut selection);
    let report =
        UpdateReport { config: &file, selection: &selection, changes: &changes, is_signed: true };
    update.apply(&selection, &changes, &key, now)?;
    report.print(args.output.format())
}

/// What an update found.
struct UpdateReport<'a> {
    config: &'a Path,
    selection: &'a Selection,
    changes: &'a Changes,
    /// Whether it is taken in and signed.
    is_signed: bool,
}

impl UpdateReport<'_> {
    fn text(&self) -> String {
        let mut out = String::new();
        for server in &self.selection.servers {
            out.push_str(&format!("{} server {}\n", output::good("new"), server.name));
        }
        for (id, proposal) in &self.changes.new {
            let why = proposal.reasons.get("effects").map_or("", String::as_str);
            let why = output::dim(&escape::shorten(why, 90));
            out.push_str(&format!("{} tool {id}  {why}\n", output::good("new")));
        }
        for id in &self.changes.changed {
            let more = match self.changes.raised.contains(id) {
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
            out.push_str(&format!(
                "{} tool {id}: its description gives the model instructions, so it gets no contract; look at it with \
                 `weaver contracts diff`\n",
                output::bad("waits")
            ));
        }
        for id in &self.changes.missing {
            out.push_str(&format!(
                "{} tool {id}: its server does not list it any more\n",
                output::bold("gone")
            ));
        }
        for (name, problem) in &self.changes.away {
            out.push_str(&format!("{}: {name}: {}\n", output::bold("away"), escape::line(problem)));
        }
        for problem in &self.changes.problems {
            out.push_str(&format!("{}: {}\n", output::bold("left out"), escape::line(problem)));
        }
        out
    }

    fn print(&self, format: OutputFormat) -> Result<Exit, Failure> {
        let Self { config, selection, changes, is_signed } = self;
        let exit = if changes.changed.is_empty() { Exit::Ok } else { Exit::Failed };
        let servers: Vec<&str> = selection.servers.iter().map(|one| one.name.as_str()).collect();
        if format == OutputFormat::Json {
            output::json(&json!({
                "config": config.display().to_string(),
                "servers": servers,
                "signed": is_signed,
                "tools": changes.new.keys().collect::<Vec<_>>(),
                "changed": changes.changed,
                "raised": changes.raised,
                "suspicious": changes.suspicious,
                "missing": changes.missing,
                "away": changes.away.iter().map(|(name, why)| (name.as_str(), why)).collect::<std::collections::BTreeMap<_, _>>(),
            }))?;
            return Ok(exit);
        }
        let (servers, tools) = (servers.len(), changes.new.len());
        let good = output::good("ok");
        let text = match (servers, tools) {
            (0, 0) => format!("{good}: nothing new\n"),
            (servers, tools) => format!(
                "{good}: {servers} new servers and {tools} new tools, signed; a running gateway takes new \
                 tools in by itself, new servers when its client starts it again\n"
            ),
        };
        output::text(&text)?;
        Ok(exit)
    }
}
