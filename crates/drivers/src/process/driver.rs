//! One program as a driver.

use std::sync::Arc;

use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin};
use tokio::runtime::Handle;
use tokio::time::timeout;
use weaver_agent_kernel::{AuthorizedCall, Driver, DriverError};
use weaver_types::{BoxFuture, CapabilityId, Millicents, RawResult};

use super::output::{self, Output};
use super::template::{Filled, Template};
use super::{ProcessConfig, TemplateError};
use crate::child::{self, Group, Tail};
use crate::task;

/// A program that is started once for each call.
///
/// The program and the shape of its arguments are fixed here; a call fills the places and selects
/// nothing else. When a call takes too long, or its future is dropped, the program and all that it
/// started in its process group are killed.
pub struct ProcessDriver {
    program: Arc<Program>,
    name: String,
    runtime: Handle,
}

struct Program {
    config: ProcessConfig,
    template: Template,
}

impl ProcessDriver {
    /// A driver for this program. `runtime` needs IO and time.
    ///
    /// # Errors
    /// [`TemplateError`], when an argument of the template means nothing.
    pub fn new(config: ProcessConfig, runtime: Handle) -> Result<Self, TemplateError> {
        let template = config.template()?;
        let name = format!("process:{}", config.command);
        Ok(Self { program: Arc::new(Program { config, template }), name, runtime })
    }
}

impl Driver for ProcessDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        let program = Arc::clone(&self.program);
        let limit = call.timeout();
        Box::pin(async move {
            let filled = program.template.fill(call.arguments())?;
            let work = async move {
                let ran = timeout(limit, program.run(filled)).await;
                ran.unwrap_or(Err(DriverError::Timeout(limit)))
            };
            task::on(&self.runtime, work).await
        })
    }

    fn price(&self, _call: &CapabilityId) -> Millicents {
        self.program.config.price
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Program {
    async fn run(&self, filled: Filled) -> Result<RawResult, DriverError> {
        let config = &self.config;
        let not_started = |reason: String| {
            DriverError::Unavailable(format!("cannot start `{}`: {reason}", config.command))
        };
        let mut child = self.start(filled.argv).map_err(not_started)?;
        let group = Group::of(&child);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(not_started("its pipes are missing".to_owned()));
        };
        let mut stderr = BufReader::with_capacity(1024, stderr);
        if let Some(confined) = &config.confined {
            let told = child::report(&mut stderr, &confined.launcher).await;
            told.map_err(|error| not_started(error.to_string()))?;
        }
        let tail = Tail::default();
        // The whole group is killed when the program has ended, and when this future is dropped:
        // what it leaves behind would hold the pipes open.
        let ended = async {
            let status = child.wait().await;
            drop(group);
            status
        };
        let (status, output, (), ()) = tokio::join!(
            ended,
            Output::read(stdout, config.output_bytes),
            tail.follow(stderr),
            write(stdin, &filled.stdin),
        );
        let status = status.map_err(|error| DriverError::Lost(error.kind().to_string()))?;
        let result = output::result(config, status, output, &tail.text())?;
        Ok(if config.price.0 > 0 { result.costing(config.price) } else { result })
    }

    fn start(&self, argv: Vec<String>) -> Result<Child, String> {
        let config = &self.config;
        let mut command = match &config.confined {
            Some(confined) => {
                let argv: Vec<&String> = std::iter::once(&config.command).chain(&argv).collect();
                let command = confined.launcher.command(&argv, &confined.confinement);
                command.map_err(|error| error.to_string())?
            }
            None => {
                let mut command = std::process::Command::new(&config.command);
                command.args(argv);
                command
            }
        };
        child::scope(&mut command, &config.env);
        if let Some(folder) = &config.cwd {
            command.current_dir(folder);
        }
        child::spawn(command).map_err(|error| error.kind().to_string())
    }
}

/// A program need not read what it gets.
async fn write(mut stdin: ChildStdin, bytes: &[u8]) {
    let _ = stdin.write_all(bytes).await;
    let _ = stdin.shutdown().await;
}
