//! Runs tasks in every way, each on a fresh place, and compares what they left.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::agent::{Agent, Cost};
use super::place::{self, Place};
use super::session::{Session, Setting, ToolAccess};
use super::state::{self, State};
use super::task::{Contracts, Task};
use crate::counterparts::cache::Cache;
use crate::counterparts::trust::Trust;

/// The signed documents for both kinds of tasks.
pub struct Trusts {
    pub plain: Trust,
    pub personal: Trust,
}

/// Everything that a run needs.
pub struct Measure<'a> {
    pub cache: &'a Cache,
    pub weaver: &'a std::path::Path,
    pub trusts: Trusts,
    pub template: Place,
    pub place: Place,
    /// Where the places of finished tasks are kept.
    pub kept: Option<PathBuf>,
}

/// One task in one way.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub way: ToolAccess,
    /// Why the task is not done, and the beginning of what was shown last.
    pub failure: Option<String>,
    pub cost: Cost,
    /// What is not as the direct way left it.
    pub differences: Vec<String>,
}

impl Outcome {
    /// All facts were shown and everything is as after the direct way.
    pub fn is_done(&self) -> bool {
        self.failure.is_none() && self.differences.is_empty()
    }
}

/// One task in all ways, the direct one first.
#[derive(Clone, Debug)]
pub struct TaskResult {
    pub name: &'static str,
    pub outcomes: Vec<Outcome>,
}

impl Measure<'_> {
    /// Runs all tasks.
    pub fn run(&self, tasks: &[Task], ways: &[ToolAccess]) -> Result<Vec<TaskResult>> {
        let mut results = Vec::new();
        for group in tasks.chunk_by(|a, b| a.group == b.group) {
            let mut of_group: Vec<TaskResult> = Vec::new();
            let mut direct: Vec<State> = Vec::new();
            for &way in ways {
                let runs = self.group(group, way)?;
                for (at, (mut outcome, state)) in runs.into_iter().enumerate() {
                    if let Some(before) = direct.get(at).filter(|_| way != ToolAccess::Direct) {
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

    fn group(&self, tasks: &[Task], way: ToolAccess) -> Result<Vec<(Outcome, State)>> {
        let Some(first) = tasks.first() else { return Ok(Vec::new()) };
        let trust = match first.contracts {
            Contracts::Plain => &self.trusts.plain,
            Contracts::Personal => &self.trusts.personal,
        };
        self.place.reset(&self.template)?;
        let folder = self.cache.run().join(format!("{}-{}", first.group, way.name()));
        let (cache, weaver, place) = (self.cache, self.weaver, &self.place);
        let setting = Setting { cache, weaver, trust, place, folder: &folder };
        let mut session = Session::open(&setting, way)
            .with_context(|| format!("{} way, see {}", way.name(), folder.display()))?;
        eprintln!("{} ({} tasks), {}", first.group, tasks.len(), way.name());
        let runs = tasks.iter().map(|task| self.task(task, &mut session)).collect();
        session.close()?;
        runs
    }

    fn task(&self, task: &Task, session: &mut Session) -> Result<(Outcome, State)> {
        self.place.reset(&self.template)?;
        let way = session.way;
        let mut agent = Agent::new(session, &self.place);
        let done = (task.script)(&mut agent);
        let failure = done.err().map(|error| {
            let shown = agent.last.beginning();
            eprintln!(
                "FAIL: {}, {}: {error:#}\n--- shown last:\n{shown}\n---",
                task.name,
                way.name()
            );
            format!("{error:#}")
        });
        let outcome = Outcome { way, failure, cost: agent.cost, differences: Vec::new() };
        let state = state::of(self.cache, &self.place)?;
        if let Some(kept) = &self.kept {
            let kept = kept.join(task.name).join(way.name());
            for (from, name) in [(&self.place.files, "files"), (&self.place.data, "data")] {
                fs::create_dir_all(kept.join(name))?;
                place::copy(from, &kept.join(name))?;
            }
        }
        Ok((outcome, state))
    }
}
