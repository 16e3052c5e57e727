//! Each protocol feature of the reference server, tried directly and through the gateway in both
//! modes: what works directly has to work through the gateway.

mod peer;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use self::peer::{ELICITED, Peer, ROOT, SAMPLED, TIMEOUT};
use super::config::{self, Upstream};
use super::http::ListeningProcess;
use super::plan::{Mode, Plan, Transport};
use super::report::Outcome;
use super::trial::TrialSetup;
use crate::conformance::gateway::free_port;
use crate::counterparts::gateway;

const RESOURCE: &str = "demo://resource/dynamic/text/1";
/// The text of the server's resource.
const RESOURCE_TEXT: &str = "Resource 1: This is a plaintext resource";

/// How the server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The gateway's mode; `None` without gateway.
    pub mode: Option<Mode>,
    /// The transport of both sides.
    pub transport: Transport,
}

/// All routes, in the order of the columns.
pub const ROUTES: [Route; 6] = [
    Route { mode: None, transport: Transport::Stdio },
    Route { mode: Some(Mode::Gateway), transport: Transport::Stdio },
    Route { mode: Some(Mode::Proxy), transport: Transport::Stdio },
    Route { mode: None, transport: Transport::Http },
    Route { mode: Some(Mode::Gateway), transport: Transport::Http },
    Route { mode: Some(Mode::Proxy), transport: Transport::Http },
];

impl Route {
    /// The name of its column.
    pub fn name(self) -> &'static str {
        match (self.transport, self.mode) {
            (Transport::Stdio, None) => "direct",
            (Transport::Stdio, Some(Mode::Gateway)) => "gateway",
            (Transport::Stdio, Some(Mode::Proxy)) => "proxy",
            (Transport::Http, None) => "direct, HTTP",
            (Transport::Http, Some(Mode::Gateway)) => "gateway, HTTP",
            (Transport::Http, Some(Mode::Proxy)) => "proxy, HTTP",
        }
    }
}

/// One feature, and its test.
pub struct Feature {
    pub name: &'static str,
    attempt: fn(&mut Peer) -> Result<()>,
}

/// The features, in the order of the rows.
pub const FEATURES: [Feature; 12] = [
    Feature { name: "resources", attempt: resources },
    Feature { name: "resource templates", attempt: templates },
    Feature { name: "subscriptions", attempt: subscriptions },
    Feature { name: "prompts", attempt: prompts },
    Feature { name: "completion", attempt: completion },
    Feature { name: "progress", attempt: progress },
    Feature { name: "cancellation", attempt: cancellation },
    Feature { name: "logging", attempt: logging },
    Feature { name: "elicitation", attempt: elicitation },
    Feature { name: "sampling", attempt: sampling },
    Feature { name: "roots", attempt: roots },
    Feature { name: "ping", attempt: ping },
];

/// Tries all features on one route, each with its own server, so that none depends on another.
pub fn run(setup: &TrialSetup<'_>, plan: &Plan, route: Route) -> Vec<Outcome> {
    let folder = setup.cache.run().join(format!("features-{}", route.name().replace(", ", "-")));
    let outcome = |feature: &Feature| {
        let folder = folder.join(feature.name.replace(' ', "-"));
        match attempt(setup, plan, &AttemptSite { route, folder: &folder }, feature) {
            Ok(()) => Outcome::Passed,
            Err(error) => Outcome::Failed(format!("{error:#}; see {}", folder.display())),
        }
    };
    FEATURES.iter().map(outcome).collect()
}

/// The route and the folder of one attempt.
struct AttemptSite<'a> {
    route: Route,
    folder: &'a Path,
}

fn attempt(
    setup: &TrialSetup<'_>,
    plan: &Plan,
    site: &AttemptSite<'_>,
    feature: &Feature,
) -> Result<()> {
    plan.server.prepare(&site.folder.join("files"))?;
    let through = site.route.mode.filter(|mode| *mode == Mode::Gateway).map(|_| plan.server);
    match site.route.transport {
        Transport::Stdio => over_stdio(setup, plan, site, |command| {
            Peer::open(command, through).and_then(|mut peer| (feature.attempt)(&mut peer))
        }),
        Transport::Http => over_http(setup, plan, site, |command| {
            Peer::open(command, through).and_then(|mut peer| (feature.attempt)(&mut peer))
        }),
    }
}

