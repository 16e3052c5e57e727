//! The ledger against what it stands on: bare SQLite, bare SHA-256, a `Vec`; all as ratios.
//!
//! A sync takes 0.05 ms or 4 ms on the same machine within minutes. So both sides of each ratio are
//! measured in turns, in one run, each round begins with a sync of its own, and only the median of
//! the rounds' ratios is set against a target.
//!
//! `cargo bench -p weaver-benches --bench ledger [-- PART…]`; parts are `sync`, `memory`, `verify`,
//! `reader`, `second` and `growth` (up to 10^6 events, with `--full` 10^7). Without `--bench` or with
//! `--test` it does a little of everything and measures nothing.

mod bare;
mod callers;
mod growth;
mod memory;
mod reader;
mod round;
mod second;
mod verification;

use round::{Failure, Size};

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if let [hold, folder, ..] = arguments.as_slice()
        && hold == second::HOLD
    {
        return second::hold(folder.as_ref());
    }
    if has("--list") {
        return Ok(());
    }
    let size = match (has("--bench") && !has("--test"), has("--full")) {
        (false, _) => Size::smoke(),
        (true, false) => Size::usual(),
        (true, true) => Size { largest: 10_000_000, ..Size::usual() },
    };
    let all = !arguments.iter().any(|argument| !argument.starts_with("--"));
    let mut short = 0;
    for (name, part) in [
        ("sync", callers::run as fn(&Size) -> Result<usize, Failure>),
        ("memory", memory::run),
        ("verify", verification::run),
        ("reader", reader::run),
        ("second", second::run),
        ("growth", growth::run),
    ] {
        if all || has(name) {
            short += part(&size)?;
        }
    }
    if size.in_earnest {
        println!("{short} targets missed");
    }
    Ok(())
}
