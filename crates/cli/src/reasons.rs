//! `weaver reasons`.

use serde_json::json;
use weaver_types::ReasonCode;

use super::{Exit, Failure, output};
use crate::shared_args::JsonFlag;

pub(super) fn run(args: &JsonFlag) -> Result<Exit, Failure> {
    let mut text = String::new();
    for reason in ReasonCode::ALL {
        if args.json {
            let entry = json!({ "code": reason.as_str(), "meaning": reason.meaning() });
            text.push_str(&format!("{entry}\n"));
        } else {
            text.push_str(&format!("{:<32}{}\n", reason.as_str(), reason.meaning()));
        }
    }
    output::text(&text)?;
    Ok(Exit::Ok)
}
