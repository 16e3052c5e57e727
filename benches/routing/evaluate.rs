//! Quality on sets of tools and queries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use contextweaver::route::{Hit, Router, TokenTable};
use serde_json::{Value, json};
use weaver_benches::{Failure, measure};

use crate::corpus::{self, Set};
use crate::score::{DEPTH, Score, mean, rounded};

/// Most examples a tool that are tried where none are asked for: few, and many.
const EXAMPLES: [usize; 2] = [5, 30];
/// Queries before the clock counts.
const WARM_UP: usize = 20;

/// What is evaluated.
pub(crate) struct Args {
    dir: PathBuf,
    sets: Vec<String>,
    examples: Vec<usize>,
    table: bool,
}

impl Args {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut args =
            Self { dir: PathBuf::new(), sets: Vec::new(), examples: Vec::new(), table: true };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--set" => args.sets.push(value()?.clone()),
                "--examples" => args.examples.push(value()?.parse()?),
                "--no-table" => args.table = false,
                _ if args.dir.as_os_str().is_empty() => args.dir = PathBuf::from(argument),
                _ => return Err(format!("{argument} is not known").into()),
            }
        }
        Ok(args)
    }
}

/// How one run differs from another: with the table, and examples a tool.
type Way = (bool, usize);

pub(crate) fn run(args: &Args) -> Result<Value, Failure> {
    let table = TokenTable::built_in()?;
    let mut sets = Vec::new();
    let mut by_way: BTreeMap<Way, Vec<BTreeMap<&'static str, f64>>> = BTreeMap::new();
    for folder in corpus::folders(&args.dir, &args.sets)? {
        let set = Set::read(&folder)?;
        let mut runs = Vec::new();
        for way in ways(args, &set) {
            let (figures, build) = one(&set, way, &table)?;
            runs.push(run_json(way, &figures, build));
            if way.1 == 0 {
                by_way.entry(way).or_default().push(figures);
            }
        }
        let known: BTreeSet<&str> = set.items.iter().map(|item| item.source_id()).collect();
        let unknown =
            set.queries.iter().flat_map(|q| &q.gold).filter(|id| !known.contains(id.as_str()));
        sets.push(json!({
            "name": set.name, "tools": set.items.len(), "queries": set.queries.len(),
            "gold_not_among_tools": unknown.count(), "notes": set.notes, "runs": runs,
        }));
    }
    let macros = by_way.iter().map(
        |((table, _), all)| json!({ "table": table, "sets": all.len(), "figures": mean(all) }),
    );
    Ok(json!({ "version": 1, "sets": sets, "macro": macros.collect::<Vec<_>>() }))
}

fn run_json((table, examples): Way, figures: &BTreeMap<&'static str, f64>, build: f64) -> Value {
    let figures: BTreeMap<_, _> = figures.iter().map(|(n, f)| (*n, rounded(*f))).collect();
    json!({ "table": table, "examples": examples, "figures": figures, "build_ms": rounded(build) })
}

fn ways(args: &Args, set: &Set) -> Vec<Way> {
    let tables: &[bool] = if args.table { &[false, true] } else { &[false] };
    let mut examples = vec![0];
    if !set.examples.is_empty() {
        let asked: &[usize] = if args.examples.is_empty() { &EXAMPLES } else { &args.examples };
        examples.extend(asked);
    }
    examples.dedup();
    tables.iter().flat_map(|table| examples.iter().map(|count| (*table, *count))).collect()
}

/// The figures of one run, and how long the index took, in milliseconds.
fn one(
    set: &Set,
    (with_table, examples): Way,
    table: &Arc<TokenTable>,
) -> Result<(BTreeMap<&'static str, f64>, f64), Failure> {
    let catalog = set.catalog(examples)?;
    let began = measure::now();
    let mut router = Router::new(catalog)?;
    if with_table {
        router = router.with_table(Arc::clone(table));
    }
    let build = (measure::now() - began).as_secs_f64() * 1e3;
    for query in set.queries.iter().take(WARM_UP) {
        let _ = router.route(&query.text, DEPTH);
    }
    let mut score = Score::default();
    for query in &set.queries {
        let began = measure::now();
        let hits = router.route(&query.text, DEPTH);
        score.took(measure::now().saturating_sub(began));
        score.add(&names(&router, &hits), &query.gold, &query.gold_all);
    }
    Ok((score.figures(), build))
}

fn names(router: &Router, hits: &[Hit]) -> Vec<String> {
    let items = hits.iter().filter_map(|hit| router.item(&hit.id));
    items.map(|item| item.source_id().to_owned()).collect()
}
