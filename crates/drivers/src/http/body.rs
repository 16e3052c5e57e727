//! Reads the body of a response within a bound.

use reqwest::Response;

/// Why the body of a response could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// The connection broke off.
    Broken,
    /// It is longer than the bound.
    TooLong,
}

/// Appends the whole body to `out`, which then has at most `limit` bytes.
pub(crate) async fn read_body(
    response: &mut Response,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<(), BodyError> {
    while let Some(chunk) = response.chunk().await.map_err(|_| BodyError::Broken)? {
        if out.len().saturating_add(chunk.len()) > limit {
            return Err(BodyError::TooLong);
        }
        out.extend_from_slice(&chunk);
    }
    Ok(())
}
