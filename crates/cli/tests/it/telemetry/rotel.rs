//! [Rotel](https://github.com/streamfold/rotel), a collector for OpenTelemetry that others wrote: it decodes what it
//! gets and passes it on.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running collector.
pub(super) struct Rotel {
    child: Child,
    address: String,
}

impl Rotel {
    /// Starts the program; it passes everything on to this endpoint over HTTP.
    pub(super) fn start(program: &Path, folder: &Path, next: &str) -> Self {
        let (address, unused) = (free(), free());
        let file = |name: &str| folder.join(name).display().to_string();
        let mut command = Command::new(program);
        command
            .args(["start", "--otlp-http-endpoint", &address, "--otlp-grpc-endpoint", &unused])
            .args(["--otlp-exporter-endpoint", next, "--otlp-exporter-protocol", "http"])
            .args(["--batch-timeout", "50ms"])
            .args(["--pid-file", &file("rotel.pid"), "--log-file", &file("rotel.log")])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(&address).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "the collector ended");
            assert!(Instant::now() < end, "the collector does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, address }
    }

    pub(super) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Rotel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}
