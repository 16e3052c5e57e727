//! The configuration of a program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use weaver_types::Millicents;

use super::TemplateError;
use super::command_template::CommandTemplate;
use crate::child_config::ChildConfinement;

/// How a program is called, and its limits.
#[derive(Clone)]
pub struct ProcessConfig {
    /// The program: a path, or a name looked up in `PATH`.
    pub command: String,
    /// Its arguments. An item `{name}` is replaced by that argument of the call; `{name?}` is
    /// omitted if the argument is absent; `{name...}` becomes one item for each entry of a list.
    /// Other items are passed unchanged; a leading `{{` stands for `{`.
    pub args: Vec<String>,
    /// The argument of the call that becomes the program's standard input; empty without one.
    pub stdin: Option<String>,
    /// Variables added to the few that a child inherits. Not shown in `Debug`.
    pub env: BTreeMap<String, String>,
    /// Its working directory; `None` means ours.
    pub cwd: Option<PathBuf>,
    /// The format of its output.
    pub output: OutputForm,
    /// Most bytes of output that are kept; the rest is discarded and reported as truncated.
    pub output_bytes: usize,
    /// The exit codes that mean success.
    pub success: BTreeSet<i32>,
    /// Its confinement; `None` gives it the rights of this process.
    pub confinement: Option<ChildConfinement>,
    /// The price of one call: nothing by default.
    pub price: Millicents,
}

/// The format of a program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputForm {
    /// Text, or bytes if it is not UTF-8.
    #[default]
    Text,
    /// One JSON value; anything else is a failure.
    Json,
}

impl ProcessConfig {
    /// A program without arguments: text output of at most 1 MiB, success with exit code 0.
    #[must_use]
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            stdin: None,
            env: BTreeMap::new(),
            cwd: None,
            output: OutputForm::default(),
            output_bytes: 1024 * 1024,
            success: BTreeSet::from([0]),
            confinement: None,
            price: Millicents(0),
        }
    }

    /// Checks that a driver can be made from it.
    ///
    /// # Errors
    /// [`TemplateError`], if an argument template is invalid.
    pub fn check(&self) -> Result<(), TemplateError> {
        self.template().map(|_| ())
    }

    pub(super) fn template(&self) -> Result<CommandTemplate, TemplateError> {
        if self.command.is_empty() {
            return Err(TemplateError::NoProgram);
        }
        CommandTemplate::parse(&self.args, self.stdin.as_deref())
    }

    /// Sets the arguments.
    #[must_use]
    pub fn with_args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }
}

impl fmt::Debug for ProcessConfig {
    /// Variable values may be secrets, so only names are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessConfig")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &self.env.keys())
            .field("cwd", &self.cwd)
            .field("confined", &self.confinement.is_some())
            .finish_non_exhaustive()
    }
}
