//! `notifications/progress`: the token that a client sends with a call, and the notifications under
//! it.

use serde_json::{Map, Value, json};
use weaver_types::Progress;

use super::message;

/// The largest magnitude up to which every integer is exact as a double (2^53).
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// The progress token of a request, if it has a valid one.
pub(super) fn requested_token(params: &Map<String, Value>) -> Option<&Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_number()).then_some(token)
}

/// The parameters of the notification.
pub(super) fn params(token: &Value, progress: Progress) -> Value {
    let Progress { progress, total, message } = progress;
    let mut params = json!({ "progressToken": token, "progress": number(progress) });
    if let Some(params) = params.as_object_mut() {
        params.extend(total.map(|total| ("total".to_owned(), number(total))));
        params.extend(message.map(|message| ("message".to_owned(), Value::String(message))));
    }
    params
}

/// The notification as a line.
pub(super) fn line(params: Value) -> Vec<u8> {
    message::notification_with("notifications/progress", params)
}

/// Writes whole numbers without a fraction, as a server would.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() <= MAX_EXACT_INTEGER {
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
        assert_eq!(
            (number(-0.0), number(MAX_EXACT_INTEGER)),
            (json!(0), json!(9_007_199_254_740_992_i64))
        );
    }
}
