//! What a stream costs that says nothing of it: its price where the tool may have done all that it
//! is paid for, and otherwise nothing.

use std::collections::VecDeque;

use serde_json::json;
use weaver_agent_kernel::{AuthorizedCall, Caller, ChunkSource, Driver, DriverError, block_on};
use weaver_types::{
    BoxFuture, CapabilityId, Effects, Millicents, RawChunk, RawResult, ResponseMode,
};

use crate::support::{Asked, World, ana, draft, fold, log, open_policy};

/// Ends a stream after its first chunk, with this error or without one.
struct Broken(Option<DriverError>);

struct Chunks(VecDeque<Result<RawChunk, DriverError>>);

impl ChunkSource for Chunks {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<RawChunk, DriverError>>> {
        Box::pin(std::future::ready(self.0.pop_front()))
    }
}

impl Driver for Broken {
    fn execute(&self, _: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        Box::pin(std::future::ready(Err(DriverError::Failed("not streamed".to_owned()))))
    }

    fn execute_stream(&self, _: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        let first = Ok(RawChunk::Text("step 1\n".to_owned()));
        let end = self.0.clone().map(Err);
        Some(Box::new(Chunks([Some(first), end].into_iter().flatten().collect())))
    }

    fn max_cost(&self, _: &CapabilityId) -> Millicents {
        Millicents(500)
    }

    fn name(&self) -> &str {
        "broken"
    }
}

#[test]
fn a_stream_costs_its_price_where_it_may_have_acted_and_gave_no_end() {
    let said = || "why".to_owned();
    for (error, cost) in [
        (Some(DriverError::Lost(said())), 500),
        (Some(DriverError::Network(said())), 500),
        (Some(DriverError::Failed(said())), 0),
        (Some(DriverError::Unavailable(said())), 0),
        (None, 0),
    ] {
        let world = World::new(open_policy());
        world.driven(draft("db.rows", Effects::READ_LOCAL), Broken(error.clone()));
        let (run, who, asked) = (world.run(), ana(), Asked::new("db.rows"));
        let caller = Caller { run: &run, principal: &who };
        let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
        let arguments = json!({});
        let mut stream =
            world.kernel.invoke_stream(caller, &token, &arguments, ResponseMode::Table);
        while block_on(stream.next()).is_some() {}
        drop(stream);
        assert_eq!(log(world.ledger.as_ref()).len(), 3);
        let used = fold(world.ledger.as_ref(), &run.run_id).meters;
        assert_eq!(used.cost, Millicents(cost), "{error:?}");
    }
}
