//! `weaver inspect`: what the firewall would make of a result, in each mode.

pub(super) mod args;
mod look;
mod result;

use serde_json::{Value, json};
use weaver_firewall::{FrameBudget, Tokenizer};
use weaver_text::{escape, token};
use weaver_types::{RawContent, ResponseMode};

use super::redact::engine::firewall;
use super::{Exit, Failure, output};
use args::Inspect;
use look::{Look, MeasuredFrame, Size};

/// The mode of the gateway.
const MODES: [ResponseMode; 1] = [ResponseMode::Auto];

pub(super) fn run(args: &Inspect) -> Result<Exit, Failure> {
    let counter = token::counter(&args.tokens).map_err(|error| {
        Failure::new(Exit::Usage, error.code(), error).next("name one of them with --tokens")
    })?;
    let bytes = result::read(&args.file)?;
    let raw = if args.text { result::unparsed(bytes) } else { result::parsed(bytes) };
    let look = Look {
        firewall: firewall(&args.rules, &[], None)?,
        counter,
        budget: budget(args),
        goal: args.goal.as_deref(),
        raw: &raw,
    };
    let modes: &[ResponseMode] = if args.mode.is_empty() { &MODES } else { &args.mode };
    let whole = look.whole();
    if args.output.json {
        let frames: Vec<Value> = modes
            .iter()
            .map(|mode| look.frame(*mode).map(|measured| as_json(&measured)))
            .collect::<Result<_, _>>()?;
        output::json(&json!({
            "result": { "kind": result::kind(&raw), "chars": whole.chars, "tokens": whole.tokens },
            "counter": args.tokens,
            "frames": frames,
        }))?;
        return Ok(Exit::Ok);
    }
    let name = escape::line(&args.file.display().to_string()).into_owned();
    let mut text = format!("{name}: {}, {}\n", result::kind(&raw), sized(&whole, &args.tokens));
    for mode in modes {
        text.push_str(&shown(&look.frame(*mode)?, &args.tokens));
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
    let usual = FrameBudget::default();
    FrameBudget {
        max_chars: args.budget.unwrap_or(usual.max_chars),
        max_rows: args.rows.unwrap_or(usual.max_rows),
        max_fields: args.fields.unwrap_or(usual.max_fields),
        max_depth: args.depth.unwrap_or(usual.max_depth),
        max_tokens: args.max_tokens.unwrap_or(usual.max_tokens),
        tokenizer: match args.tokens.as_str() {
            #[cfg(feature = "tiktoken")]
            "o200k_base" => Tokenizer::O200k,
            #[cfg(feature = "tiktoken")]
            "cl100k_base" => Tokenizer::Cl100k,
            _ => Tokenizer::Estimate,
        },
    }
}

fn as_json(measured: &MeasuredFrame) -> Value {
    let MeasuredFrame { frame, size } = measured;
    json!({
        "mode": frame.mode.as_str(),
        "chars": size.chars,
        "tokens": size.tokens,
        "frame": frame,
    })
}

/// One frame: its size, what it shows, what it warns of.
fn shown(measured: &MeasuredFrame, counter: &str) -> String {
    let MeasuredFrame { frame, size } = measured;
    let mode = output::bold(frame.mode.as_str());
    let mut out = format!("\n{mode}: {}\n", sized(size, counter));
    for block in &frame.content {
        let block = block.get("text").and_then(Value::as_str).map_or_else(
            || escape::line(&block.to_string()).into_owned(),
            |text| escape::block(text).into_owned(),
        );
        out.push_str(&format!("{}\n", block.trim_end_matches('\n')));
    }
    let mut line = |text: &str| out.push_str(&format!("  {}\n", escape::line(text)));
    frame.notes.iter().for_each(|note| line(note));
    if let Some(next) = &frame.next {
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

fn sized(size: &Size, counter: &str) -> String {
    let tokens = size.tokens.map_or("too many".to_owned(), |tokens| tokens.to_string());
    format!("{} characters, {tokens} tokens ({counter})", size.chars)
}

impl Look<'_> {
    /// The result itself, as text.
    fn whole(&self) -> Size {
        match &self.raw.content {
            RawContent::Json(value) => self.size(&value.to_string()),
            RawContent::Rows(rows) => self.size(rows.text()),
            RawContent::Text(text) => self.size(text),
            RawContent::Binary { bytes, .. } => Size { chars: bytes.len(), tokens: None },
        }
    }
}
