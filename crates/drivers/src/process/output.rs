//! Turns the output of a program into a result.

use std::process::ExitStatus;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use weaver_agent_kernel::{DriverError, StreamSummary};
use weaver_types::{RawChunk, RawContent, RawResult};

use super::{OutputForm, ProcessConfig};
use crate::chunk_task::{self, Chunks};
use crate::line_splitter::LineSplitter;

/// The finding that output was truncated.
const OUTPUT_CUT: &str = "output_cut";
/// The finding that the output should be JSON and is not.
const NOT_JSON: &str = "output_not_json";

/// Output, up to the limit.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// How many bytes were written in total.
    total_bytes: u64,
}

impl Output {
    /// Reads to the end and keeps the first bytes, which are also passed to `observe`.
    pub(super) async fn read(
        mut source: impl AsyncRead + Unpin,
        max_bytes: usize,
        mut observe: impl FnMut(&[u8]),
    ) -> Self {
        let mut output = Self::default();
        let mut chunk = [0_u8; 16 * 1024];
        while let Ok(count @ 1..) = source.read(&mut chunk).await {
            let bytes = chunk.get(..count).unwrap_or_default();
            let allowed = max_bytes.saturating_sub(output.bytes.len()).min(count);
            let kept = bytes.get(..allowed).unwrap_or_default();
            output.bytes.extend_from_slice(kept);
            observe(kept);
            output.total_bytes = output.total_bytes.saturating_add(bytes.len() as u64);
        }
        output
    }

    /// Reads to the end and forwards the first bytes line by line, without keeping them.
    pub(super) async fn forward(
        mut source: impl AsyncRead + Unpin,
        max_bytes: usize,
        chunks: &Chunks,
    ) -> Result<ForwardedOutput, DriverError> {
        let mut lines = LineSplitter::default();
        let mut chunk = [0_u8; 16 * 1024];
        let mut sent = ForwardedOutput::default();
        while let Ok(count @ 1..) = source.read(&mut chunk).await {
            let bytes = chunk.get(..count).unwrap_or_default();
            let allowed = max_bytes.saturating_sub(sent.sent_bytes).min(count);
            let kept = bytes.get(..allowed).unwrap_or_default();
            sent.sent_bytes = sent.sent_bytes.saturating_add(kept.len());
            sent.total_bytes = sent.total_bytes.saturating_add(bytes.len() as u64);
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
        self.total_bytes > self.bytes.len() as u64
    }
}

/// How much output was forwarded.
#[derive(Debug, Default)]
pub(super) struct ForwardedOutput {
    sent_bytes: usize,
    total_bytes: u64,
    /// Whether the forwarded output ends with a line break.
    ends_line: bool,
}

/// The summary of a program whose output was forwarded, and closing lines, if there is something to
/// add.
pub(super) fn stream_summary(
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
    if output.total_bytes > output.sent_bytes as u64 {
        summary.findings.push(OUTPUT_CUT);
        last = format!("[cut: {} of {} bytes]\n", output.sent_bytes, output.total_bytes);
    }
    if !config.success.contains(&code) {
        summary.is_error = true;
        last = format!("{last}[exit code {code}]\n{stderr}\n");
    }
    if !last.is_empty() && output.sent_bytes > 0 && !output.ends_line {
        last.insert(0, '\n');
    }
    summary.cost = Some(config.price).filter(|price| price.0 > 0);
    Ok((summary, Some(last).filter(|last| !last.is_empty())))
}

/// The result of a program that has exited.
pub(super) fn to_raw_result(
    config: &ProcessConfig,
    status: ExitStatus,
    output: Output,
    stderr: &str,
) -> Result<RawResult, DriverError> {
    let Some(code) = status.code() else {
        // It was killed, so what it did is unknown.
        return Err(DriverError::Lost(format!("`{}` was ended: {status}", config.command)));
    };
    let cut = output.is_cut();
    let mut findings: Vec<&'static str> = cut.then_some(OUTPUT_CUT).into_iter().collect();
    if !config.success.contains(&code) {
        let value = json!({
            "exit_code": code,
            "output": String::from_utf8_lossy(&output.bytes),
            "errors": stderr,
            "cut": cut,
        });
        let content = RawContent::Json(value);
        return Ok(RawResult { is_error: true, findings, ..with_content(content) });
    }
    let mut is_error = false;
    let content = match config.output {
        OutputForm::Text => text(output),
        OutputForm::Json => match serde_json::from_slice::<Value>(&output.bytes) {
            Ok(value) if !cut => RawContent::Json(value),
            _ => {
                is_error = true;
                findings.push(NOT_JSON);
                text(output)
            }
        },
    };
    Ok(RawResult { is_error, findings, ..with_content(content) })
}

fn with_content(content: RawContent) -> RawResult {
    RawResult { content, ..RawResult::text("") }
}

/// The output as text with a truncation note, or as bytes if it is not UTF-8.
fn text(output: Output) -> RawContent {
    let cut = output.is_cut();
    let Output { mut bytes, total_bytes } = output;
    if cut && let Err(error) = std::str::from_utf8(&bytes) {
        // A character that was cut in two is removed; other invalid bytes stay.
        if error.error_len().is_none() {
            bytes.truncate(error.valid_up_to());
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) if cut => {
            let shown = text.len();
            RawContent::Text(format!("{text}\n[cut: {shown} of {total_bytes} bytes]"))
        }
        Ok(text) => RawContent::Text(text),
        Err(error) => RawContent::Binary {
            media_type: "application/octet-stream".to_owned(),
            bytes: error.into_bytes(),
        },
    }
}
