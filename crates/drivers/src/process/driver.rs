//! A driver that runs a program.

use std::future::Future;
use std::process::ExitStatus;
use std::sync::Arc;

use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::time::timeout;
use weaver_agent_kernel::{
    AuthorizedCall, ChunkSource, Driver, DriverError, PartialResultReporter, StreamSummary,
};
use weaver_types::{BoxFuture, CapabilityId, Millicents, RawChunk, RawResult};

use super::command_template::{CommandTemplate, FilledCommand};
use super::output::{self, Output};
use super::{OutputForm, ProcessConfig, TemplateError};
use crate::child::{self, ProcessGroupGuard, SpawnError, StderrTail};
use crate::child_config::StdioConfig;
use crate::chunk_task::{self, ChunkTask, Chunks};
use crate::runtime_task;

/// Starts a program once for each call.
///
/// The program and its argument template are fixed here; a call fills placeholders and selects
/// nothing else. If a call exceeds its time limit, or its future is dropped, the program and its
/// process group are killed.
pub struct ProcessDriver {
    program: Arc<Program>,
    name: String,
    runtime: Handle,
}

weaver_types::opaque_debug!(ProcessDriver);

/// The result of a program that has exited.
struct ProgramExit<T> {
    status: ExitStatus,
    output: T,
    /// The end of its standard error.
    stderr: String,
}

struct Program {
    config: ProcessConfig,
    template: CommandTemplate,
}

impl ProcessDriver {
    /// A driver for this program. `runtime` needs IO and time.
    ///
    /// # Errors
    /// [`TemplateError`], if an argument template is invalid.
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
            let partial = PartialResultReporter::new(&call).filter(|_| program.may_stream());
            let work = async move {
                let outcome =
                    timeout(limit, Box::pin(program.run_to_result(filled, partial))).await;
                outcome.unwrap_or(Err(DriverError::Timeout(limit)))
            };
            runtime_task::run_on(&self.runtime, Box::pin(work)).await
        })
    }

    /// The lines of standard output as they arrive; `None` if the output is a single value.
    fn execute_stream(&self, call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        if !self.program.may_stream() {
            return None;
        }
        let (program, limit) = (Arc::clone(&self.program), call.timeout());
        Some(Box::new(match program.template.fill(call.arguments()) {
            Ok(filled) => ChunkTask::start(&self.runtime, |chunks| async move {
                let outcome = timeout(limit, Box::pin(program.stream(filled, chunks))).await;
                outcome.unwrap_or(Err(DriverError::Timeout(limit)))
            }),
            Err(error) => ChunkTask::failed(&self.runtime, error),
        }))
    }

    fn reports_progress(&self) -> bool {
        self.program.may_stream()
    }

    fn max_cost(&self, _call: &CapabilityId) -> Millicents {
        self.program.config.price
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Program {
    /// Whether single lines of its output are meaningful.
    fn may_stream(&self) -> bool {
        self.config.output == OutputForm::Text
    }

    async fn run_to_result(
        &self,
        filled: FilledCommand,
        mut partial: Option<PartialResultReporter>,
    ) -> Result<RawResult, DriverError> {
        let config = &self.config;
        let observe = |bytes: &[u8]| {
            if let Some(partial) = &mut partial {
                partial.push_bytes(bytes);
            }
        };
        let read = |stdout| Output::read(stdout, config.output_bytes, observe);
        let ProgramExit { status, output, stderr } = Box::pin(self.run(filled, read)).await?;
        let result = output::to_raw_result(config, status, output, &stderr)?;
        Ok(if config.price.0 > 0 { result.with_cost(config.price) } else { result })
    }

    async fn stream(
        &self,
        filled: FilledCommand,
        chunks: Chunks,
    ) -> Result<StreamSummary, DriverError> {
        let config = &self.config;
        let read = |stdout| Output::forward(stdout, config.output_bytes, &chunks);
        let ProgramExit { status, output, stderr } = Box::pin(self.run(filled, read)).await?;
        let (summary, last) = output::stream_summary(config, status, &output?, &stderr)?;
        if let Some(last) = last {
            chunk_task::send(&chunks, RawChunk::Text(last)).await?;
        }
        Ok(summary)
    }

    /// Runs the program; `read` reads its output.
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
        if let Some(confined) = &config.confinement {
            let report = child::read_launcher_report(&mut stderr, &confined.launcher).await;
            report.map_err(|error| not_started(error.into()))?;
        }
        let tail = StderrTail::with_variables(&config.env);
        // The whole process group is killed when the program exits or this future is dropped,
        // because remaining processes would keep the pipes open.
        let ended = async {
            let status = child.wait().await;
            drop(group);
            status
        };
        let (status, output, (), ()) = tokio::join!(
            ended,
            read(stdout),
            tail.read_to_end(stderr),
            write_stdin(stdin, &filled.stdin),
        );
        let status = status.map_err(|error| DriverError::Lost(error.kind().to_string()))?;
        Ok(ProgramExit { status, output, stderr: tail.text() })
    }

    /// Starts the configured program with these arguments.
    fn start(&self, args: Vec<String>) -> Result<Child, SpawnError> {
        let ProcessConfig { command, env, cwd, confinement, .. } = &self.config;
        #[cfg_attr(not(target_os = "linux"), expect(unused_mut, reason = "marked on Linux"))]
        let mut env = env.clone();
        #[cfg(target_os = "linux")]
        env.extend(
            crate::adopted::tool_marker().map(|(name, id)| (name.to_owned(), id.to_owned())),
        );
        child::start(&StdioConfig {
            command: command.clone(),
            args,
            env,
            cwd: cwd.clone(),
            confinement: confinement.clone(),
        })
    }
}

/// A program need not read its input, so errors are ignored.
async fn write_stdin(mut stdin: ChildStdin, bytes: &[u8]) {
    let _ = stdin.write_all(bytes).await;
    let _ = stdin.shutdown().await;
}
