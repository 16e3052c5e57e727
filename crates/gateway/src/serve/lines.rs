//! Writes lines to a client through a bounded queue.

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// The longest line that is read, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// The queue of lines to a client.
pub(crate) type Outbox = mpsc::Sender<Vec<u8>>;

/// Writes the queued lines until all senders are dropped.
pub(crate) async fn write(
    mut queue: mpsc::Receiver<Vec<u8>>,
    mut writer: impl AsyncWrite + Unpin + Send,
) {
    while let Some(line) = queue.recv().await {
        let mut ok = writer.write_all(&line).await.is_ok();
        while let Ok(line) = queue.try_recv() {
            ok = ok && writer.write_all(&line).await.is_ok();
        }
        if !ok || writer.flush().await.is_err() {
            // The client is gone; its requests are still recorded.
            queue.close();
        }
    }
}

/// Queues a line only while more than half of the queue is free, so that lines that come without end
/// leave room for others.
pub(crate) fn try_send_to_spare_room(outbox: &Outbox, line: Vec<u8>) {
    if outbox.capacity() > outbox.max_capacity() / 2 {
        let _ = outbox.try_send(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_end_leave_half_of_the_queue_to_others() {
        let (outbox, mut lines) = mpsc::channel(8);
        for _ in 0..20 {
            try_send_to_spare_room(&outbox, b"log".to_vec());
        }
        assert_eq!(outbox.capacity(), 4);
        outbox.try_send(b"a change".to_vec()).unwrap();
        let (single, _only) = mpsc::channel(1);
        try_send_to_spare_room(&single, b"log".to_vec());
        assert_eq!(single.capacity(), 0);
        lines.close();
    }
}
