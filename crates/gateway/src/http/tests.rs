//! What one connection may take, on a clock that stands still while something is done.

use axum::body::Body;
use axum::extract::Request;
use futures_util::stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::time::Instant;

use super::*;

/// Whatever ends a connection has done so by then.
const LONG: Duration = Duration::from_secs(600);

/// A connection to a gateway that reads bodies as `/mcp` does, and answers what is asked for.
fn connected(buffer: usize) -> DuplexStream {
    let whole = |request: Request| async {
        match request_body::read_body(request.into_body()).await {
            Ok(body) => body.len().to_string().into_response(),
            Err(response) => *response,
        }
    };
    let large = || async { vec![b'x'; 1024 * 1024] };
    let events = || async {
        let event = || async { Some((Ok::<_, std::io::Error>("data: x\n\n".repeat(100)), ())) };
        Body::from_stream(stream::unfold((), move |()| event()))
    };
    let router = Router::new()
        .route("/mcp", post(whole))
        .route("/large", get(large))
        .route("/events", get(events));
    let (client, server) = duplex(buffer);
    let server = WriteTimeoutStream::new(server, WRITE_TIMEOUT);
    let (proof, _) = Arc::new(UnprovenConnections::default()).begin();
    let peer = PeerAddress(SocketAddr::from(([127, 0, 0, 1], 1)));
    let connection = HttpConnection { router, peer, proof };
    tokio::spawn(async move { connection.serve(server, &CancellationToken::new()).await });
    client
}

async fn send(client: &mut DuplexStream, text: &str) {
    client.write_all(text.as_bytes()).await.unwrap();
}

/// What the client reads up to the end of the connection, and when that came.
async fn rest(client: &mut DuplexStream) -> (String, Duration) {
    let (begun, mut text) = (Instant::now(), Vec::new());
    let read = client.read_to_end(&mut text);
    let _ = tokio::time::timeout(LONG, read).await.expect("the connection ends");
    (String::from_utf8_lossy(&text).into_owned(), begun.elapsed())
}

/// Timers are exact to some milliseconds.
fn is_about(took: Duration, wanted: Duration) -> bool {
    took >= wanted && took < wanted + Duration::from_secs(1)
}

#[tokio::test(start_paused = true)]
async fn a_header_has_a_size_and_a_time() {
    let mut slow = connected(1024);
    send(&mut slow, "GET /large HTTP/1.1\r\nhost: x\r\n").await;
    assert!(is_about(rest(&mut slow).await.1, HEADER_TIMEOUT));
    let mut silent = connected(1024);
    assert!(is_about(rest(&mut silent).await.1, HEADER_TIMEOUT), "nothing was sent at all");
    let mut large = connected(4 * MAX_HEADER_BYTES);
    let header = format!("x-large: {}\r\n", "x".repeat(2 * MAX_HEADER_BYTES));
    send(&mut large, &format!("GET /large HTTP/1.1\r\nhost: x\r\n{header}\r\n")).await;
    assert!(rest(&mut large).await.0.starts_with("HTTP/1.1 431 "));
}

#[tokio::test(start_paused = true)]
async fn a_connection_between_two_requests_is_kept_for_a_while() {
    let mut client = connected(4096);
    send(&mut client, "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx").await;
    let (answer, took) = rest(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(is_about(took, HEADER_TIMEOUT), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_body_has_a_size_and_a_time() {
    let head = |length: usize| {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    let mut slow = connected(1024);
    send(&mut slow, &head(100)).await;
    let dripping = async {
        for _ in 0..50 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if slow.write_all(b"x").await.is_err() {
                break;
            }
        }
        rest(&mut slow).await.0
    };
    let (begun, answer) = (Instant::now(), dripping.await);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let mut broken = connected(1024);
    let head_of_chunks =
        "POST /mcp HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    send(&mut broken, &format!("{head_of_chunks}1\r\nx\r\nno size\r\n")).await;
    assert!(rest(&mut broken).await.0.starts_with("HTTP/1.1 400 "));
    let mut large = connected(1024 * 1024);
    let body = "x".repeat(16 * 1024 * 1024 + 1);
    send(&mut large, &head(body.len())).await;
    // The connection may end before the last of it is sent.
    let _ = large.write_all(body.as_bytes()).await;
    assert!(rest(&mut large).await.0.starts_with("HTTP/1.1 413 "));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_is_cut_and_one_that_reads_slowly_is_not() {
    for path in ["/large", "/events"] {
        let mut client = connected(1024);
        let begun = Instant::now();
        send(&mut client, &format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
        // What its buffer holds is there, and then the end.
        tokio::time::sleep(WRITE_TIMEOUT + Duration::from_secs(1)).await;
        let (read, more) = rest(&mut client).await;
        assert!(read.len() <= 1024 && more.is_zero(), "{} after {more:?}", read.len());
        assert!(begun.elapsed() > WRITE_TIMEOUT);
    }
    let mut client = connected(64 * 1024);
    send(&mut client, "GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    let (mut seen, mut chunk) = (0, vec![0; 64 * 1024]);
    loop {
        tokio::time::sleep(WRITE_TIMEOUT - Duration::from_secs(1)).await;
        match client.read(&mut chunk).await.unwrap() {
            0 => break,
            read => seen += read,
        }
    }
    assert!(seen > 1024 * 1024, "{seen}");
}
