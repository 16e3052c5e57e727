//! `weaver policy explain`.

use serde_json::{Value, json};
use weaver_policy::PolicySet;
use weaver_policy::explain::{self, Explanation};
use weaver_policy_analysis::{RecordedRequest, RequestError};
use weaver_types::{Clock as _, SystemClock, canonical};

use super::args::Explain;
use super::{documents, request_lines};
use crate::output::OutputFormat;
use crate::{Exit, Failure, output};

/// The largest recorded decision, in bytes.
const MAX_RECORDED_BYTES: usize = 4 * 1024 * 1024;

pub(super) fn run(args: &Explain) -> Result<Exit, Failure> {
    let loaded = documents::load(&args.documents, SystemClock::default().now())?;
    let mut recorded = args.recorded.as_deref().map(read_recorded).transpose()?;
    let mut requests = request_lines::RequestReader::open(&args.request)?;
    let (mut invalid, mut same) = (0, true);
    while let Some(line) = requests.read_next()? {
        match line.request.and_then(|request| explain_request(&loaded.set, &request)) {
            Ok(explained) => {
                let reproduced = recorded.take().map(|one| explained.0.reproduces(&one));
                same &= reproduced.unwrap_or(true);
                print_explanation(&explained, reproduced, &loaded.set, args.output.format())?;
            }
            Err(error) => {
                invalid += 1;
                output::json(&request_lines::error_json(line.number, &error))?;
            }
        }
    }
    match (invalid, same) {
        (0, true) => Ok(Exit::Ok),
        (0, false) => Ok(Exit::Failed),
        _ => Err(request_lines::invalid_lines_failure(invalid)),
    }
}

fn read_recorded(path: &std::path::Path) -> Result<Value, Failure> {
    let text = documents::read_file(path, MAX_RECORDED_BYTES)?;
    canonical::parse(text.as_bytes(), canonical::Profile::Foreign).map_err(|error| {
        let message = format!("{}: this is not a decision: {error}", path.display());
        Failure::new(Exit::Invalid, "policy.recorded", message)
            .with_next_step("give the `decision` of a record, one JSON object")
    })
}

/// The explanation, the id of its request, and the denial as hosts show it.
type ExplainedRequest = (Explanation, String, Value);

fn explain_request(
    set: &PolicySet,
    request: &RecordedRequest,
) -> Result<ExplainedRequest, RequestError> {
    let capability = request.capability(set)?;
    let query = request.query(&capability);
    let denial = serde_json::to_value(explain::explain_denial(set, &query));
    let explanation = explain::explain(set, &query);
    Ok((explanation, request.id.clone(), denial.unwrap_or(Value::Null)))
}

fn print_explanation(
    (explanation, id, denial): &ExplainedRequest,
    reproduced: Option<bool>,
    set: &PolicySet,
    format: OutputFormat,
) -> Result<(), Failure> {
    if format == OutputFormat::Json {
        let mut out = json!({ "id": id, "denial": denial, "origin": documents::origin_name(set) });
        if let (Some(out), Ok(Value::Object(parts))) = (out.as_object_mut(), explanation.to_json())
        {
            out.extend(parts);
            out.extend(reproduced.map(|same| ("reproduced".to_owned(), json!(same))));
        }
        output::json(&out)?;
        return Ok(());
    }
    output::text(&explanation.to_text())?;
    match reproduced {
        None => {}
        Some(true) => output::line("  the recorded decision is this one, byte by byte")?,
        Some(false) => output::line("  the recorded decision is another one")?,
    }
    Ok(())
}
