//! The driver under the kernel: the only way in which a tool of an upstream is called.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::{Value, json};
use weaver_agent_kernel::{Call, Caller, Driver, Invocation, Kernel, Registry, block_on};
use weaver_drivers::McpDriver;
use weaver_drivers::mcp::Upstream;
use weaver_policy::{Contracts, Policy, PolicySet};
use weaver_types::ledger::Ledger;
use weaver_types::{
    CapabilityId, CapabilityRequest, Frame, Principal, PrincipalId, ResponseMode, RunSettings,
    ToolSpec,
};

use crate::support::{config, request};

/// A call of `docs.read`, which stands for one tool of the fixture. It is driven by the kernel's own executor; the connection lives on a tokio runtime beside it.
fn call(tool: &str, arguments: &Value) -> Invocation {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let upstream = Arc::new(Upstream::new(config("plain")));
    through_kernel(McpDriver::new(upstream, tool, runtime.handle().clone()), arguments)
}

/// A kernel with this driver behind `docs.read`, whose calls may take so many milliseconds.
fn kernel(limit: u32, driver: impl Driver + 'static) -> Kernel {
    let registry = Registry::new();
    let mut spec = ToolSpec::new("docs.read", "Reads");
    (spec.timeout_ms, spec.max_retries) = (limit, 0);
    registry.register(spec.build().unwrap(), Arc::new(driver)).unwrap();
    let policy = PolicySet::from_code(Policy::baseline().unwrap(), Contracts::new("none")).unwrap();
    Kernel::in_memory(registry, policy).unwrap()
}

/// One call of this driver by a kernel.
pub(crate) fn through_kernel(driver: impl Driver + 'static, arguments: &Value) -> Invocation {
    within(5_000, driver, arguments)
}

/// One call that may take so many milliseconds.
pub(crate) fn within(limit: u32, driver: impl Driver + 'static, arguments: &Value) -> Invocation {
    recorded(limit, driver, arguments).0
}

/// One call that may take so many milliseconds, and the ledger that keeps what came of it.
pub(crate) fn recorded(
    limit: u32,
    driver: impl Driver + 'static,
    arguments: &Value,
) -> (Invocation, Arc<dyn Ledger>) {
    let kernel = kernel(limit, driver);
    let ledger = Arc::clone(kernel.ledger());
    let run = kernel.start_run(RunSettings::default()).unwrap();
    let principal = Principal::new(PrincipalId::parse("ana").unwrap()).with_roles(["reader"]);
    let request = CapabilityRequest::new(CapabilityId::parse("docs.read").unwrap(), "read");
    let call = Call { request: &request, arguments: Some(arguments), mode: ResponseMode::Summary };
    (block_on(kernel.execute(Caller { run: &run, principal: &principal }, call)), ledger)
}

/// The frames of one call of this driver that is streamed, and what came of it. A call that may take
/// so many milliseconds; `look` sees each frame as it comes, and ends the call with `false`.
pub(crate) fn streamed(
    limit: u32,
    driver: impl Driver + 'static,
    arguments: &Value,
    mut look: impl FnMut(&Frame) -> bool,
) -> (Vec<Frame>, Option<Invocation>) {
    let kernel = kernel(limit, driver);
    let run = kernel.start_run(RunSettings::default()).unwrap();
    let principal = Principal::new(PrincipalId::parse("ana").unwrap()).with_roles(["reader"]);
    let request = CapabilityRequest::new(CapabilityId::parse("docs.read").unwrap(), "read");
    let call = Call { request: &request, arguments: Some(arguments), mode: ResponseMode::Table };
    let caller = Caller { run: &run, principal: &principal };
    let token = block_on(kernel.grant(caller, call)).token.unwrap();
    let mut stream = kernel.invoke_stream(caller, &token, arguments, ResponseMode::Table);
    let mut items = Vec::new();
    while let Some(item) = block_on(stream.next()) {
        let frame = item.frame().clone();
        let goes_on = look(&frame);
        items.push(frame);
        if !goes_on {
            return (items, None);
        }
    }
    let done = stream.invocation().cloned();
    (items, done)
}

