//! `weaver catalog search`.

use contextweaver::catalog::{Catalog, SelectableItem};
use contextweaver::error::CatalogError;
use serde_json::json;
use weaver_text::escape;

use super::super::contracts::live_tools::{KERNEL, LiveTools};
use super::super::route::shortlist::Shortlist;
use super::args::Search;
use super::{Exit, Failure, output, source, table};

pub(super) fn run(args: &Search) -> Result<Exit, Failure> {
    let catalog = match &args.file {
        Some(file) => source::load_catalog(file, &args.input)?,
        None => live_catalog(args)?,
    };
    let shortlist = Shortlist::new(catalog, &args.limits)?;
    let answer = shortlist.answer(&args.goal);
    let router = shortlist.router();
    if args.output.json {
        let tools = answer.hits.iter().filter_map(|hit| {
            let item = router.item(&hit.id)?;
            Some(json!({
                "id": item.source_id(),
                "name": item.name,
                "kind": item.kind.as_str(),
                "namespace": item.namespace,
                "description": item.description,
                "tags": item.tags,
                "effects": contextweaver::card::EffectsNotice::from_effects(item.effects),
                "score": hit.points(),
                "copy": hit.is_near_duplicate,
            }))
        });
        let tools: Vec<_> = tools.collect();
        output::json(&json!({ "ok": true, "goal": args.goal, "tools": tools }))?;
    } else {
        output::text(&table::ranking_table(&answer.hits, |hit| router.item(&hit.id)))?;
    }
    Ok(Exit::Ok)
}

/// The tools of the configured servers, as the gateway would list them.
fn live_catalog(args: &Search) -> Result<Catalog, Failure> {
    let live = LiveTools::list(&args.from, KERNEL)?;
    if !args.output.json {
        output::stderr(&live.notes());
    }
    let mut catalog = Catalog::new();
    for tool in live.tools.values() {
        let id = tool.id();
        let effective = live.policy.apply_contract(tool);
        // The contract decides the effects of a tool.
        let Ok(effective) = effective else { continue };
        let mut item = SelectableItem::from(effective.spec());
        let upstream = id.as_str().split_once('.').map(|(upstream, _)| upstream.to_owned());
        item.namespace = upstream.unwrap_or_default();
        match catalog.insert(item) {
            Ok(()) | Err(CatalogError::Duplicate { .. }) => {}
            Err(error) => {
                let (note, error) = (output::bold("note"), error.to_string());
                output::stderr(&format!("{note}: left out: {}\n", escape::line(&error)));
            }
        }
    }
    Ok(catalog)
}
