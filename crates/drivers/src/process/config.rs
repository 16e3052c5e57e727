//! The configuration of a program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use weaver_types::Millicents;

use super::TemplateError;
use super::template::Template;
use crate::child_config::ChildConfinement;

/// How a program is called, and the bounds it is held to.
#[derive(Clone)]
pub struct ProcessConfig {
    /// The program: a path, or a name looked up in `PATH`.
    pub command: String,
    /// Its arguments. An item `{name}` is replaced by that argument of the call, `{name?}` is left
    /// out where the call has none, `{name...}` becomes one item for each entry of a list. Any
    /// other item is passed as it is; `{{` at its beginning stands for `{`.
    pub args: Vec<String>,
    /// The argument of the call that becomes the program's standard input; empty without one.
    pub stdin: Option<String>,
    /// Variables added to the few that a child inherits. Not shown in `Debug`.
    pub env: BTreeMap<String, String>,
    /// Its working directory; none means ours.
    pub cwd: Option<PathBuf>,
    /// How its output is read.
    pub output: OutputForm,
    /// Most bytes of its output that are kept; the rest is read and dropped, and that is said.
    pub output_bytes: usize,
    /// The exit codes that mean success.
    pub success: BTreeSet<i32>,
    /// What starts it, and what is kept from it; none means that it has our rights.
    pub confined: Option<ChildConfinement>,
    /// What one call costs: nothing, by default.
    pub price: Millicents,
}

/// How output is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputForm {
    /// As text; as bytes where it is no UTF-8.
    #[default]
    Text,
    /// As one JSON value; a failure where it is none.
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
            confined: None,
            price: Millicents(0),
        }
    }

    /// Whether a driver can be made of it.
    ///
    /// # Errors
    /// [`TemplateError`], when an argument of the template means nothing.
    pub fn check(&self) -> Result<(), TemplateError> {
        self.template().map(|_| ())
    }

    pub(super) fn template(&self) -> Result<Template, TemplateError> {
        if self.command.is_empty() {
            return Err(TemplateError::NoProgram);
        }
        Template::parse(&self.args, self.stdin.as_deref())
    }

    /// The same with these arguments.
    #[must_use]
    pub fn with_args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }
}

impl fmt::Debug for ProcessConfig {
    /// Values of variables may be secrets: only names are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessConfig")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &self.env.keys())
            .field("cwd", &self.cwd)
            .field("confined", &self.confined.is_some())
            .finish_non_exhaustive()
    }
}
