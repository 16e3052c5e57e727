//! The outcome of installing the packages, and which pairs can be tried.

use super::plan::{Plan, Tool};
use crate::counterparts::cache::Cache;
use crate::install::{InstallOutcome, MissingProgram, Registry};

/// The packages of both registries.
pub struct Packages {
    pub npm: InstallOutcome,
    pub python: InstallOutcome,
}

impl Packages {
    /// Why a plan cannot be tried; `None` if it can.
    pub fn lacks(&self, cache: &Cache, plan: &Plan) -> Option<MissingProgram> {
        let server = match plan.server.registry {
            Registry::Npm => &self.npm,
            Registry::PyPi => &self.python,
        };
        let client = match plan.client.tool {
            Tool::Inspector | Tool::TypeScriptSdk | Tool::Mcporter => &self.npm,
            Tool::PythonSdk => &self.python,
        };
        // The tap that observes both sides is a Python script without dependencies.
        let tapped = cache.python_program("python").exists();
        let tap = if tapped { &Ok(()) } else { &self.python };
        [server, client, tap].into_iter().find_map(|installed| installed.clone().err())
    }
}
