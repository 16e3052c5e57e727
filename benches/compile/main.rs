//! The speed of the context compiler; one JSON object.
//!
//! `cargo xtask speed compile` runs this beside contextweaver (Python) and prints the table. Times
//! are processor time, so that other processes do not count. The count of the whole rendering,
//! which is the tokenizer's, is told apart from the rest of a build.

mod events;
mod watch;

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use contextweaver::compile::{
    CompileRequest, Compiler, ContextItem, ContextLog, Phase, ResultFirewall, ResultView,
    ToolOutput, item_from_output,
};
use contextweaver::error::ViewError;
use serde_json::{Map, Value, json};
use weaver_benches::Failure;
use weaver_benches::measure::{now, resident};
use weaver_text::token::{Tiktoken, TokenCounter as _};
use weaver_types::{
    CallId, CapabilityId, Confidentiality, Frame, HandleId, Label, RawContent, RawResult,
    ResponseMode, ResultStatus, Timestamp,
};

use events::{Event, events};
use watch::WatchedCounter;

const QUERY: &str = "summarise the payment dispute and the rollback of the billing service";

/// Lets every text through as it is: what is measured is the compiler. The peer's figure has its
/// own firewall in it, which keeps the first paragraph.
struct Open;

impl ResultFirewall for Open {
    fn frame(&self, output: &ToolOutput) -> Option<Frame> {
        let RawContent::Text(text) = &output.result.content else { return None };
        Some(Frame {
            content: Vec::new(),
            structured: None,
            notes: Vec::new(),
            next: None,
            next_parts: Vec::new(),
            call_id: CallId::parse("call").ok()?,
            capability_id: CapabilityId::parse("bench.result").ok()?,
            mode: ResponseMode::Summary,
            status: ResultStatus::Success,
            facts: vec![text.clone()],
            table: Vec::new(),
            raw: None,
            handle: None,
            warnings: Vec::new(),
            provenance: None,
            label: Label::undeclared_output(),
            created_at: Timestamp::from_micros(0),
            is_final: true,
        })
    }

    fn view(&self, _: &HandleId, _: &ResultView) -> Result<Frame, ViewError> {
        Err(ViewError::Refused { code: "none".to_owned(), message: "no views".to_owned() })
    }
}

fn item(event: &Event) -> ContextItem {
    let (id, text) = (event.id.clone(), event.text.clone());
    let level = match event.sensitivity {
        "confidential" => Confidentiality::Confidential,
        "internal" => Confidentiality::Internal,
        _ => Confidentiality::Public,
    };
    let item = match event.kind {
        "user_turn" => ContextItem::user_turn(id, text),
        "tool_call" => ContextItem::call_text(id, text),
        "agent_msg" => ContextItem::agent_message(id, text),
        _ => {
            let label = Label { confidentiality: level, ..Label::clean() };
            let result = RawResult::text(text);
            let call = event.parent.clone();
            let output = ToolOutput { id, call, result, label, metadata: Default::default() };
            return item_from_output(output, Some(&Open));
        }
    };
    let label = Label { confidentiality: level, ..item.label().clone() };
    let item = item.with_label(label).with_tags(event.tag.clone());
    event.parent.iter().fold(item, |item, parent| item.with_parent(parent.clone()))
}

