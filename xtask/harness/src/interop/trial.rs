//! One trial: a server, the gateway and a client, step by step.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::client::Client;
use super::config::{self, Upstream};
use super::http::ListeningProcess;
use super::plan::{Era, Mode, Plan, Transport};
use super::report::{self, Outcome, Row};
use super::server::Call;
use super::tap;
use crate::conformance::gateway::free_port;
use crate::counterparts::cache::Cache;
use crate::counterparts::gateway;
use crate::counterparts::trust::Trust;

const GATEWAY_TOOLS: [&str; 3] = ["tool_browse", "tool_execute", "tool_view"];

/// What all trials share.
pub struct TrialSetup<'a> {
    pub cache: &'a Cache,
    pub weaver: &'a Path,
    pub trust: &'a Trust,
}

/// Tries one pair.
pub fn run(setup: &TrialSetup<'_>, plan: &Plan) -> Row {
    let mut row = Row::new(plan);
    let folder = setup.cache.run().join(plan.folder());
    let mut trial = match Trial::open(setup, plan, &folder) {
        Ok(trial) => trial,
        Err(error) => {
            for step in report::steps(plan) {
                row.set(
                    step,
                    Outcome::Failed(format!("not started: {error:#}; see {}", folder.display())),
                );
            }
            return row;
        }
    };
    for step in report::steps(plan) {
        row.set(
            step,
            match trial.step(step) {
                Ok(()) => Outcome::Passed,
                Err(error) => Outcome::Failed(format!("{error:#}; see {}", folder.display())),
            },
        );
    }
    trial.stop();
    row
}

struct Trial<'a> {
    setup: &'a TrialSetup<'a>,
    plan: &'a Plan,
    folder: PathBuf,
    client: Client,
    /// The listening processes: the gateway is stopped before its server.
    _listening: Vec<ListeningProcess>,
}

impl<'a> Trial<'a> {
    fn open(setup: &'a TrialSetup<'a>, plan: &'a Plan, folder: &Path) -> Result<Self> {
        let files = folder.join("files");
        plan.server.prepare(&files)?;
        let file = folder.join("weaver.toml");
        let mut listening = Vec::new();
        let port = (plan.front == Transport::Http).then(free_port).transpose()?;
        if plan.back == Transport::Http {
            let server = ListeningProcess::server(setup.cache, plan.server, folder)?;
            fs::write(
                &file,
                config::config_text(setup.trust, plan, &Upstream::Url(&server.url), port),
            )?;
            listening.push(server);
        } else {
            let server = plan.server.command(setup.cache, &files);
            let modern_only = plan.upstream == Era::Modern;
            let words =
                tap::tapped_command(setup.cache, &folder.join("server.era"), modern_only, server);
            let upstream = Upstream::Command { words: &words, env: &plan.server.env(&files) };
            fs::write(&file, config::config_text(setup.trust, plan, &upstream, port))?;
        }
        let client = if let Some(port) = port {
            let gateway = ListeningProcess::gateway(setup.cache, setup.weaver, &file, port)?;
            let client = Client::over_http(setup.cache, plan.client, &gateway, folder)?;
            listening.insert(0, gateway);
            client
        } else {
            let serve = gateway::serve_words(setup.weaver, &file);
            let serve = tap::tapped_command(setup.cache, &folder.join("client.era"), false, serve);
            Client::start(setup.cache, plan.client, &serve, folder)?
        };
        Ok(Self { setup, plan, folder: folder.to_owned(), client, _listening: listening })
    }

    /// Stops the daemon that the client left running.
    fn stop(&self) {
        gateway::stop(self.setup.weaver, &self.folder.join("weaver.toml"));
    }

    fn step(&mut self, step: &str) -> Result<()> {
        match step {
            "list" => self.list(),
            "browse" => self.browse(),
            "execute" => self.execute(),
            "view" => self.view(),
            "deny" => {
                self.expect_refused(&self.plan.server.denied, "deny", self.plan.server.reason)
            }
            "hold" => {
                let held = self.plan.server.held.as_ref().context("nothing to hold")?;
                // Where the call was a task, the wait for an answer has ended.
                let waited = self.plan.client.knows_tasks();
                let reason = if waited { "approval_timeout" } else { "approval_required" };
                self.expect_refused(held, "hold", reason)
            }
            "era" => self.eras(),
            "log" => self.log(),
            other => bail!("no step `{other}`"),
        }
    }

    /// The gateway lists its three tools, the proxy the server's own.
    fn list(&mut self) -> Result<()> {
        let tools = self.client.list()?;
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        match self.plan.mode {
            Mode::Gateway => ensure!(names == GATEWAY_TOOLS, "the tools are {names:?}"),
            Mode::Proxy => {
                let own = self.plan.server.read.tool;
                ensure!(names.contains(&own), "no `{own}` among {names:?}");
            }
        }
        for tool in &tools {
            ensure!(tool["inputSchema"]["type"] == "object", "a tool without schema: {tool}");
        }
        Ok(())
    }

    /// The goal finds the tool, and its schema can be retrieved.
    fn browse(&mut self) -> Result<()> {
        let id = self.plan.server.capability(self.plan.server.read.tool);
        let query = json!({ "query": self.plan.server.goal });
        let found = self.call("tool_browse", &query, false)?;
        let listed = found["content"][0]["text"].as_str().unwrap_or_default();
        let names = |line: &str| line.starts_with(id.as_str());
        ensure!(listed.lines().any(names), "`{id}` not found: {found}");
        ensure!(found["_meta"].get("weaver/missing").is_none(), "a server is away: {found}");
        let found = self.gateway_answer("tool_browse", &json!({ "capability": id }), false)?;
        ensure!(found["inputSchema"]["type"] == "object", "no schema: {found}");
        Ok(())
    }

