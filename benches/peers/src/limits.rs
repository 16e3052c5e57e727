//! Documents.

use weaver_benches::Failure;

/// Nothing.
pub fn run() -> Result<bool, Failure> {
    Ok(true)
}
