//! Turns the output of a program into a result.

use std::process::ExitStatus;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use weaver_agent_kernel::{DriverError, StreamSummary};
use weaver_types::{RawChunk, RawContent, RawResult};

use super::{OutputForm, ProcessConfig};
use crate::chunk_task::{self, Chunks};
use crate::lines::LineCutter;

/// The word that says that output was cut.
const CUT: &str = "output_cut";
/// The word that says that output was to be JSON and is not.
const NOT_JSON: &str = "output_not_json";

/// Output, as far as it was kept.
#[derive(Debug, Default)]
pub(super) struct Output {
    kept: Vec<u8>,
    /// How many bytes there were.
    whole: u64,
}

impl Output {
    /// Reads to the end and keeps the first bytes, which `seen` is told of.
    pub(super) async fn read(
        mut source: impl AsyncRead + Unpin,
        most: usize,
        mut seen: impl FnMut(&[u8]),
    ) -> Self {
        let mut output = Self::default();
        let mut chunk = [0_u8; 16 * 1024];
        while let Ok(count @ 1..) = source.read(&mut chunk).await {
            let bytes = chunk.get(..count).unwrap_or_default();
            let room = most.saturating_sub(output.kept.len()).min(count);
            let kept = bytes.get(..room).unwrap_or_default();
            output.kept.extend_from_slice(kept);
            seen(kept);
            output.whole = output.whole.saturating_add(bytes.len() as u64);
        }
        output
    }

    /// Reads to the end and sends the first bytes on, line by line. Nothing is kept.
    pub(super) async fn forward(
        mut source: impl AsyncRead + Unpin,
        most: usize,
        chunks: &Chunks,
    ) -> Result<ForwardedOutput, DriverError> {
        let mut lines = LineCutter::default();
        let mut chunk = [0_u8; 16 * 1024];
        let mut sent = ForwardedOutput::default();
        while let Ok(count @ 1..) = source.read(&mut chunk).await {
            let bytes = chunk.get(..count).unwrap_or_default();
            let room = most.saturating_sub(sent.sent).min(count);
            let kept = bytes.get(..room).unwrap_or_default();
            sent.sent = sent.sent.saturating_add(kept.len());
            sent.whole = sent.whole.saturating_add(bytes.len() as u64);
            sent.ends_line = kept.last().map_or(sent.ends_line, |last| *last == b'\n');
            if let Some(lines) = lines.push(kept) {
                chunk_task::send(chunks, RawChunk::Bytes(lines)).await?;
            }
        }
        if let Some(rest) = lines.finish() {
            chunk_task::send(chunks, RawChunk::Bytes(rest)).await?;
        }
        Ok(sent)
    }

    fn is_cut(&self) -> bool {
        self.whole > self.kept.len() as u64
    }
}

/// How much output was sent on.
#[derive(Debug, Default)]
pub(super) struct ForwardedOutput {
    sent: usize,
    whole: u64,
    /// Whether what was sent ends with a line break.
    ends_line: bool,
}

/// What is said of a program that ended, whose output was sent on; and its last lines, where there
/// is something to be said in them.
pub(super) fn summary(
    config: &ProcessConfig,
    status: ExitStatus,
    output: &ForwardedOutput,
    stderr: &str,
) -> Result<(StreamSummary, Option<String>), DriverError> {
    let Some(code) = status.code() else {
        return Err(DriverError::Lost(format!("`{}` was ended: {status}", config.command)));
    };
    let mut summary = StreamSummary::default();
    let mut last = String::new();
    if output.whole > output.sent as u64 {
        summary.findings.push(CUT);
        last = format!("[cut: {} of {} bytes]\n", output.sent, output.whole);
    }
    if !config.success.contains(&code) {
        summary.is_error = true;
        last = format!("{last}[exit code {code}]\n{stderr}\n");
    }
    if !last.is_empty() && output.sent > 0 && !output.ends_line {
        last.insert(0, '\n');
    }
    summary.cost = Some(config.price).filter(|price| price.0 > 0);
    Ok((summary, Some(last).filter(|last| !last.is_empty())))
}

/// The result of a program that ended.
pub(super) fn result(
    config: &ProcessConfig,
    status: ExitStatus,
    output: Output,
    stderr: &str,
) -> Result<RawResult, DriverError> {
    let Some(code) = status.code() else {
        // Killed in the middle: nobody knows what it did.
        return Err(DriverError::Lost(format!("`{}` was ended: {status}", config.command)));
    };
    let cut = output.is_cut();
    let mut findings: Vec<&'static str> = cut.then_some(CUT).into_iter().collect();
    if !config.success.contains(&code) {
        let value = json!({
            "exit_code": code,
            "output": String::from_utf8_lossy(&output.kept),
            "errors": stderr,
            "cut": cut,
        });
        let content = RawContent::Json(value);
        return Ok(RawResult { is_error: true, findings, ..empty(content) });
    }
    let mut is_error = false;
    let content = match config.output {
        OutputForm::Text => text(output),
        OutputForm::Json => match serde_json::from_slice::<Value>(&output.kept) {
            Ok(value) if !cut => RawContent::Json(value),
            _ => {
                is_error = true;
                findings.push(NOT_JSON);
                text(output)
            }
        },
    };
    Ok(RawResult { is_error, findings, ..empty(content) })
}

fn empty(content: RawContent) -> RawResult {
    RawResult { content, ..RawResult::text("") }
}

/// Text, with a last line that says what is missing; bytes where it is none.
fn text(output: Output) -> RawContent {
    let cut = output.is_cut();
    let Output { mut kept, whole } = output;
    if cut && let Err(error) = std::str::from_utf8(&kept) {
        // A character that was cut in two goes; anything else that is no text stays.
        if error.error_len().is_none() {
            kept.truncate(error.valid_up_to());
        }
    }
    match String::from_utf8(kept) {
        Ok(text) if cut => {
            let shown = text.len();
            RawContent::Text(format!("{text}\n[cut: {shown} of {whole} bytes]"))
        }
        Ok(text) => RawContent::Text(text),
        Err(error) => RawContent::Binary {
            media_type: "application/octet-stream".to_owned(),
            bytes: error.into_bytes(),
        },
    }
}
