//! What a hostile child tries. Each attempt says "done", or fails with the system's error.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

/// Makes one attempt: `{"do": …, "at": …}`.
pub(crate) fn attempt(asked: &Value) -> io::Result<String> {
    let at = asked["at"].as_str().unwrap_or_default();
    let number = asked["at"].as_u64().unwrap_or_default();
    match asked["do"].as_str().unwrap_or_default() {
        "read" => drop(fs::read(at)?),
        "list" => drop(fs::read_dir(at)?.count()),
        "write" => OpenOptions::new().create(true).append(true).open(at)?.write_all(b"x")?,
        "make" => drop(File::create_new(at)?),
        "folder" => fs::create_dir(at)?,
        "remove" => fs::remove_file(at)?,
        "move" => fs::rename(at, asked["to"].as_str().unwrap_or_default())?,
        "link" => fs::hard_link(at, asked["to"].as_str().unwrap_or_default())?,
        "cut" => rustix::fs::ftruncate(OpenOptions::new().write(true).open(at)?, 0)?,
        "execute" => drop(Command::new(at).status()?),
        "connect" => drop(TcpStream::connect(at)?),
        "bind" => drop(TcpListener::bind(at)?),
        "datagram" => drop(UdpSocket::bind("0.0.0.0:0")?.send_to(b"x", at)?),
        "abstract" => drop(UnixStream::connect_addr(&SocketAddr::from_abstract_name(at)?)?),
        "signal" => test_kill_process(pid(number))?,
        "stop" => kill_process(pid(number), Signal::STOP)?,
        "memory" => Vec::<u8>::new()
            .try_reserve_exact(usize::try_from(number).unwrap_or(usize::MAX))
            .map_err(io::Error::other)?,
        "open" => {
            let files: io::Result<Vec<File>> =
                (0..number).map(|_| File::open("/dev/null")).collect();
            drop(files?);
        }
        // What a shell puts out; its children may go on without its pipe.
        "shell" => {
            let mut shell = Command::new("/bin/sh");
            let script = format!(
                "exec 3>&1; exec > /dev/null 2>&1; {}",
                at.replace("echo started", "echo started >&3")
            );
            let mut child =
                shell.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
            let mut said = String::new();
            let mut out = io::BufReader::new(child.stdout.take().ok_or(io::ErrorKind::Other)?);
            out.read_line(&mut said)?;
            child.wait()?;
            return Ok(said);
        }
        // Threads that each show all of these files.
        "crowd" => {
            let files = asked["files"].as_u64().unwrap_or_default();
            for _ in 0..files {
                std::mem::forget(File::open("/dev/null")?);
            }
            for _ in 0..number {
                let thread = std::thread::Builder::new().stack_size(64 * 1024);
                drop(thread.spawn(|| {
                    loop {
                        std::thread::park();
                    }
                })?);
            }
        }
        // Hands its orphans on to somebody else.
        "disown" => rustix::process::set_child_subreaper(None)?,
        // Left open for good.
        "keep" => std::mem::forget(File::open(at)?),
        "descriptors" => {
            let open = fs::read_dir("/proc/self/fd")?;
            let links = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
            let links: Vec<String> = links.map(|link| link.display().to_string()).collect();
            return Ok(links.join("\n"));
        }
        other => return Err(io::Error::other(format!("no attempt `{other}`"))),
    }
    Ok("done".to_owned())
}

fn pid(number: u64) -> Pid {
    i32::try_from(number).ok().and_then(Pid::from_raw).unwrap()
}
