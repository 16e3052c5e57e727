//! The agent of a task: it calls tools and sees what a model would see, whatever the tool access.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::environment::TaskEnvironment;
use super::session::{Session, ToolAccess};
use super::shown_result::{self, ShownResult};
use super::tokens;

/// The most further views of one result before the agent gives up.
const MAX_VIEWS: usize = 40;
/// The most text of `tool_browse` that an agent keeps.
const MAX_BROWSED_BYTES: usize = 256 * 1024;

/// What a task took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Tool calls and further views.
    pub calls: usize,
    /// Tokens of their results.
    pub result_tokens: usize,
    /// Calls that search for tools.
    pub discovery_calls: usize,
    /// Tokens of tool lists and tool descriptions.
    pub list_tokens: usize,
}

/// An agent with one task.
pub struct Agent<'a> {
    session: &'a mut Session,
    pub environment: &'a TaskEnvironment,
    pub cost: Cost,
    /// The last result, to report a failure.
    pub last: ShownResult,
    browsed: String,
    /// The progress of the last call.
    pub progress: usize,
}

impl<'a> Agent<'a> {
    /// An agent that knows only the tools of the session's list.
    pub fn new(session: &'a mut Session, environment: &'a TaskEnvironment) -> Self {
        let cost = Cost { list_tokens: session.list_tokens, ..Cost::default() };
        let (last, browsed) = (ShownResult::default(), String::new());
        Self { session, environment, cost, last, browsed, progress: 0 }
    }

    /// Calls a tool by `server.tool`.
    ///
    /// # Errors
    /// If the tool is not found or the connection breaks. An error of the tool itself is shown.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<ShownResult> {
        match self.session.access {
            ToolAccess::Direct => self.call_by_name(tool, &arguments),
            ToolAccess::Proxy => self.call_by_name(&tool.replacen('.', "__", 1), &arguments),
            ToolAccess::Gateway => {
                self.discover(tool, &arguments)?;
                let request = json!({ "capability": tool, "arguments": arguments });
                self.call_by_name("tool_execute", &request)
            }
        }
    }

    /// Follows the views that a result offers until the fact is shown. `words` are what a reader
    /// who does not know the fact would search for.
    pub fn find(&mut self, shown: &mut ShownResult, words: &str, fact: &str) -> Result<()> {
        let mut before = None;
        for _ in 0..MAX_VIEWS {
            if shown.shows(fact) {
                return Ok(());
            }
            let Some(next) = shown_result::next_call(&shown.next, words) else { break };
            // The same view again shows the same.
            if before.as_ref() == Some(&next) {
                break;
            }
            let more = self.call_by_name("tool_view", &next)?;
            shown.add(more);
            before = Some(next);
        }
        self.expect_shown(shown, fact)
    }

    /// Fails unless the result shows the fact.
    pub fn expect_shown(&mut self, shown: &ShownResult, fact: &str) -> Result<()> {
        if !shown.shows(fact) {
            self.last = shown.clone();
            bail!("not shown: `{fact}`");
        }
        Ok(())
    }

    /// Calls a tool that must succeed and show all the facts.
    pub fn call_and_expect(
        &mut self,
        tool: &str,
        arguments: Value,
        facts: &[&str],
    ) -> Result<ShownResult> {
        let shown = self.call(tool, arguments)?;
        ensure!(!shown.is_error, "`{tool}` failed");
        for fact in facts {
            self.expect_shown(&shown, fact)?;
        }
        Ok(shown)
    }

    /// The same, for a result of which nothing else is used.
    pub fn expect(&mut self, tool: &str, arguments: Value, facts: &[&str]) -> Result<()> {
        self.call_and_expect(tool, arguments, facts).map(drop)
    }

    /// Calls a tool that must fail and show all the facts.
    pub fn call_expecting_error(
        &mut self,
        tool: &str,
        arguments: Value,
        facts: &[&str],
    ) -> Result<()> {
        let shown = self.call(tool, arguments)?;
        ensure!(shown.is_error, "`{tool}` should have failed");
        facts.iter().try_for_each(|fact| self.expect_shown(&shown, fact))
    }

    /// The line with these words, as shown.
    pub fn line(&mut self, shown: &ShownResult, words: &str) -> Result<String> {
        self.last = shown.clone();
        let line = shown.line(words).with_context(|| format!("no line with `{words}` shown"))?;
        Ok(line.to_owned())
    }

    /// The text between two others, as shown.
    pub fn between(&mut self, shown: &ShownResult, before: &str, after: &str) -> Result<String> {
        self.last = shown.clone();
        let text = shown.between(before, after);
        Ok(text.with_context(|| format!("nothing shown behind `{before}`"))?.to_owned())
    }

    /// Replaces a text in a file of the task.
    pub fn edit(&mut self, file: &str, old: &str, new: &str) -> Result<ShownResult> {
        let edits = json!([{ "oldText": old, "newText": new }]);
        let path = self.environment.file(file);
        self.call_and_expect("filesystem.edit_file", json!({ "path": path, "edits": edits }), &[])
    }

    /// Reads a file of the task.
    pub fn read(&mut self, file: &str) -> Result<ShownResult> {
        let path = self.environment.file(file);
        self.call_and_expect("filesystem.read_text_file", json!({ "path": path }), &[])
    }

    /// Browses until the tool's id and the names of these arguments were shown.
    fn discover(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        let name = tool.split('.').next_back().unwrap_or(tool);
        let goal = name.replace(['_', '-'], " ");
        for request in [json!({ "query": goal }), json!({})] {
            if tool_description(&self.browsed, tool).is_some() {
                break;
            }
            self.browse(&request)?;
        }
        let found = tool_description(&self.browsed, tool);
        let found = found.with_context(|| format!("tool_browse does not show `{tool}`"))?;
        let mut names = arguments.as_object().into_iter().flat_map(|all| all.keys());
        let names_shown = names.all(|name| found.contains(name.as_str()));
        let schema = format!("schema of {tool}\n");
        if !names_shown && !self.browsed.contains(&schema) {
            self.browse(&json!({ "capability": tool }))?;
            self.browsed.push_str(&schema);
        }
        Ok(())
    }

    fn browse(&mut self, request: &Value) -> Result<()> {
        let answer = self.session.call("tool_browse", request)?;
        self.cost.discovery_calls += 1;
        if let Ok(result) = &answer.body {
            self.cost.list_tokens += tokens::of_result(result)?;
        }
        for text in ShownResult::from_answer(&answer).texts {
            ensure!(
                self.browsed.len() + text.len() <= MAX_BROWSED_BYTES,
                "tool_browse shows too much"
            );
            self.browsed.push_str(&text);
            self.browsed.push('\n');
        }
        Ok(())
    }

    fn call_by_name(&mut self, name: &str, arguments: &Value) -> Result<ShownResult> {
        let answer = self.session.call(name, arguments)?;
        self.cost.calls += 1;
        self.progress = answer.progress;
        self.cost.result_tokens += match &answer.body {
            Ok(result) => tokens::of_result(result)?,
            Err(error) => tokens::of_text(error["message"].as_str().unwrap_or_default())?,
        };
        let shown = ShownResult::from_answer(&answer);
        self.last = shown.clone();
        Ok(shown)
    }
}

