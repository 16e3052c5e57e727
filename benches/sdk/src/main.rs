//! A client and a server of the official Rust SDK (rmcp), as programs in use have them.
//!
//! `server` serves pipes, `server-http` an address that it prints, and `measure PLAN` calls the
//! servers of a plan in turns and prints their figures as JSON.

mod calls;
mod server;

use std::process::ExitCode;

/// The error of the bench.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["server"] => server::serve_pipes().await?,
        ["server-http"] => server::serve_http().await?,
        ["measure", plan] => println!("{}", calls::measure(serde_json::from_str(plan)?).await?),
        _ => {
            eprintln!("usage: weaver-sdk-bench server | server-http | measure PLAN");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}
