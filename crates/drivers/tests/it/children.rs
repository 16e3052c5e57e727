//! Children that are this test binary again: they tell what they did, and may be killed in the
//! middle.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// How many run at once.
pub(crate) const PROCESSES: usize = 2;

/// Tells the parent.
pub(crate) fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n@ {what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Starts one that runs this test, which reads the path from the variable `place`.
fn child(test: &str, place: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(place, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn lines(child: &mut Child) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(child.stdout.take().unwrap()).lines()
}

/// Runs some side by side to their end; each says `open`. Gives their process ids.
pub(crate) fn run(test: &str, place: &str, path: &Path) -> Vec<u32> {
    let children: Vec<Child> = (0..PROCESSES).map(|_| child(test, place, path)).collect();
    let end = |mut child: Child| {
        // Read to its end, so that the child never waits for somebody to read.
        let told: Vec<String> = lines(&mut child).map_while(Result::ok).collect();
        assert!(told.iter().any(|line| line == "@ open"));
        assert!(child.wait().unwrap().success());
        child.id()
    };
    children.into_iter().map(end).collect()
}

/// Runs some that never end, kills them once each has told `count` things, and adds all that they
/// told, each of which begins with `own`.
pub(crate) fn kill(
    (test, place, path): (&str, &str, &Path),
    count: usize,
    told: &mut BTreeSet<String>,
) {
    let mut children: Vec<Child> = (0..PROCESSES).map(|_| child(test, place, path)).collect();
    let mut all: Vec<_> = children.iter_mut().map(lines).collect();
    let own = |line: String| line.strip_prefix("@ own").map(|rest| format!("own{rest}"));
    for _ in 0..count {
        for lines in &mut all {
            told.insert(lines.by_ref().map_while(Result::ok).find_map(own).unwrap());
        }
    }
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    for lines in &mut all {
        told.extend(lines.by_ref().map_while(Result::ok).filter_map(own));
    }
}
