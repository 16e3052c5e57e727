//! A task: what an ordinary agent is asked to do, as a script that sees only what is shown.

use anyhow::Result;

use super::agent::Agent;

/// Under which contracts a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contracts {
    /// No tool is tagged: secrets are masked, personal data is not.
    Plain,
    /// Files and notes are tagged as personal data.
    Personal,
}

/// Does the work; an error says which fact was not shown or which call failed.
pub type Script = fn(&mut Agent<'_>) -> Result<()>;

/// One task.
#[derive(Clone, Copy)]
pub struct Task {
    pub name: &'static str,
    pub contracts: Contracts,
    /// Tasks of one group share their sessions.
    pub group: &'static str,
    pub script: Script,
}

/// A group of tasks under the plain contracts.
pub fn group(group: &'static str, tasks: &[(&'static str, Script)]) -> Vec<Task> {
    let task = |&(name, script): &(_, _)| Task { name, contracts: Contracts::Plain, group, script };
    tasks.iter().map(task).collect()
}
