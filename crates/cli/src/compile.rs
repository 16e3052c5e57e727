//! `weaver compile`: compiles a log into the context that a model would be shown, within a budget.

pub(super) mod args;
mod firewall;
mod reader;

use contextweaver::compile::{
    CallStyle, CompileRequest, ContextPack, HeadAndTail, SensitivityAction, build,
};
use weaver_text::token;

use super::{Exit, Failure, output};
use args::{Compile, ContextFormat};

pub(super) fn run(args: &Compile) -> Result<Exit, Failure> {
    let counter = token::counter(&args.tokens).map_err(|error| {
        Failure::new(Exit::Usage, error.code(), error)
            .with_next_step("name one of them with --tokens")
    })?;
    let log = reader::read_log(&args.log, counter)?;
    let mut request = CompileRequest::new(args.phase);
    request.phase.budget = args.budget.unwrap_or(request.phase.budget);
    request.query = &args.query;
    request.sensitivity_floor = args.floor;
    request.format = args.format.prompt_format();
    request.explain = args.explain || args.html.is_some();
    request.overflow = args.overflow.clone();
    if args.native_calls {
        request.call_style = CallStyle::Native;
    }
    if args.redact {
        request.sensitivity_action = SensitivityAction::mask();
    }
    if !args.whole {
        request.summariser = Some(&HeadAndTail);
    }
    let pack = build(&log, &request).map_err(|error| {
        let failure = Failure::new(Exit::Failed, error.code(), &error);
        failure
            .with_next_step("raise --budget, or say with --overflow that this kind may be dropped")
    })?;
    if let Some(file) = &args.html {
        args.replace.write(file, &pack.html(), "compile.html")?;
    }
    print_pack(args, pack)
}

fn print_pack(args: &Compile, mut pack: ContextPack) -> Result<Exit, Failure> {
    if !args.explain {
        pack.explanations.clear();
    }
    match args.format {
        ContextFormat::Json => output::json(&pack.to_json())?,
        ContextFormat::Text => output::text(&pack.text)?,
        _ => output::json(pack.messages.as_ref().unwrap_or_default())?,
    }
    if args.format != ContextFormat::Json {
        output::stderr(&pack.report());
    }
    Ok(Exit::Ok)
}
