//! What the parts of a stream and its last frame leave of a budget.

use std::sync::LazyLock;

use serde_json::{Value, json};
use weaver_firewall::{FrameBudget, FrameSpec, FrameStream, StreamEnd};
use weaver_types::{Capability, CapabilityDraft, CapabilityId, Frame, RawChunk, ResponseMode};

use crate::support::{FIREWALL, chars, draft, spec, warned};

/// A capability with a long id, which stands in every frame.
static LONG_ID: LazyLock<Capability> = LazyLock::new(|| {
    let id = CapabilityId::parse(format!("crm.{}", "x".repeat(56))).unwrap();
    CapabilityDraft { id, ..draft(&[]) }.build().unwrap()
});
/// What is reserved for the last frame beyond its smallest form: the id, the handle and warnings.
const LAST_FRAME_CHARS: usize = 60 + 1_000;

fn budget(max_chars: usize) -> FrameSpec<'static> {
    let max_chars = u32::try_from(max_chars).unwrap();
    let budget = FrameBudget { max_rows: 10_000, max_chars, ..FrameBudget::default() };
    FrameSpec { budget, capability: &LONG_ID, ..spec(ResponseMode::Table) }
}

/// The part that a stream shows of this chunk at once, if any, and its last frame.
fn frames(spec: &FrameSpec<'_>, chunk: RawChunk) -> (Option<Frame>, Frame) {
    let mut stream = FrameStream::new(&FIREWALL, spec.clone(), None);
    let part = stream.push(chunk);
    let whole = stream.take_result();
    (part, stream.end(StreamEnd::Complete, &whole, None).0)
}

/// Rows of seven characters.
fn numbers(count: usize) -> RawChunk {
    RawChunk::Json((0..count).map(|_| json!({ "n": 1 })).collect::<Value>())
}

#[test]
fn a_part_fills_what_the_last_frame_does_not_need() {
    for max in 3_000..3_020 {
        let spec = budget(max);
        let (part, last) = frames(&spec, numbers(500));
        let left = max - chars(&part.unwrap());
        let needed = FIREWALL.min_chars(&spec) + LAST_FRAME_CHARS;
        // A frame keeps room for warnings of its own.
        assert!((needed..needed + 100).contains(&left), "{left} of {max} for {needed}");
        assert!(chars(&last) <= left);
    }
}

#[test]
fn a_part_is_sent_where_it_fits_whole_or_with_an_eighth_of_the_budget() {
    let smallest = FIREWALL.min_chars(&budget(1_000));
    let is_sent = |max: usize, rows: usize| frames(&budget(max), numbers(rows)).0.is_some();
    let two_frames = 2 * smallest + LAST_FRAME_CHARS;
    assert!(!is_sent(two_frames + 6, 1) && is_sent(two_frames + 7, 1));
    // Seven eighths of the budget are as much as two frames need.
    let with_eighth = two_frames * 8 / 7;
    assert!(!is_sent(with_eighth - 2, 500) && is_sent(with_eighth + 2, 500));
}

#[test]
fn the_last_frame_fills_what_is_left_with_all_that_is_said_of_the_stream() {
    let text = RawChunk::Text("ann@corp.net 419-06-3188\n".repeat(200));
    for chunk in [numbers(500), text] {
        for max in 1_000..1_050 {
            let (part, last) = frames(&budget(max), chunk.clone());
            assert!(part.is_none() && warned(&last, "rows_omitted").is_some());
            // A row of a text has 34 characters.
            let unused = max - chars(&last);
            assert!((90..130).contains(&unused), "{unused} of {max}: {:?}", last.warnings);
        }
    }
}

#[test]
fn all_parts_and_the_last_frame_keep_to_the_budget_together() {
    for max in [4_000, 6_000, 9_000] {
        let mut stream = FrameStream::new(&FIREWALL, budget(max), None);
        let parts: Vec<Frame> = (0..60).filter_map(|_| stream.push(numbers(20))).collect();
        let whole = stream.take_result();
        let (last, _) = stream.end(StreamEnd::Complete, &whole, None);
        let sum = parts.iter().chain([&last]).map(chars).sum::<usize>();
        assert!(parts.len() > 1 && sum <= max, "{sum} of {max} in {} parts", parts.len());
    }
}

#[test]
fn the_last_frame_has_the_handle_of_the_whole() {
    let handle = crate::auto::handle();
    for mode in [ResponseMode::Table, ResponseMode::Summary] {
        let mut stream = FrameStream::new(&FIREWALL, spec(mode), None);
        stream.push(numbers(3));
        let whole = stream.take_result();
        let (last, _) = stream.end(StreamEnd::Complete, &whole, Some(&handle));
        assert_eq!(last.handle.map(|handle| handle.handle_id), Some(handle.handle_id.clone()));
    }
}
