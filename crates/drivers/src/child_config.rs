//! How a child process is started and confined.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::confine::{Confinement, EnforcedConfinement, FileRefusal, Launcher, explain_refusal};

/// A server started as a child process, without a shell.
#[derive(Clone, Default)]
pub struct StdioConfig {
    /// The program: a path, or a name looked up in `PATH`.
    pub command: String,
    /// Its arguments, each passed as it is.
    pub args: Vec<String>,
    /// Variables added to the few that a child inherits. Not shown in `Debug`.
    pub env: BTreeMap<String, String>,
    /// Its working directory; `None` means ours.
    pub cwd: Option<PathBuf>,
    /// Its confinement; `None` gives it the rights of this process.
    pub confinement: Option<ChildConfinement>,
}

/// How a child is confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildConfinement {
    /// The launcher that starts it.
    pub launcher: Launcher,
    /// The confinement to enforce.
    pub confinement: Confinement,
    /// Where an operator can change the confinement, for messages.
    pub setting: Option<String>,
}

/// Masks secrets in a child's standard error before any of it is shown.
#[derive(Clone)]
pub struct Redactor(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Redactor {
    /// A redactor that applies `mask`.
    #[must_use]
    pub fn new(mask: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(mask))
    }

    pub(crate) fn mask(&self, text: &str) -> String {
        (self.0)(text)
    }
}

weaver_types::opaque_debug!(Redactor);

impl ChildConfinement {
    /// Explains how the confinement relates to a refusal.
    pub(crate) fn explain_refusal(
        &self,
        enforced: &EnforcedConfinement,
        refusal: &FileRefusal,
    ) -> Option<String> {
        explain_refusal(&self.confinement, self.setting.as_deref(), enforced, refusal)
    }
}

impl fmt::Debug for StdioConfig {
    /// Values of variables and arguments may be secrets: only names and counts are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioConfig")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &self.env.keys())
            .field("cwd", &self.cwd)
            .field("confined", &self.confinement.is_some())
            .finish()
    }
}
