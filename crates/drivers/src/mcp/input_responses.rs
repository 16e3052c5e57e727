//! The client's answers, sent when a request is retried after the server asked for input.

use serde_json::{Map, Value};

/// The client's answers, and the state that the server wants back with them.
#[derive(Clone)]
pub(crate) struct InputResponses {
    pub(crate) answers: Map<String, Value>,
    pub(crate) state: Option<Value>,
}

impl InputResponses {
    /// Adds them to the parameters of the request.
    pub(crate) fn add_to(self, params: &mut Map<String, Value>) {
        params.insert("inputResponses".to_owned(), Value::Object(self.answers));
        if let Some(state) = self.state {
            params.insert("requestState".to_owned(), state);
        }
    }
}
