//! Runs tasks with each tool access, each in a fresh environment, and compares the states they
//! leave.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::agent::{Agent, Cost};
use super::environment::{self, TaskEnvironment};
use super::session::{Session, Setting, ToolAccess};
use super::state::{self, State};
use super::task::{Contracts, Task};
use crate::counterparts::cache::Cache;
use crate::counterparts::trust::Trust;

/// The signed documents for both kinds of tasks.
pub struct TaskDocuments {
    pub plain: Trust,
    pub personal: Trust,
}

/// What a run needs.
pub struct TaskRunner<'a> {
    pub cache: &'a Cache,
    pub weaver: &'a std::path::Path,
    pub documents: TaskDocuments,
    pub template: TaskEnvironment,
    pub environment: TaskEnvironment,
    /// Where the environments of finished tasks are kept.
    pub kept: Option<PathBuf>,
}

/// One task with one tool access.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub access: ToolAccess,
    /// Why the task is not done, if it is not.
    pub failure: Option<String>,
    pub cost: Cost,
    /// What differs from the state after direct access.
    pub differences: Vec<String>,
}

impl Outcome {
    /// All facts were shown, and the state is as after direct access.
    pub fn is_done(&self) -> bool {
        self.failure.is_none() && self.differences.is_empty()
    }
}

/// One task with each tool access, direct access first.
#[derive(Clone, Debug)]
pub struct TaskResult {
    pub name: &'static str,
    pub outcomes: Vec<Outcome>,
}

impl TaskRunner<'_> {
    /// Runs all tasks.
    pub fn run(&self, tasks: &[Task], accesses: &[ToolAccess]) -> Result<Vec<TaskResult>> {
        let mut results = Vec::new();
        for group in tasks.chunk_by(|a, b| a.group == b.group) {
            let mut of_group: Vec<TaskResult> = Vec::new();
            let mut direct: Vec<State> = Vec::new();
            for &access in accesses {
                let runs = self.run_group(group, access)?;
                for (at, (mut outcome, state)) in runs.into_iter().enumerate() {
                    if let Some(before) = direct.get(at).filter(|_| access != ToolAccess::Direct) {
                        outcome.differences = state::differences(before, &state);
                    } else {
                        let Some(task) = group.get(at) else { continue };
                        of_group.push(TaskResult { name: task.name, outcomes: Vec::new() });
                        direct.push(state);
                    }
                    if let Some(result) = of_group.get_mut(at) {
                        result.outcomes.push(outcome);
                    }
                }
            }
            results.extend(of_group);
        }
        Ok(results)
    }

    fn run_group(&self, tasks: &[Task], access: ToolAccess) -> Result<Vec<(Outcome, State)>> {
        let Some(first) = tasks.first() else { return Ok(Vec::new()) };
        let trust = match first.contracts {
            Contracts::Plain => &self.documents.plain,
            Contracts::Personal => &self.documents.personal,
        };
        self.environment.reset(&self.template)?;
        let folder = self.cache.run().join(format!("{}-{}", first.group, access.name()));
        let (cache, weaver, environment) = (self.cache, self.weaver, &self.environment);
        let setting = Setting { cache, weaver, trust, environment, folder: &folder };
        let mut session = Session::open(&setting, access)
            .with_context(|| format!("{} way, see {}", access.name(), folder.display()))?;
        eprintln!("{} ({} tasks), {}", first.group, tasks.len(), access.name());
        let runs = tasks.iter().map(|task| self.run_task(task, &mut session)).collect();
        session.close()?;
        runs
    }

    fn run_task(&self, task: &Task, session: &mut Session) -> Result<(Outcome, State)> {
        self.environment.reset(&self.template)?;
        let access = session.access;
        let mut agent = Agent::new(session, &self.environment);
        let done = (task.script)(&mut agent);
        let failure = done.err().map(|error| {
            let shown = agent.last.beginning();
            eprintln!(
                "FAIL: {}, {}: {error:#}\n--- shown last:\n{shown}\n---",
                task.name,
                access.name()
            );
            format!("{error:#}")
        });
        let outcome = Outcome { access, failure, cost: agent.cost, differences: Vec::new() };
        let state = state::capture(self.cache, &self.environment)?;
        if let Some(kept) = &self.kept {
            let kept = kept.join(task.name).join(access.name());
            for (from, name) in
                [(&self.environment.files, "files"), (&self.environment.data, "data")]
            {
                fs::create_dir_all(kept.join(name))?;
                environment::copy_folder(from, &kept.join(name))?;
            }
        }
        Ok((outcome, state))
    }
}