/// Tries with the command of a server, or of a gateway in front of it.
fn over_stdio(
    setup: &TrialSetup<'_>,
    plan: &Plan,
    site: &AttemptSite<'_>,
    attempt: impl FnOnce(&mut Command) -> Result<()>,
) -> Result<()> {
    let files = site.folder.join("files");
    let server = plan.server.command(setup.cache, &files);
    let words = if site.route.mode.is_none() {
        server
    } else {
        let file = site.folder.join("weaver.toml");
        let upstream = Upstream::Command { words: &server, env: &plan.server.env(&files) };
        fs::write(&file, config::config_text(setup.trust, plan, &upstream, None))?;
        gateway::serve_words(setup.weaver, &file)
    };
    let (program, arguments) = words.split_first().context("an empty command line")?;
    let mut command = setup.cache.command(program);
    command.args(arguments).current_dir(site.folder);
    command.stderr(fs::File::create(site.folder.join("stderr.log"))?);
    let tried = attempt(&mut command);
    if site.route.mode.is_some() {
        gateway::stop(setup.weaver, &site.folder.join("weaver.toml"));
    }
    tried
}

/// Tries with a listening server, or with a listening gateway in front of it.
fn over_http(
    setup: &TrialSetup<'_>,
    plan: &Plan,
    site: &AttemptSite<'_>,
    attempt: impl FnOnce(&mut Command) -> Result<()>,
) -> Result<()> {
    let server = ListeningProcess::server(setup.cache, plan.server, site.folder)?;
    let gateway = if site.route.mode.is_some() {
        let (file, port) = (site.folder.join("weaver.toml"), free_port()?);
        let upstream = Upstream::Url(&server.url);
        fs::write(&file, config::config_text(setup.trust, plan, &upstream, Some(port)))?;
        Some(ListeningProcess::gateway(setup.cache, setup.weaver, &file, port)?)
    } else {
        None
    };
    let mut command = gateway.as_ref().unwrap_or(&server).pipe(setup.cache);
    command.current_dir(site.folder);
    command.stderr(fs::File::create(site.folder.join("stderr.log"))?);
    attempt(&mut command)
}

fn ensure_contains(value: &Value, part: &str) -> Result<()> {
    ensure!(value.to_string().contains(part), "no `{part}` in {value}");
    Ok(())
}

fn resources(peer: &mut Peer) -> Result<()> {
    let listed = peer.ask("resources/list", json!({}))?;
    let all = listed["resources"].as_array().context("no list")?;
    ensure!(!all.is_empty(), "no resources: {listed}");
    for resource in all {
        let read = peer.ask("resources/read", json!({ "uri": resource["uri"] }))?;
        let content = &read["contents"][0];
        ensure!(content["text"].is_string() || content["blob"].is_string(), "nothing in {read}");
    }
    ensure_contains(&peer.ask("resources/read", json!({ "uri": RESOURCE }))?, RESOURCE_TEXT)
}

fn templates(peer: &mut Peer) -> Result<()> {
    let listed = peer.ask("resources/templates/list", json!({}))?;
    ensure_contains(&listed, "demo://resource/dynamic/text/{resourceId}")?;
    ensure_contains(&listed, "demo://resource/dynamic/blob/{resourceId}")
}

fn subscriptions(peer: &mut Peer) -> Result<()> {
    peer.ask("resources/subscribe", json!({ "uri": RESOURCE }))?;
    peer.call("toggle-subscriber-updates", json!({}))?;
    let told = peer.notification("notifications/resources/updated")?;
    ensure!(told["uri"] == RESOURCE, "another resource: {told}");
    peer.ask("resources/unsubscribe", json!({ "uri": RESOURCE })).map(drop)
}

/// The listed name of a prompt: its own, or prefixed with its server.
fn prompt(peer: &mut Peer, name: &str) -> Result<String> {
    let listed = peer.ask("prompts/list", json!({}))?;
    let names = listed["prompts"].as_array().context("no list")?.iter();
    let mut names = names.filter_map(|prompt| prompt["name"].as_str());
    let suffix = format!("__{name}");
    let found = names.find(|listed| *listed == name || listed.ends_with(&suffix));
    Ok(found.with_context(|| format!("no `{name}` in {listed}"))?.to_owned())
}

