//! One program as a driver.

use std::future::Future;
use std::process::ExitStatus;
use std::sync::Arc;

use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::time::timeout;
use weaver_agent_kernel::{
    AuthorizedCall, ChunkSource, Driver, DriverError, PartialResults, StreamSummary,
};
use weaver_types::{BoxFuture, CapabilityId, Millicents, RawChunk, RawResult};

use super::output::{self, Output};
use super::template::{FilledCommand, Template};
use super::{OutputForm, ProcessConfig, TemplateError};
use crate::child::{self, ProcessGroupGuard, SpawnError, StderrTail};
use crate::child_config::StdioConfig;
use crate::chunk_task::{self, ChunkTask, Chunks};
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

/// What a program that ended left behind.
struct ProgramExit<T> {
    status: ExitStatus,
    output: T,
    /// The end of its standard error.
    stderr: String,
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
            let partial = PartialResults::of(&call).filter(|_| program.streams());
            let work = async move {
                let ran = timeout(limit, program.answer(filled, partial)).await;
                ran.unwrap_or(Err(DriverError::Timeout(limit)))
            };
            task::on(&self.runtime, work).await
        })
    }

    /// The lines of its standard output as they come; nothing for one whose output is one value.
    fn execute_stream(&self, call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        if !self.program.streams() {
            return None;
        }
        let (program, limit) = (Arc::clone(&self.program), call.timeout());
        Some(Box::new(match program.template.fill(call.arguments()) {
            Ok(filled) => ChunkTask::start(&self.runtime, |chunks| async move {
                let ran = timeout(limit, program.stream(filled, chunks)).await;
                ran.unwrap_or(Err(DriverError::Timeout(limit)))
            }),
            Err(error) => ChunkTask::failed(&self.runtime, error),
        }))
    }

    fn reports_progress(&self) -> bool {
        self.program.streams()
    }

    fn price(&self, _call: &CapabilityId) -> Millicents {
        self.program.config.price
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Program {
    /// Whether its output means something line by line.
    fn streams(&self) -> bool {
        self.config.output == OutputForm::Text
    }

    async fn answer(
        &self,
        filled: FilledCommand,
        mut partial: Option<PartialResults>,
    ) -> Result<RawResult, DriverError> {
        let config = &self.config;
        let seen = |bytes: &[u8]| {
            if let Some(partial) = &mut partial {
                partial.push_bytes(bytes);
            }
        };
        let read = |stdout| Output::read(stdout, config.output_bytes, seen);
        let ProgramExit { status, output, stderr } = self.run(filled, read).await?;
        let result = output::result(config, status, output, &stderr)?;
        Ok(if config.price.0 > 0 { result.costing(config.price) } else { result })
    }

    async fn stream(
        &self,
        filled: FilledCommand,
        chunks: Chunks,
    ) -> Result<StreamSummary, DriverError> {
        let config = &self.config;
        let read = |stdout| Output::forward(stdout, config.output_bytes, &chunks);
        let ProgramExit { status, output, stderr } = self.run(filled, read).await?;
        let (summary, last) = output::summary(config, status, &output?, &stderr)?;
        if let Some(last) = last {
            chunk_task::send(&chunks, RawChunk::Text(last)).await?;
        }
        Ok(summary)
    }

    /// Runs the program, whose output is read by `read`.
    async fn run<T: Future>(
        &self,
        filled: FilledCommand,
        read: impl FnOnce(ChildStdout) -> T,
    ) -> Result<ProgramExit<T::Output>, DriverError> {
        let config = &self.config;
        let not_started = |error: SpawnError| {
            DriverError::Unavailable(format!("cannot start `{}`: {error}", config.command))
        };
        let mut child = self.start(filled.argv).map_err(not_started)?;
        let group = ProcessGroupGuard::of(&child);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(not_started(SpawnError::NoPipes));
        };
        let mut stderr = BufReader::with_capacity(1024, stderr);
        if let Some(confined) = &config.confined {
            let told = child::read_launcher_report(&mut stderr, &confined.launcher).await;
            told.map_err(|error| not_started(error.into()))?;
        }
        let tail = StderrTail::hiding(&config.env);
        // The whole group is killed when the program has ended, and when this future is dropped:
        // what it leaves behind would hold the pipes open.
        let ended = async {
            let status = child.wait().await;
            drop(group);
            status
        };
        let (status, output, (), ()) =
            tokio::join!(ended, read(stdout), tail.follow(stderr), write(stdin, &filled.stdin),);
        let status = status.map_err(|error| DriverError::Lost(error.kind().to_string()))?;
        Ok(ProgramExit { status, output, stderr: tail.text() })
    }

    /// Starts the configured program with these arguments.
    fn start(&self, args: Vec<String>) -> Result<Child, SpawnError> {
        let ProcessConfig { command, env, cwd, confined, .. } = &self.config;
        child::start(&StdioConfig {
            command: command.clone(),
            args,
            env: env.clone(),
            cwd: cwd.clone(),
            confined: confined.clone(),
        })
    }
}

/// A program need not read what it gets.
async fn write(mut stdin: ChildStdin, bytes: &[u8]) {
    let _ = stdin.write_all(bytes).await;
    let _ = stdin.shutdown().await;
}
