//! Ranks the items of a catalog for a query.

use std::path::Path;

use contextweaver::catalog::{Catalog, SelectableItem};
use contextweaver::error::CatalogError;
use contextweaver::filter::{Filter, FilterRule, History};
use contextweaver::graph::{ChoiceGraph, GraphOptions};
use contextweaver::route::{RouteAnswer, RouteRequest, Router, Selection};
use weaver_gateway::config::WordVectorSource;
use weaver_types::CapabilityId;

use super::args::{Limits, Strategy};
use super::{Exit, Failure};

/// How many ranked items guide a walk of the graph.
const GUIDE_HITS: usize = 1000;

/// A router with its limits.
pub(crate) struct Shortlist {
    router: Router,
    selection: Selection,
    filter: Filter,
    left_out: Vec<(FilterRule, usize)>,
    /// The graph to walk, and its beam width.
    graph: Option<(ChoiceGraph, usize)>,
    k: usize,
}

impl Shortlist {
    pub(crate) fn new(catalog: Catalog, limits: &Limits) -> Result<Self, Failure> {
        let failed = |error: CatalogError| {
            Failure::new(Exit::Invalid, error.code(), error)
                .with_next_step("`weaver catalog lint` tells everything that is wrong, at once")
        };
        let mut router = Router::new(catalog).map_err(failed)?;
        let named = limits.word_table.as_deref();
        if let Some(table) = named.and_then(|name| WordVectorSource::from_name(name, Path::new("")))
        {
            let table = table.load().map_err(|error| {
                Failure::new(Exit::Invalid, error.code(), error)
                    .with_next_step("write `built-in`, or name a folder that model2vec wrote")
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
    pub(super) fn left_out(&self) -> &[(FilterRule, usize)] {
        &self.left_out
    }

    /// The page of the graph that an item is on, if a graph is walked.
    pub(super) fn graph_page(&self, id: &CapabilityId) -> Option<String> {
        self.graph.as_ref()?.0.path_of(id)
    }

    /// The best items for a query, within the limits.
    pub(crate) fn answer(&self, query: &str) -> RouteAnswer {
        self.route(&self.request(query))
    }

    /// Like [`Self::answer`], with a trace.
    pub(super) fn traced_answer(&self, query: &str) -> RouteAnswer {
        self.route(&self.request(query).with_trace())
    }

    /// The request to the router: for the answer itself, or for the hits that guide the walk.
    fn request<'a>(&'a self, query: &'a str) -> RouteRequest<'a> {
        match self.graph {
            None => RouteRequest::new(query, self.k).with_filter(&self.filter),
            Some(_) => RouteRequest::new(query, GUIDE_HITS).with_selection(&self.selection),
        }
    }

    fn route(&self, request: &RouteRequest<'_>) -> RouteAnswer {
        let mut answer = self.router.answer(request);
        let Some((graph, width)) = &self.graph else { return answer };
        let walked = graph.beam(&answer.hits, *width, self.filter.ranking_depth(self.k));
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
        // Written as a catalog would.
        let parse_id =
            |text: &String| SelectableItem::from_source_id(text, "", "").map(|item| item.id);
        let ids: Result<Vec<_>, _> = texts.iter().map(parse_id).collect();
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
