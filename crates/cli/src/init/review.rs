//! `weaver review`: goes back to the review of tools that a gateway has.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Value, json};
use weaver_gateway::config::UpstreamSettings;
use weaver_gateway::secret::KeyFile;
use weaver_gateway::setup::{GatewayUpdate, ToolChoice, ToolReview};
use weaver_text::escape;
use weaver_types::{CapabilityId, Clock as _, SystemClock};

use super::{list_within, questions, table};
use crate::policy::signing::{SigningArgs, with_key_hint};
use crate::shared_args::{ConfigArg, JsonFlag};
use crate::{Exit, Failure, config_path, output};

const WORDS: &str = "allow, ask, deny, reads, fetches, writes, proposed";

#[derive(Debug, Args)]
pub(crate) struct Review {
    /// A server, or a tool as `SERVER.TOOL`; without a name, all
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Choose without a question: `SERVER.TOOL=WORD`; the words are allow, ask, deny, reads,
    /// fetches, writes and proposed
    #[arg(long, value_name = "CHOICE", value_parser = parse_choice)]
    set: Vec<(String, ToolChoice)>,
    /// How long one server may take [default: 60]
    #[arg(long, value_name = "SECONDS", default_value_t = 60, hide_default_value = true,
        value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    sign: SigningArgs,
    #[command(flatten)]
    output: JsonFlag,
}

fn parse_choice(text: &str) -> Result<(String, ToolChoice), String> {
    let (id, word) = text.split_once('=').ok_or("write SERVER.TOOL=WORD")?;
    let choice = ToolChoice::parse(word).ok_or_else(|| format!("write one of {WORDS}"))?;
    Ok((id.to_owned(), choice))
}

pub(crate) fn run(args: &Review) -> Result<Exit, Failure> {
    let file = config_path::absolute(&args.config.resolve()?)?;
    let now = SystemClock::default().now();
    let update = GatewayUpdate::open(&file, now)?;
    let key = args.sign.key.clone().unwrap_or_else(|| update.root_key());
    let servers = wanted_servers(args, &update)?;
    output::stderr(&format!("starting {} …\n", output::counted(servers.len(), "server")));
    let listed = list_within(update.config(), &servers, args.timeout)?;
    let mut review = ToolReview::new(update, listed, &servers);
    let is_named = |id: &CapabilityId| {
        args.names.is_empty()
            || args.names.iter().any(|name| {
                let server = id.as_str().split('.').next().unwrap_or_default();
                name == id.as_str() || name == server
            })
    };
    review.retain(|id| is_named(id) || args.set.iter().any(|(set, _)| set == id.as_str()));
    output::stderr(&notes(&review));
    refuse_unlisted(args, &review)?;
    for (id, choice) in &args.set {
        review.choose(id, *choice).map_err(|error| refused_choice(&error))?;
    }
    if args.set.is_empty() {
        if args.output.json {
            return print_rows(&review);
        }
        if !questions::has_terminal() {
            output::text(&table::present_table(&review))?;
            let message = "there is no terminal to ask on";
            return Err(Failure::new(Exit::Usage, "review.no_terminal", message)
                .with_next_step(format!("choose with `--set SERVER.TOOL=WORD`: {WORDS}")));
        }
        questions::review_again(&mut review)?;
    }
    if review.chosen().next().is_none() {
        output::text("nothing was chosen\n")?;
        return Ok(Exit::Ok);
    }
    if !args.output.json {
        output::text(&changes_text(&review))?;
    }
    if !args.sign.yes && args.set.is_empty() {
        questions::confirm("Sign this?")?;
    }
    let key_file = KeyFile::read(&key).map_err(|error| with_key_hint(&key, error.into()))?;
    let key = args.sign.passphrase.unlock(&key, &key_file)?;
    review.apply(&key, now)?;
    if args.output.json {
        return print_rows(&review);
    }
    let many = output::counted(review.chosen().count(), "tool");
    output::text(&format!(
        "{}: {many} reviewed and signed; a running gateway takes that in by itself\n",
        output::good("ok")
    ))?;
    Ok(Exit::Ok)
}

/// The servers of the tools that are looked at.
fn wanted_servers(args: &Review, update: &GatewayUpdate) -> Result<Vec<UpstreamSettings>, Failure> {
    let server_of = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let named = args.names.iter().chain(args.set.iter().map(|(id, _)| id));
    let named: BTreeSet<String> = named.map(|name| server_of(name)).collect();
    let all = &update.config().upstreams;
    if named.is_empty() {
        return Ok(all.clone());
    }
    if let Some(name) = named.iter().find(|name| all.iter().all(|one| one.name.as_str() != **name))
    {
        let message = format!("there is no server `{}`", escape::line(name));
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        return Err(Failure::new(Exit::NotFound, "review.unknown_server", message)
            .with_next_step(format!("name one of: {}", names.join(", "))));
    }
    Ok(all.iter().filter(|one| named.contains(one.name.as_str())).cloned().collect())
}

/// Fails if a tool that was named is not listed.
fn refuse_unlisted(args: &Review, review: &ToolReview) -> Result<(), Failure> {
    let is_listed = |name: &str| review.review().rows().iter().any(|row| row.id.as_str() == name);
    let named = args.names.iter().filter(|name| name.contains('.'));
    let mut named = named.chain(args.set.iter().map(|(id, _)| id));
    match named.find(|name| !is_listed(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("no server lists a tool `{}`", escape::line(name));
            Err(Failure::new(Exit::NotFound, "review.unknown_tool", message)
                .with_next_step("`weaver review SERVER` shows the tools of a server"))
        }
    }
}

fn refused_choice(error: &weaver_gateway::setup::ReviewError) -> Failure {
    Failure::new(Exit::Usage, "review.choice", error)
}

/// What could not be reviewed.
fn notes(review: &ToolReview) -> String {
    let away = review.unreachable.iter();
    let away = away.map(|(name, problem)| ("away", format!("{name}: {problem}")));
    let unusable = review.problems.iter().map(|problem| ("left out", problem.clone()));
    away.chain(unusable)
        .map(|(word, text)| format!("{}: {}\n", output::bold(word), escape::line(&text)))
        .collect()
}

/// What the choices change.
fn changes_text(review: &ToolReview) -> String {
    let mut out = String::new();
    for row in review.chosen() {
        let before = review.present(&row.id).map(table::present_text).unwrap_or_default();
        out.push_str(&format!(
            "{}: {before} → {}\n",
            output::bold(row.id.as_str()),
            table::proposed_text(row)
        ));
    }
    out
}

/// Prints the tools as JSON.
fn print_rows(review: &ToolReview) -> Result<Exit, Failure> {
    let chosen: BTreeSet<&CapabilityId> = review.chosen().map(|row| &row.id).collect();
    let rows = review.review().rows().iter().map(|row| -> Value {
        let present = review.present(&row.id);
        let class = present.and_then(|present| present.class);
        json!({
            "id": row.id,
            "permission": present.map(|present| present.permission.as_str()),
            "effect": class.map(|(effects, sink)| table::effect_text(effects, sink)),
            "changed": present.is_some_and(|present| present.is_changed),
            "proposed": {
                "permission": row.permission.as_str(),
                "effect": table::effect(&row.proposal),
                "reason": row.proposal.reasons.get("effects"),
            },
            "doubt": row.doubt,
            "chosen": chosen.contains(&row.id),
        })
    });
    output::json(&json!({ "tools": rows.collect::<Vec<_>>() }))?;
    Ok(Exit::Ok)
}