/// What was shown of a tool: the rest of the line after its id, or of its entry in a list.
fn tool_description<'a>(browsed: &'a str, tool: &str) -> Option<&'a str> {
    browsed.match_indices(tool).find_map(|(at, _)| {
        let rest = browsed.get(at + tool.len()..)?;
        // `git.git_diff` is not found in `git.git_diff_staged`.
        let whole =
            !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        let line = rest.lines().next().unwrap_or_default();
        whole.then(|| line.split("},{").next().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn environment() -> TaskEnvironment {
        TaskEnvironment { files: PathBuf::new(), data: PathBuf::new(), web: String::new() }
    }

    #[test]
    fn a_fact_that_is_not_shown_fails_the_task_and_is_named() {
        let (mut session, environment) =
            (Session::without_connections(ToolAccess::Gateway), environment());
        let mut agent = Agent::new(&mut session, &environment);
        let mut shown =
            ShownResult { texts: vec!["port = 8443".to_owned()], ..ShownResult::default() };
        assert!(agent.expect_shown(&shown, "8443").is_ok());
        assert!(agent.find(&mut shown, "port", "8443").is_ok());
        for failed in
            [agent.expect_shown(&shown, "workers"), agent.find(&mut shown, "workers", "workers")]
        {
            assert!(failed.unwrap_err().to_string().contains("not shown: `workers`"));
        }
        assert!(agent.last.shows("8443"));
        assert!(agent.line(&shown, "workers").is_err());
        assert!(agent.between(&shown, "port = ", ";").is_err());
    }

    #[test]
    fn a_tool_is_not_found_in_one_with_a_longer_name() {
        let browsed = "git.git_diff_staged(repo_path)\ngit.git_diff(repo_path, target) Shows\n";
        assert_eq!(tool_description(browsed, "git.git_diff"), Some("(repo_path, target) Shows"));
        assert_eq!(tool_description(browsed, "git.git"), None);
    }
}
