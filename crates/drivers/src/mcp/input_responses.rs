//! The answers with which a request is made again whose result asked.

use serde_json::{Map, Value};

/// What a request brings that is made again: the answers, and what the server wants to see again.
#[derive(Clone)]
pub(crate) struct InputResponses {
    pub(crate) answers: Map<String, Value>,
    pub(crate) state: Option<Value>,
}

impl InputResponses {
    /// Puts them into the parameters of a request.
    pub(crate) fn add_to(self, params: &mut Map<String, Value>) {
        params.insert("inputResponses".to_owned(), Value::Object(self.answers));
        if let Some(state) = self.state {
            params.insert("requestState".to_owned(), state);
        }
    }
}