fn prompts(peer: &mut Peer) -> Result<()> {
    prompt(peer, "completable-prompt")?;
    let simple = prompt(peer, "simple-prompt")?;
    let simple = peer.ask("prompts/get", json!({ "name": simple }))?;
    ensure_contains(&simple, "This is a simple prompt without arguments.")?;
    let name = prompt(peer, "args-prompt")?;
    let arguments = json!({ "name": name, "arguments": { "city": "Lyon" } });
    ensure_contains(&peer.ask("prompts/get", arguments)?, "weather in Lyon")
}

fn completion(peer: &mut Peer) -> Result<()> {
    let name = prompt(peer, "completable-prompt")?;
    let reference = json!({ "type": "ref/prompt", "name": name });
    let argument = json!({ "name": "department", "value": "S" });
    let found =
        peer.ask("completion/complete", json!({ "ref": reference, "argument": argument }))?;
    let values = &found["completion"]["values"];
    ensure!(*values == json!(["Sales", "Support"]), "other values: {found}");
    let argument = json!({ "name": "name", "value": "" });
    let context = json!({ "arguments": { "department": "Sales" } });
    let request = json!({ "ref": reference, "argument": argument, "context": context });
    let found = peer.ask("completion/complete", request)?;
    let values = &found["completion"]["values"];
    ensure!(*values == json!(["David", "Eve", "Frank"]), "without its context: {found}");
    Ok(())
}

fn progress(peer: &mut Peer) -> Result<()> {
    let arguments = json!({ "duration": 1, "steps": 4 });
    let id = peer.send_call("trigger-long-running-operation", arguments, Some("p"))?;
    let result = peer.result(id)?;
    ensure_contains(&result, "Long running operation completed")?;
    let told = peer.notifications("notifications/progress");
    let steps: Vec<&Value> = told.iter().map(|params| &params["progress"]).collect();
    let rising = steps.windows(2).all(|pair| pair[0].as_f64() < pair[1].as_f64());
    ensure!(steps.len() == 4 && rising, "the progress is {steps:?}");
    ensure!(told.iter().all(|params| params["progressToken"] == "p"), "another token: {told:?}");
    Ok(())
}

fn cancellation(peer: &mut Peer) -> Result<()> {
    let arguments = json!({ "duration": 2, "steps": 4 });
    let id = peer.send_call("trigger-long-running-operation", arguments, Some("c"))?;
    peer.notification("notifications/progress")?;
    peer.notify(
        "notifications/cancelled",
        json!({ "requestId": id, "reason": "no longer needed" }),
    )?;
    // A later request is answered only after the cancelled one would have been, so its answer would
    // have arrived by now.
    let echoed = json!({ "duration": 3, "steps": 1 });
    let second = peer.send_call("trigger-long-running-operation", echoed, None)?;
    ensure_contains(&peer.result(second)?, "Duration: 3 seconds")?;
    ensure!(!peer.has_answered(id), "the cancelled request was answered");
    Ok(())
}

fn logging(peer: &mut Peer) -> Result<()> {
    peer.ask("logging/setLevel", json!({ "level": "debug" }))?;
    peer.call("toggle-simulated-logging", json!({}))?;
    let told = peer.notification("notifications/message")?;
    ensure!(told["level"].is_string() && told["data"].is_string(), "no message: {told}");
    Ok(())
}

fn elicitation(peer: &mut Peer) -> Result<()> {
    let result = peer.call("trigger-elicitation-request", json!({}))?;
    ensure!(peer.has_received_request("elicitation/create"), "nobody was asked: {result}");
    ensure_contains(&result, ELICITED)
}

fn sampling(peer: &mut Peer) -> Result<()> {
    let arguments = json!({ "prompt": "say a word", "maxTokens": 20 });
    let result = peer.call("trigger-sampling-request", arguments)?;
    ensure!(peer.has_received_request("sampling/createMessage"), "nobody was asked: {result}");
    ensure_contains(&result, SAMPLED)
}

/// The server requests the roots by itself, a while after its start.
fn roots(peer: &mut Peer) -> Result<()> {
    let until = Instant::now() + TIMEOUT;
    let mut result = peer.call("get-roots-list", json!({}))?;
    while !result.to_string().contains(ROOT) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(200));
        result = peer.call("get-roots-list", json!({}))?;
    }
    ensure!(peer.has_received_request("roots/list"), "nobody was asked: {result}");
    ensure_contains(&result, ROOT)
}

fn ping(peer: &mut Peer) -> Result<()> {
    peer.ask("ping", json!({})).map(drop)
}
