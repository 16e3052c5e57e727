//! The recorded cases, by name.

use serde_json::Value;

/// One recorded case.
pub(crate) fn recorded(id: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../data/kernel_vectors.json")).unwrap();
    let case = all["cases"][id].clone();
    assert!(case.is_object(), "there is no case {id}");
    case
}
