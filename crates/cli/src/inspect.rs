//! `weaver inspect`: shows how the firewall would transform a result, in each mode.

pub(super) mod args;
mod result;
mod result_inspector;

use serde_json::{Value, json};
use weaver_firewall::{FrameBudget, Tokenizer};
use weaver_text::{escape, token};
use weaver_types::{RawContent, ResponseMode};

use super::redact::masker::firewall;
use super::{Exit, Failure, output};
use args::Inspect;
use result_inspector::{ContextSize, MeasuredFrame, ResultInspector};

/// The mode that the gateway uses.
const DEFAULT_MODES: [ResponseMode; 1] = [ResponseMode::Auto];

pub(super) fn run(args: &Inspect) -> Result<Exit, Failure> {
    let counter = token::counter(&args.tokens).map_err(|error| {
        Failure::new(Exit::Usage, error.code(), error)
            .with_next_step("name one of them with --tokens")
    })?;
    let bytes = result::read(&args.file)?;
    let raw = if args.text { result::text_result(bytes) } else { result::parse_result(bytes) };
    let inspector = ResultInspector {
        firewall: firewall(&args.rules, &[], None)?,
        counter,
        budget: budget(args),
        goal: args.goal.as_deref(),
        raw: &raw,
    };
    let modes: &[ResponseMode] = if args.mode.is_empty() { &DEFAULT_MODES } else { &args.mode };
    let result_size = inspector.result_size();
    if args.output.json {
        let frames: Vec<Value> = modes
            .iter()
            .map(|mode| inspector.frame(*mode).map(|measured| frame_json(&measured)))
            .collect::<Result<_, _>>()?;
        output::json(&json!({
            "result": { "kind": result::kind_name(&raw), "chars": result_size.chars, "tokens": result_size.tokens },
            "counter": args.tokens,
            "frames": frames,
        }))?;
        return Ok(Exit::Ok);
    }
    let name = escape::line(&args.file.display().to_string()).into_owned();
    let mut text =
        format!("{name}: {}, {}\n", result::kind_name(&raw), size_text(&result_size, &args.tokens));
    for mode in modes {
        text.push_str(&frame_text(&inspector.frame(*mode)?, &args.tokens));
    }
    if args.mode.is_empty() {
        text.push_str(&output::dim(
            "\nThis is what a gateway shows. Other modes: --mode summary, table, handle_only, raw.\n",
        ));
    }
    output::text(&text)?;
    Ok(Exit::Ok)
}

fn budget(args: &Inspect) -> FrameBudget {
    let default = FrameBudget::default();
    FrameBudget {
        max_chars: args.budget.unwrap_or(default.max_chars),
        max_rows: args.rows.unwrap_or(default.max_rows),
        max_fields: args.fields.unwrap_or(default.max_fields),
        max_depth: args.depth.unwrap_or(default.max_depth),
        max_tokens: args.max_tokens.unwrap_or(default.max_tokens),
        tokenizer: match args.tokens.as_str() {
            #[cfg(feature = "tiktoken")]
            "o200k_base" => Tokenizer::O200k,
            #[cfg(feature = "tiktoken")]
            "cl100k_base" => Tokenizer::Cl100k,
            _ => Tokenizer::Estimate,
        },
    }
}

fn frame_json(measured: &MeasuredFrame) -> Value {
    let MeasuredFrame { frame, size } = measured;
    json!({
        "mode": frame.mode.as_str(),
        "chars": size.chars,
        "tokens": size.tokens,
        "frame": frame,
    })
}

/// One frame as text: its size, its content and its warnings.
fn frame_text(measured: &MeasuredFrame, counter: &str) -> String {
    let MeasuredFrame { frame, size } = measured;
    let mode = output::bold(frame.mode.as_str());
    let mut out = format!("\n{mode}: {}\n", size_text(size, counter));
    for block in &frame.content {
        let block = block.get("text").and_then(Value::as_str).map_or_else(
            || escape::line(&block.to_string()).into_owned(),
            |text| escape::block(text).into_owned(),
        );
        out.push_str(&format!("{}\n", block.trim_end_matches('\n')));
    }
    let mut line = |text: &str| out.push_str(&format!("  {}\n", escape::line(text)));
    frame.notes.iter().for_each(|note| line(note));
    for next in frame.next.iter().chain(&frame.next_parts) {
        line(&format!("more: {next}"));
    }
    frame.facts.iter().for_each(|fact| line(fact));
    frame.table.iter().for_each(|row| line(&json!(row).to_string()));
    if let Some(raw) = &frame.raw {
        line(&raw.to_string());
    }
    for warning in &frame.warnings {
        line(&format!("! {} × {}", warning.kind, warning.count));
    }
    out
}

fn size_text(size: &ContextSize, counter: &str) -> String {
    let tokens = size.tokens.map_or("too many".to_owned(), |tokens| tokens.to_string());
    format!("{} characters, {tokens} tokens ({counter})", size.chars)
}

impl ResultInspector<'_> {
    /// The size of the result itself, as text.
    fn result_size(&self) -> ContextSize {
        match &self.raw.content {
            RawContent::Json(value) => self.size(&value.to_string()),
            RawContent::Rows(rows) => self.size(rows.text()),
            RawContent::Text(text) => self.size(text),
            RawContent::Binary { bytes, .. } => ContextSize { chars: bytes.len(), tokens: None },
        }
    }
}
