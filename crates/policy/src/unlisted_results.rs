//! One text for the results beyond those that are listed singly.

use weaver_types::Digest;
use weaver_types::digest::DomainTag;

/// How many hexadecimal digits of the digest are shown: enough that nobody finds another set with
/// the same ones.
const SHOWN_DIGITS: usize = 32;

/// The number of unlisted results and a digest of their details. An approval covers a hold by its
/// text, so a count alone would also cover other rules or signals of the same number, which no
/// approver saw. The order has no meaning.
pub(crate) fn describe_unlisted<'t>(
    noun: &str,
    details: impl IntoIterator<Item = &'t str>,
) -> String {
    let mut details: Vec<&[u8]> = details.into_iter().map(str::as_bytes).collect();
    details.sort_unstable();
    let digest = Digest::of_parts(DomainTag::UNLISTED, &details).to_hex();
    let shown = digest.get(..SHOWN_DIGITS).unwrap_or(&digest);
    format!("{} more {noun}, with the digest {shown}", details.len())
}
