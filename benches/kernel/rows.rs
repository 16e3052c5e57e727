//! Calls whose results have a thousand rows and more, and a drill-down, with a ledger in memory.

use serde_json::{Value, json};
use weaver_benches::kernel::Desk;
use weaver_benches::{Failure, records};
use weaver_firewall::HandleQuery;
use weaver_types::ResponseMode;

use weaver_benches::measure::median;

use crate::Effort;

/// The question of the drill-down.
const QUERY: &str =
    r#"{"filter":{"status":"open"},"fields":["id","amount","note"],"offset":1000,"limit":50}"#;

/// Microseconds of a grant with its invocation, and of a drill-down.
pub fn times(effort: &Effort) -> Result<Value, Failure> {
    Ok(json!({
        "invoke_summary_us": invoke(ResponseMode::Summary, effort)?,
        "invoke_table_us": invoke(ResponseMode::Table, effort)?,
        "expand": expand(effort)?,
    }))
}

fn invoke(mode: ResponseMode, effort: &Effort) -> Result<f64, Failure> {
    let desk = Desk::with_rows(records::people())?;
    let done = desk.invoke(mode).and_then(|done| done.result).ok_or("no result")?;
    let frame = done.data.ok_or("no frame")?;
    if serde_json::to_string(&frame)?.contains("@corp.example.com") {
        return Err("an address was shown".into());
    }
    let mut refused = None;
    let time = median(effort.row_calls, || {
        let done = desk.invoke(mode);
        if done.as_ref().is_none_or(|done| done.result.is_none()) {
            refused = done.map(|done| format!("{:?}", done.decision));
        }
    });
    if let Some(decision) = refused {
        return Err(format!("a call was refused: {decision}").into());
    }
    Ok(time.as_secs_f64() * 1e6)
}

fn expand(effort: &Effort) -> Result<Value, Failure> {
    let desk = Desk::with_rows(records::orders())?;
    let done = desk.invoke(ResponseMode::HandleOnly).and_then(|done| done.result);
    let frame = done.and_then(|result| result.data).ok_or("no frame")?;
    let handle = frame.handle.ok_or("no handle")?.handle_id;
    let query = match HandleQuery::parse(&serde_json::from_str(QUERY)?) {
        Ok(query) => query,
        Err(error) => return Ok(json!({ "error": error.to_string() })),
    };
    let first = desk.expand(&handle, &query);
    let Some(frame) = first.result.and_then(|result| result.data) else {
        return Ok(json!({ "error": format!("{:?}", first.decision.primary_reason()) }));
    };
    let time = median(effort.row_calls, || {
        assert!(desk.expand(&handle, &query).result.is_some());
    });
    Ok(json!({ "us": time.as_secs_f64() * 1e6, "rows": frame.table.len() }))
}
