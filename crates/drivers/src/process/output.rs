//! What a program left behind, as a result.

use std::process::ExitStatus;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use weaver_agent_kernel::DriverError;
use weaver_types::{RawContent, RawResult};

use super::{OutputForm, ProcessConfig};

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
    /// Reads to the end and keeps the first bytes.
    pub(super) async fn read(mut source: impl AsyncRead + Unpin, most: usize) -> Self {
        let mut output = Self::default();
        let mut chunk = [0_u8; 16 * 1024];
        while let Ok(count @ 1..) = source.read(&mut chunk).await {
            let bytes = chunk.get(..count).unwrap_or_default();
            let room = most.saturating_sub(output.kept.len());
            output.kept.extend(bytes.iter().take(room));
            output.whole = output.whole.saturating_add(bytes.len() as u64);
        }
        output
    }

    fn is_cut(&self) -> bool {
        self.whole > self.kept.len() as u64
    }
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
