//! The end of one direction of a connection, where the system cannot close it alone.
//!
//! A named pipe of Windows has no half-close. There a client sends a byte that no JSON contains, and
//! the daemon reads nothing behind it.

use std::borrow::Cow;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// End of transmission. A control character is invalid everywhere in JSON.
pub(super) const END_OF_INPUT: u8 = 0x04;

/// A line without the mark. It is no JSON in either form.
pub(super) fn without_mark(line: &[u8]) -> Cow<'_, [u8]> {
    if !line.contains(&END_OF_INPUT) {
        return Cow::Borrowed(line);
    }
    line.iter().map(|byte| if *byte == END_OF_INPUT { 0 } else { *byte }).collect()
}

/// A stream whose reader ends at the mark.
#[derive(Debug)]
pub(super) struct UntilEndOfInput<S> {
    stream: S,
    has_ended: bool,
}

impl<S> UntilEndOfInput<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, has_ended: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for UntilEndOfInput<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.has_ended {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        match ready!(Pin::new(&mut this.stream).poll_read(context, buffer)) {
            // How the end of a client is seen on Windows.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => this.has_ended = true,
            Err(error) => return Poll::Ready(Err(error)),
            Ok(()) => {
                let read = buffer.filled().get(before..).unwrap_or_default();
                if let Some(mark) = read.iter().position(|byte| *byte == END_OF_INPUT) {
                    this.has_ended = true;
                    buffer.set_filled(before + mark);
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn nothing_is_read_behind_the_mark_and_answers_still_go_out() {
        for size in [1, 3, 64] {
            let (mut client, daemon) = tokio::io::duplex(size);
            let (daemon, mut answers) = tokio::io::split(daemon);
            let mut daemon = UntilEndOfInput::new(daemon);
            let sender = tokio::spawn(async move {
                client.write_all(b"{\"id\":1}\n\x04").await.unwrap();
                let mut answer = [0; 3];
                client.read_exact(&mut answer).await.unwrap();
                answer
            });
            let mut read = Vec::new();
            daemon.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, b"{\"id\":1}\n");
            assert_eq!(daemon.read(&mut [0; 8]).await.unwrap(), 0);
            answers.write_all(b"ok\n").await.unwrap();
            assert_eq!(&sender.await.unwrap(), b"ok\n");
        }
    }

    #[test]
    fn a_line_of_a_client_contains_no_mark() {
        assert_eq!(*without_mark(b"{}\n"), *b"{}\n");
        assert_eq!(*without_mark(b"\x04{\x04}\n"), *b"\0{\0}\n");
    }
}
