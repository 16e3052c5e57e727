//! Results that come bit by bit: chunks in, bounded and redacted frames out.

mod frames;
mod intake;
mod line;
mod row_window;
mod stream_whole;

use weaver_types::Frame;

pub use frames::{FrameStream, StreamEnd};
pub use stream_whole::{MAX_WHOLE, StreamWhole};

/// What comes out of a stream: parts, and one last frame.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// A part; more follows.
    Part(Frame),
    /// The last frame. It says how the stream ended, and names the handle of the whole.
    End(Frame),
}

impl StreamItem {
    /// The frame, whichever it is.
    #[must_use]
    pub fn frame(&self) -> &Frame {
        match self {
            Self::Part(frame) | Self::End(frame) => frame,
        }
    }
}
