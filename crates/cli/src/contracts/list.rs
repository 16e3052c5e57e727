//! `weaver contracts list`.

use serde_json::json;
use weaver_text::escape;

use super::args::List;
use super::contract_standing::ContractStanding;
use super::live_tools::LiveTools;
use super::{ledger, output};
use crate::{Exit, Failure};

pub(super) fn run(args: &List) -> Result<Exit, Failure> {
    let live = LiveTools::look(&args.from, &args.surface)?;
    let known = ledger::read(&live.config)?;
    let all = live.standings(&known);
    if args.output.json {
        output::json(&json!({
            "ok": true,
            "config": live.config.file.display().to_string(),
            "surface": args.surface,
            "tools": all.iter().map(ContractStanding::as_json).collect::<Vec<_>>(),
            "away": live.away,
            "left_out": live.left_out,
        }))?;
        return Ok(Exit::Ok);
    }
    let wide = all.iter().map(|one| one.tool.id().as_str().chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for one in &all {
        let id = escape::line(one.tool.id().as_str()).into_owned();
        let digest = one.tool.spec().upstream_digest.map(|digest| digest.to_string());
        let digest = output::dim(&digest.unwrap_or_default());
        out.push_str(&format!("{:<10} {:<11} {id:<wide$} {digest}\n", one.word(), one.class()));
        for suspicion in &one.suspicions {
            out.push_str(&format!("           {}\n", escape::line(suspicion)));
        }
    }
    out.push_str(&live.notes());
    let tools = if all.len() == 1 { "1 tool".to_owned() } else { format!("{} tools", all.len()) };
    out.push_str(&format!("{tools}\n"));
    output::text(&out)?;
    Ok(Exit::Ok)
}
