//! The walk over the graph beside the index.

use contextweaver::graph::{BEAM_WIDTH, ChoiceGraph, GraphOptions};
use contextweaver::route::Router;
use serde_json::{Value, json};
use weaver_benches::Failure;

use crate::corpus::Set;
use crate::evaluate::names;
use crate::score::{Score, percent, rounded};

/// How much of the ranking guides the walk.
const GUIDE: usize = 1000;
/// How many items the walk gives.
const PLACES: usize = 20;

/// In how many queries the walk and the index have the same first item, and what the walk finds.
pub(crate) fn agreement(set: &Set, router: &Router, table: bool) -> Result<Value, Failure> {
    let options = GraphOptions { max_depth: 12, ..GraphOptions::default() };
    let graph = ChoiceGraph::build(router.catalog().iter(), options)?;
    let (mut same, mut score) = (0, Score::default());
    for query in &set.queries {
        let ranked = router.route(&query.text, GUIDE);
        let walked = graph.beam(&ranked, BEAM_WIDTH, PLACES);
        let first = |hits: &[contextweaver::route::Hit]| hits.first().map(|hit| hit.id.clone());
        same += usize::from(first(&walked) == first(&ranked));
        score.add(&names(router, &walked), &query.gold, &[]);
    }
    Ok(json!({
        "table": table, "groups": graph.groups(),
        "same_top1": rounded(percent(same, set.queries.len())),
        "beam_recall@5": score.figures().get("recall@5").copied().map(rounded),
    }))
}
