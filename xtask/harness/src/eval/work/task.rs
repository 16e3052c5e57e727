//! A task: what an agent is commonly asked to do, as a script that sees only what is shown.

use anyhow::Result;

use super::agent::Agent;

/// The contracts of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contracts {
    /// No tool is tagged: secrets are masked, personal data is not.
    Plain,
    /// Files and notes are tagged as personal data.
    Personal,
}

/// Does the work; an error names the fact that was not shown or the call that failed.
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

/// A group of tasks with the plain contracts.
pub fn group(group: &'static str, tasks: &[(&'static str, Script)]) -> Vec<Task> {
    let task = |&(name, script): &(_, _)| Task { name, contracts: Contracts::Plain, group, script };
    tasks.iter().map(task).collect()
}
