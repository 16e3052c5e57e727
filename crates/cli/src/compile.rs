//! `weaver compile`: what a model would be shown of a log, within a budget.

pub(super) mod args;
mod firewall;
mod reader;

use std::path::Path;

use contextweaver::compile::{
    CallStyle, ContextPack, HeadAndTail, Request, SensitivityAction, build,
};
use weaver_text::token;

use super::{Exit, Failure, output};
use args::{Compile, Form};

pub(super) fn run(args: &Compile) -> Result<Exit, Failure> {
    let counter = token::counter(&args.tokens).map_err(|error| {
        Failure::new(Exit::Usage, error.code(), error).next("name one of them with --tokens")
    })?;
    let log = reader::read(&args.log, counter)?;
    let mut request = Request::new(args.phase);
    request.phase.budget = args.budget.unwrap_or(request.phase.budget);
    request.query = &args.query;
    request.floor = args.floor;
    request.format = args.format.of();
    request.explain = args.explain || args.html.is_some();
    request.overflow = args.overflow.clone();
    if args.native_calls {
        request.calls = CallStyle::Native;
    }
    if args.redact {
        request.action = SensitivityAction::mask();
    }
    if !args.whole {
        request.summariser = Some(&HeadAndTail);
    }
    let pack = build(&log, &request).map_err(|error| {
        let failure = Failure::new(Exit::Failed, error.code(), &error);
        failure.next("raise --budget, or say with --overflow that this kind may be dropped")
    })?;
    if let Some(file) = &args.html {
        write(file, &pack.html())?;
    }
    show(args, pack)
}

fn show(args: &Compile, mut pack: ContextPack) -> Result<Exit, Failure> {
    if !args.explain {
        pack.explanations.clear();
    }
    match args.format {
        Form::Json => output::json(&pack.to_json())?,
        Form::Text => output::text(&pack.text)?,
        _ => output::json(pack.messages.as_ref().unwrap_or_default())?,
    }
    if args.format != Form::Json {
        output::aside(&pack.report());
    }
    Ok(Exit::Ok)
}

fn write(file: &Path, html: &str) -> Result<(), Failure> {
    std::fs::write(file, html).map_err(|error| {
        let message = format!("{}: {error}", file.display());
        Failure::new(Exit::Invalid, "compile.html", message).next("name a file that can be written")
    })
}