/// Everything that frames show in cells, in order.
pub(crate) fn cells(frames: &[Frame]) -> String {
    let rows = frames.iter().flat_map(|frame| &frame.table);
    let cells = rows.flat_map(|row| row.values());
    cells.map(|cell| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned)).collect()
}

#[test]
fn progress_and_the_result_of_a_tool_are_one_stream() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let upstream = Arc::new(Upstream::new(config("plain")));
    let driver = || McpDriver::new(Arc::clone(&upstream), "speak", runtime.handle().clone());
    let messages = ["we begin here ", "mail jane.roe@", "corp.example.com ", "that was all"];
    let (items, done) = streamed(20_000, driver(), &json!({ "messages": messages }), |_| true);
    let done = done.unwrap();
    assert!(done.result.as_ref().unwrap().success, "{done:?}");
    assert!(items.len() > 1, "{items:?}");
    let shown = cells(&items);
    assert_eq!(shown, "we begin here mail [EMAIL_1] that was alldone");
    // A tool that says of itself that it failed has failed.
    let driver = McpDriver::new(Arc::clone(&upstream), "fail", runtime.handle().clone());
    let (_, done) = streamed(20_000, driver, &json!({}), |_| true);
    assert!(!done.unwrap().result.unwrap().success);
}

#[test]
fn a_call_reaches_its_tool_and_no_other() {
    let arguments =
        json!({"name": "crash", "operation": "crash", "tool": "crash", "method": "tools/list"});
    let done = call("echo", &arguments);
    assert!(done.decision.is_allowed(), "{:?}", done.decision);
    let result = done.result.unwrap();
    assert!(result.success, "{result:?}");
    assert!(format!("{result:?}").contains("tools/list"), "{result:?}");
}

#[test]
fn a_crash_is_a_failure_that_says_how_and_repeats_nothing_of_the_program() {
    let done = call("crash", &json!({}));
    let result = done.result.unwrap();
    assert!(!result.success, "{result:?}");
    let said = &result.error_message;
    assert!(said.contains("exit status: 7") && said.contains("weaver doctor"), "{said}");
    assert!(!said.contains("cheese"), "{said}");
}

#[test]
fn an_unknown_tool_is_a_failure() {
    let done = call("nothing", &json!({}));
    assert!(!done.result.unwrap().success);
}

/// A program that was started anew may be another one: a driver for the old one does not call it.
#[test]
fn a_driver_of_one_connection_calls_no_other() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let upstream = Arc::new(Upstream::new(config("plain")));
    let driver = |generation| {
        McpDriver::new(Arc::clone(&upstream), "echo", runtime.handle().clone())
            .of_generation(generation)
    };
    let succeeds = |generation| {
        let done = through_kernel(driver(generation), &json!({}));
        let result = done.result.unwrap();
        if !result.success {
            assert!(format!("{result:?}").contains("nothing was sent"), "{result:?}");
        }
        result.success
    };
    let listed = || runtime.block_on(upstream.list_tools_with_connection()).unwrap().0.generation();
    // A driver of a connection connects none.
    assert!(!succeeds(1));
    assert_eq!(listed(), 1);
    assert!(succeeds(1) && !succeeds(2));
    runtime.block_on(upstream.call(request("crash", json!({})))).unwrap_err();
    assert!(!succeeds(1));
    assert_eq!(runtime.block_on(upstream.connection()).unwrap().generation(), 2);
    assert!(!succeeds(1));
    assert!(upstream.tools_stale());
    assert_eq!(listed(), 2);
    assert!(!upstream.tools_stale());
    assert!(succeeds(2) && !succeeds(1));
}

/// A driver of one connection takes its calls out of the same second as all others.
#[test]
fn a_driver_of_one_connection_keeps_to_its_servers_limit() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut config = config("plain");
    config.limits.calls_per_second = NonZeroU32::new(3);
    let upstream = Arc::new(Upstream::new(config));
    let generation = runtime.block_on(upstream.connection()).unwrap().generation();
    let is_held_up = |_: &i32| {
        let driver = McpDriver::new(Arc::clone(&upstream), "echo", runtime.handle().clone());
        let result = through_kernel(driver.of_generation(generation), &json!({})).result.unwrap();
        !result.success || result.retries > 0
    };
    assert!((0..20).filter(is_held_up).count() >= 10);
}