fn took(work: impl FnOnce()) -> Duration {
    let start = now();
    work();
    now().saturating_sub(start)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// One size: the append of all, builds from nothing, and builds after one new event.
fn size(count: usize, runs: usize) -> Result<Value, Failure> {
    let all = events(count + runs);
    let items: Vec<ContextItem> = all.iter().map(item).collect();
    let counter = Arc::new(WatchedCounter::default());
    let mut log = ContextLog::new(Arc::clone(&counter) as _);
    let (first, later) = items.split_at(count);
    let first = first.to_vec();
    let append = took(|| first.into_iter().for_each(|item| drop(black_box(log.push(item)))));
    let request = CompileRequest::new(Phase::Answer).with_query(QUERY);
    let build = |compiler: &mut Compiler, log: &ContextLog| -> Result<_, Failure> {
        counter.reset();
        let start = now();
        let pack = compiler.build(log, &request)?;
        let all = now().saturating_sub(start);
        Ok((all.saturating_sub(counter.spent()), counter.spent(), pack))
    };
    let mut cold = Vec::new();
    let mut counts = Vec::new();
    for _ in 0..runs {
        let (net, count, _) = build(&mut Compiler::new(), &log)?;
        cold.push(net);
        counts.push(count);
    }
    let mut compiler = Compiler::new();
    let (_, _, pack) = build(&mut compiler, &log)?;
    let mut again = Vec::new();
    for item in later {
        log.push(item.clone())?;
        again.push(build(&mut compiler, &log)?.0);
    }
    let (cold, again) = (median(cold), median(again));
    let whole = append + cold + median(counts.clone());
    let bytes: usize = all.iter().take(count).map(|event| event.text.len()).sum();
    Ok(json!({
        "append_us": append.as_secs_f64() * 1e6 / count as f64,
        "append_300_bytes_us": append.as_secs_f64() * 1e6 * 300.0 / bytes as f64,
        "build_ms": millis(cold),
        "count_ms": millis(median(counts)),
        "rebuild_ms": millis(again),
        "rebuild_of_cold": again.as_secs_f64() / cold.as_secs_f64().max(1e-9),
        "whole_ms": millis(whole),
        "included": pack.stats.included_count,
        "prompt_tokens": pack.stats.prompt_tokens,
        "exact_counts": pack.stats.exact_counts,
    }))
}

/// What a log of so many items takes, and what a compiler takes that has built a context of it, in
/// bytes an item.
fn memory(count: usize) -> Result<Value, Failure> {
    // The tables of the tokenizer are built at the first count.
    size(100, 1)?;
    let all = events(count);
    let held = || resident().ok_or("the system does not say how much memory is held");
    let before = held()?;
    let mut log = ContextLog::new(Arc::new(Tiktoken::CL100K));
    all.iter().try_for_each(|event| log.push(item(event)))?;
    let with_log = held()?;
    let request = CompileRequest::new(Phase::Answer).with_query(QUERY);
    let mut compiler = Compiler::new();
    let pack = compiler.build(&log, &request)?;
    let with_build = held()?;
    let an_item = |from: usize, to: usize| to.saturating_sub(from) / count.max(1);
    Ok(json!({
        "items": log.len(),
        "text_bytes_an_item": all.iter().map(|event| event.text.len()).sum::<usize>() / count.max(1),
        "log_bytes_an_item": an_item(before, with_log),
        "build_bytes_an_item": an_item(with_log, with_build),
        "included": pack.stats.included_count,
    }))
}

fn measured(sizes: &[usize], runs: usize) -> Result<Value, Failure> {
    // The tables of the tokenizer are built at the first count.
    size(100, 1)?;
    let mut out = Map::new();
    for count in sizes {
        out.insert(count.to_string(), size(*count, runs)?);
    }
    Ok(Value::Object(out))
}

fn write_log(folder: &str, count: usize) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    let file = Path::new(folder).join(format!("events_{count}.jsonl"));
    Ok(std::fs::write(file, events::lines(&events(count)))?)
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let with = |sizes: &[usize], more: usize| {
        let mut sizes = sizes.to_vec();
        sizes.push(more);
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    match words.as_slice() {
        ["workloads", folder] => {
            [100, 1_000, 10_000].into_iter().try_for_each(|count| write_log(folder, count))?;
        }
        ["workloads", folder, count] => write_log(folder, count.parse()?)?,
        ["tokens", file] => {
            let text = std::fs::read_to_string(file)?;
            println!("{}", Tiktoken::CL100K.count(&text).tokens().ok_or("too long to count")?);
        }
        [] => println!("{}", measured(&[100, 1_000, 10_000, 100_000], 9)?),
        ["--items", more] => {
            println!("{}", measured(&with(&[100, 1_000, 10_000, 100_000], more.parse()?), 9)?);
        }
        ["memory", count] => println!("{}", memory(count.parse()?)?),
        ["--smoke"] | ["--smoke", "--items", _] => println!("{}", measured(&[100, 1_000], 3)?),
        _ => {
            return Err(
                "write `workloads DIR [N]`, `tokens FILE`, `memory N`, `--items N`, `--smoke` \
                or nothing"
                    .into(),
            );
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    weaver_benches::exit_code(run(&arguments))
}
