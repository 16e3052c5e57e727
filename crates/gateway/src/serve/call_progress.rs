//! Progress of a call, told to the client under its own token.

use serde_json::{Map, Value, json};
use weaver_types::Progress;

use super::message;

/// Beyond this, not every integer is a double.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The token under which a client wants to be told how far its call is: a text or a number.
pub(super) fn token(params: &Map<String, Value>) -> Option<&Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_number()).then_some(token)
}

/// What the line says.
pub(super) fn params(token: &Value, progress: Progress) -> Value {
    let Progress { progress, total, message } = progress;
    let mut params = json!({ "progressToken": token, "progress": number(progress) });
    if let Some(params) = params.as_object_mut() {
        params.extend(total.map(|total| ("total".to_owned(), number(total))));
        params.extend(message.map(|message| ("message".to_owned(), Value::String(message))));
    }
    params
}

/// The line that tells it.
pub(super) fn line(params: Value) -> Vec<u8> {
    message::notification_with("notifications/progress", params)
}

/// A number as a server would write it: whole ones without a fraction.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() <= MAX_EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and not too large")]
        return json!(value as i64);
    }
    json!(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_is_known_and_no_more() {
        let shown =
            |progress: Progress| String::from_utf8(line(params(&json!("t"), progress))).unwrap();
        let bare = Progress { progress: 1.0, ..Progress::default() };
        assert_eq!(
            shown(bare.clone()),
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\
             \"params\":{\"progress\":1,\"progressToken\":\"t\"}}\n"
        );
        let full = Progress { total: Some(2.5), message: Some("on".to_owned()), progress: 1e300 };
        let value: Value = serde_json::from_str(&shown(full)).unwrap();
        assert_eq!(
            value["params"],
            json!({ "progressToken": "t", "progress": 1e300, "total": 2.5, "message": "on" })
        );
        assert_eq!((number(-0.0), number(MAX_EXACT)), (json!(0), json!(9_007_199_254_740_992_i64)));
    }
}