    /// The harmless read is allowed, and its result is delivered as the server's own blocks.
    fn execute(&mut self) -> Result<()> {
        let (tool, request) = self.request(&self.plan.server.read, None)?;
        let result = self.call(&tool, &request, false)?;
        let allowed = result["_meta"]["weaver/verdict"] == "allow";
        ensure!(allowed, "not delivered: {result}");
        ensure!(result["_meta"]["weaver/handle"].is_string(), "no handle: {result}");
        let enveloped = result["structuredContent"]["verdict"].is_string();
        ensure!(!enveloped, "a body of the gateway around the result: {result}");
        self.expect_expected_text(&result["content"])
    }

    /// A result kept behind a handle can be viewed.
    fn view(&mut self) -> Result<()> {
        let body = self.invoke(&self.plan.server.read, Some("handle_only"), false)?;
        ensure!(self.expect_expected_text(&body).is_err(), "shown at once: {body}");
        self.view_handle(&body["frame"])
    }

    fn view_handle(&mut self, frame: &Value) -> Result<()> {
        let handle = &frame["handle"]["handle_id"];
        ensure!(handle.is_string(), "no handle: {frame}");
        let result = self.call("tool_view", &json!({ "handle": handle, "limit": 10 }), false)?;
        self.expect_expected_text(&result["content"])
    }

    /// The call is answered with a reason, and nothing changed.
    fn expect_refused(&mut self, call: &Call, verdict: &str, reason: &str) -> Result<()> {
        let before = self.read_witness()?;
        let body = self.invoke(call, None, true)?;
        ensure!(body["verdict"] == verdict, "not {verdict}: {body}");
        ensure!(body["reason"] == reason, "not for {reason}: {body}");
        ensure!(body["message"].is_string(), "no message: {body}");
        let request = body["approval"]["request"].is_string();
        ensure!(request == (verdict == "hold"), "a request for a held call and no other: {body}");
        ensure!(body["obstacles"].as_array().is_some_and(|all| !all.is_empty()), "{body}");
        ensure!(self.read_witness()? == before, "the refused call changed something");
        Ok(())
    }

    /// Both sides spoke the eras of the row.
    fn eras(&mut self) -> Result<()> {
        tap::check_era("the client", &self.folder.join("client.era"), self.plan.client.era)?;
        if self.plan.back == Transport::Http {
            // Nothing stands between the two.
            return Ok(());
        }
        tap::check_era("the server", &self.folder.join("server.era"), self.plan.upstream)
    }

    /// The client disconnects, and the remaining log verifies.
    fn log(&mut self) -> Result<()> {
        self.client.close()?;
        gateway::verify_log(self.setup.cache, self.setup.weaver, &self.folder)
    }

    fn invoke(&mut self, call: &Call, mode: Option<&str>, is_error: bool) -> Result<Value> {
        let (tool, request) = self.request(call, mode)?;
        self.gateway_answer(&tool, &request, is_error)
    }

    /// The tool that makes a call, and its arguments.
    fn request(&self, call: &Call, mode: Option<&str>) -> Result<(String, Value)> {
        let arguments = call.arguments(&self.folder.join("files"))?;
        if self.plan.mode == Mode::Proxy {
            return Ok((call.tool.to_owned(), arguments));
        }
        let capability = self.plan.server.capability(call.tool);
        let mut request = json!({ "capability": capability, "arguments": arguments });
        if let Some(mode) = mode {
            request["mode"] = mode.into();
        }
        Ok(("tool_execute".to_owned(), request))
    }

    /// The result of a call, with the expected `isError`.
    fn call(&mut self, tool: &str, arguments: &Value, is_error: bool) -> Result<Value> {
        let result = self.client.call(tool, arguments)?;
        let flag = result["isError"].as_bool().unwrap_or(false);
        ensure!(flag == is_error, "`isError` should be {is_error}: {result}");
        Ok(result)
    }

    /// The gateway's own answer to a call, from the structured content, which the text must repeat.
    /// A refusal of a tool with an output schema is only in the text.
    fn gateway_answer(&mut self, tool: &str, arguments: &Value, is_error: bool) -> Result<Value> {
        let mut result = self.call(tool, arguments, is_error)?;
        let body = result["structuredContent"].take();
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let said: Value = serde_json::from_str(text).with_context(|| format!("no JSON: {text}"))?;
        let in_text_alone = body.is_null() && is_error && self.plan.mode == Mode::Proxy;
        if in_text_alone {
            let named = result["_meta"]["weaver/verdict"] == said["verdict"];
            ensure!(named, "another verdict in `_meta`: {result}");
        } else {
            ensure!(said == body, "text and structured content differ: `{text}`, {body}");
        }
        Ok(said)
    }

    fn expect_expected_text(&self, frame: &Value) -> Result<()> {
        let expected = self.plan.server.expected;
        ensure!(frame.to_string().contains(expected), "no `{expected}` in {frame}");
        Ok(())
    }

    fn read_witness(&self) -> Result<Option<Vec<u8>>> {
        let Some(name) = self.plan.server.witness else { return Ok(None) };
        let path = self.folder.join("files").join(name);
        fs::read(&path).map(Some).with_context(|| format!("{} is gone", path.display()))
    }
}
