//! A catalog that is asked.

use std::path::Path;

use contextweaver::catalog::{Catalog, SelectableItem};
use contextweaver::error::CatalogError;
use contextweaver::filter::{Filter, History, Rule};
use contextweaver::graph::{ChoiceGraph, GraphOptions};
use contextweaver::route::{RouteAnswer, RouteRequest, Router, Selection};
use weaver_gateway::config::WordTable;
use weaver_types::CapabilityId;

use super::args::{Limits, Strategy};
use super::{Exit, Failure};

/// How much of the ranking guides a walk.
const GUIDE: usize = 1000;

/// A router with what limits it.
pub(crate) struct Shortlist {
    router: Router,
    selection: Selection,
    filter: Filter,
    left_out: Vec<(Rule, usize)>,
    /// What is walked, with how many groups of a level are looked into.
    graph: Option<(ChoiceGraph, usize)>,
    k: usize,
}

impl Shortlist {
    pub(crate) fn new(catalog: Catalog, limits: &Limits) -> Result<Self, Failure> {
        let failed = |error: CatalogError| {
            Failure::new(Exit::Invalid, error.code(), error)
                .next("`weaver catalog lint` tells everything that is wrong, at once")
        };
        let mut router = Router::new(catalog).map_err(failed)?;
        let named = limits.word_table.as_deref();
        if let Some(table) = named.and_then(|name| WordTable::named(name, Path::new(""))) {
            let table = table.load().map_err(|error| {
                Failure::new(Exit::Invalid, error.code(), error)
                    .next("write `built-in`, or name a folder that model2vec wrote")
            })?;
            router = router.with_table(table);
        }
        let filter = filter(limits)?;
        let admitted = filter.admitted(router.catalog().iter());
        let selection = router.select_items(|item| filter.admits(item).is_ok());
        let graph = match limits.strategy {
            Strategy::Index => None,
            Strategy::Beam => {
                let all = router.catalog().iter();
                let items = all.zip(&admitted.items).filter(|(_, open)| **open);
                let graph =
                    ChoiceGraph::build(items.map(|(item, _)| item), GraphOptions::default())
                        .map_err(|error| Failure::new(Exit::Invalid, error.code(), error))?;
                Some((graph, limits.width.get()))
            }
        };
        let left_out = admitted.left_out.into_iter().collect();
        Ok(Self { router, selection, filter, left_out, graph, k: limits.k.into() })
    }

    pub(crate) fn router(&self) -> &Router {
        &self.router
    }

    /// What the filter left out, by rule.
    pub(super) fn left_out(&self) -> &[(Rule, usize)] {
        &self.left_out
    }

    /// The page of the graph on which an item stands, where a graph is walked.
    pub(super) fn page_of(&self, id: &CapabilityId) -> Option<String> {
        self.graph.as_ref()?.0.path_of(id)
    }

    /// The first for a query, as the limits want them.
    pub(crate) fn answer(&self, query: &str) -> RouteAnswer {
        self.arranged(&self.request(query))
    }

    /// The same with its trace.
    pub(super) fn traced_answer(&self, query: &str) -> RouteAnswer {
        self.arranged(&self.request(query).traced())
    }

    /// What the router is asked: for the answer itself, or for what guides the walk of the graph.
    fn request<'a>(&'a self, query: &'a str) -> RouteRequest<'a> {
        match self.graph {
            None => RouteRequest::new(query, self.k).filtered(&self.filter),
            Some(_) => RouteRequest::new(query, GUIDE).among(&self.selection),
        }
    }

    fn arranged(&self, request: &RouteRequest<'_>) -> RouteAnswer {
        let mut answer = self.router.answer(request);
        let Some((graph, width)) = &self.graph else { return answer };
        let walked = graph.beam(&answer.hits, *width, self.filter.depth(self.k));
        answer.hits = self.filter.arrange(walked, |id| self.router.item(id), self.k);
        if let Some(trace) = &mut answer.trace {
            let shown = |id: &str| answer.hits.iter().any(|hit| hit.id.as_str() == id);
            trace.candidates.retain(|candidate| shown(&candidate.id));
        }
        answer
    }
}

fn filter(limits: &Limits) -> Result<Filter, Failure> {
    let ids = |texts: &[String]| -> Result<Vec<CapabilityId>, Failure> {
        // As a catalog would spell them.
        let id = |text: &String| SelectableItem::named(text, "", "").map(|item| item.id);
        let ids: Result<Vec<_>, _> = texts.iter().map(id).collect();
        ids.map_err(|error| Failure::new(Exit::Usage, error.code(), error))
    };
    Ok(Filter {
        kinds: limits.kind.iter().copied().collect(),
        namespaces: limits.namespace.iter().cloned().collect(),
        tags: limits.tag.iter().cloned().collect(),
        exclude_ids: ids(&limits.exclude)?.into_iter().collect(),
        exclude_tags: limits.exclude_tag.iter().cloned().collect(),
        pins: ids(&limits.pin)?,
        quota: limits.quota,
        history: History { used: ids(&limits.used)? },
        ..Filter::default()
    })
}
