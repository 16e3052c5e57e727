use serde_json::json;
use weaver_types::{Clock, ManualClock, Timestamp};

use super::*;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::parse_rfc3339("2026-01-02T03:04:05Z").unwrap()))
}

fn begin_at(
    tasks: &Tasks,
    clock: &Arc<ManualClock>,
    lifetime: Duration,
) -> Result<Arc<Task>, RpcError> {
    let clock: Arc<dyn Clock> = clock.clone();
    tasks.begin(TaskContext { clock: &clock, results: &Arc::default() }, lifetime)
}

fn request(method: &str, params: Value) -> Request {
    let params = params.as_object().cloned().unwrap();
    Request { id: json!(1), method: method.to_owned(), params, argument_problem: None }
}

fn ids(tasks: &Tasks, cursor: Option<&Value>) -> (Vec<String>, Option<Value>) {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    let page = tasks.list(params.as_object().unwrap()).unwrap();
    let ids = page["tasks"].as_array().unwrap().iter();
    let ids = ids.map(|task| task["taskId"].as_str().unwrap().to_owned()).collect();
    (ids, page.get("nextCursor").cloned())
}

#[test]
fn what_has_ended_is_kept_for_its_time_and_what_works_for_as_long_as_it_takes() {
    let (tasks, clock) = (Tasks::default(), clock());
    let begin = |seconds| begin_at(&tasks, &clock, Duration::from_secs(seconds)).unwrap();
    let (short, long, working) = (begin(10), begin(100), begin(10));
    short.finish(Ok(json!({})));
    long.finish(Ok(json!({})));
    clock.advance(Duration::from_secs(9));
    assert_eq!(ids(&tasks, None).0.len(), 3);
    clock.advance(Duration::from_secs(1));
    assert_eq!(ids(&tasks, None).0.len(), 3, "its end can still be seen");
    clock.advance(Duration::from_secs(50));
    let left = [long.id().to_owned(), working.id().to_owned()];
    assert_eq!(ids(&tasks, None), (left.to_vec(), None));
    let gone = request("tasks/get", json!({ "taskId": short.id() }));
    let gone = tasks.find(&gone.params).err().unwrap();
    assert_eq!(gone.code, code::INVALID_PARAMS);
    assert!(gone.message.contains(short.id()), "{}", gone.message);
}

#[test]
fn tasks_are_bounded_in_number_and_their_results_in_bytes() {
    let (tasks, clock) = (Tasks::default(), clock());
    let begin = || begin_at(&tasks, &clock, DEFAULT_LIFETIME);
    let working: Vec<_> = (0..MAX_WORKING).map(|_| begin().unwrap()).collect();
    assert!(begin().is_err(), "all of them work");
    working[0].finish(Ok(json!({})));
    let ended: Vec<_> = (MAX_WORKING..MAX_TASKS)
        .map(|_| {
            let task = begin().unwrap();
            task.finish(Ok(json!({})));
            task
        })
        .collect();
    let next = begin().unwrap();
    let (mut seen, mut cursor) = ids(&tasks, None);
    assert!(!seen.contains(&working[0].id().to_owned()), "the first that ended is gone");
    assert!(seen.contains(&ended[0].id().to_owned()));
    while let Some(after) = cursor {
        let (page, next) = ids(&tasks, Some(&after));
        seen.extend(page);
        cursor = next;
    }
    assert_eq!(seen.len(), MAX_TASKS);
    assert_eq!(seen.last().map(String::as_str), Some(next.id()));

    for task in &working[1..5] {
        task.finish(Ok(json!({ "text": "x".repeat(MAX_RESULT_BYTES / 3 - 1_000) })));
    }
    let (left, _) = ids(&tasks, None);
    let is_left = |task: &Arc<Task>| left.contains(&task.id().to_owned());
    assert_eq!([1, 2, 3, 4].map(|n| is_left(&working[n])), [false, true, true, true]);
    assert!(is_left(&working[5]), "what works is never dropped");
}

#[test]
fn what_ended_first_goes_first_however_long_it_took() {
    let (tasks, clock) = (Tasks::default(), clock());
    let begin = || begin_at(&tasks, &clock, DEFAULT_LIFETIME).unwrap();
    let long = begin();
    for _ in 1..MAX_TASKS {
        begin().finish(Ok(json!({})));
    }
    clock.advance(Duration::from_secs(1));
    long.finish(Ok(json!({})));
    begin();
    assert!(ids(&tasks, None).0.contains(&long.id().to_owned()), "its client has not seen its end");
}

#[test]
fn a_task_ends_once_and_says_how() {
    let (tasks, clock) = (Tasks::default(), clock());
    let begin = || begin_at(&tasks, &clock, DEFAULT_LIFETIME).unwrap();
    let status = |task: &Task| task.to_json()["status"].clone();
    let (good, refused, broken, cancelled) = (begin(), begin(), begin(), begin());
    good.set_message("half");
    assert_eq!(
        (status(&good), &good.to_json()["statusMessage"]),
        (json!("working"), &json!("half"))
    );
    let mut asked = json!({ "message": "?" });
    let guard = good.begin_question(&mut asked);
    assert_eq!(status(&good), "input_required");
    assert_eq!(
        asked["_meta"]["io.modelcontextprotocol/related-task"],
        json!({ "taskId": good.id() })
    );
    let another = good.begin_question(&mut json!({}));
    drop(guard);
    assert_eq!(status(&good), "input_required", "one is still open");
    drop(another);
    assert_eq!((status(&good), good.to_json().get("statusMessage")), (json!("working"), None));
    good.finish(Ok(json!({ "content": [], "isError": false })));
    let refusal = json!({ "isError": true, "content": [{ "type": "text", "text": "no disk" }] });
    refused.finish(Ok(refusal));
    assert_eq!(refused.to_json()["statusMessage"], "no disk");
    cancelled.set_message("half");
    broken.finish(Err(RpcError::new(code::INTERNAL, "no")));
    let how = cancelled.cancel().unwrap();
    assert_eq!((&how["status"], how.get("statusMessage")), (&json!("cancelled"), None));
    cancelled.finish(Ok(json!({})));
    let all = [&good, &refused, &broken, &cancelled];
    let wanted = ["completed", "failed", "failed", "cancelled"];
    assert_eq!(all.map(|task| status(task)), wanted.map(|status| json!(status)));
    assert_eq!(good.cancel().unwrap_err().code, code::INVALID_PARAMS);
}

#[test]
fn how_long_a_task_is_kept_is_asked_for_and_bounded() {
    let taken = |task: Value| {
        let mut request = request("tools/call", json!({ "name": "x", "task": task }));
        let taken = take_lifetime(&mut request).unwrap();
        assert!(!request.params.contains_key("task"));
        taken
    };
    assert_eq!(taken(json!({})), Ok(DEFAULT_LIFETIME));
    assert_eq!(taken(json!({ "ttl": null })), Ok(DEFAULT_LIFETIME));
    assert_eq!(taken(json!({ "ttl": 1_500 })), Ok(Duration::from_millis(1_500)));
    assert_eq!(taken(json!({ "ttl": u64::MAX })), Ok(MAX_LIFETIME));
    for bad in [json!(null), json!([]), json!({ "ttl": -1 }), json!({ "ttl": "1" })] {
        assert_eq!(taken(bad).unwrap_err().code, code::INVALID_PARAMS);
    }
    assert!(take_lifetime(&mut request("tools/call", json!({ "name": "x" }))).is_none());
}

/// The other run would not be tainted by it.
#[test]
fn a_result_is_not_shown_in_another_run() {
    let (tasks, clock) = (Tasks::default(), clock());
    let task = begin_at(&tasks, &clock, DEFAULT_LIFETIME).unwrap();
    let [own, other] = ["run_1", "run_2"].map(|run| RunId::parse(run).unwrap());
    task.set_run(&own);
    task.finish(Ok(json!({ "content": "untrusted", "_meta": { "weaver/handle": "hdl_1" } })));
    tasks.drop_results_of_other_runs(&own);
    assert_eq!(task.to_detailed_json()["result"]["content"], "untrusted");
    tasks.drop_results_of_other_runs(&other);
    let shown = task.to_detailed_json();
    assert_eq!((&shown["status"], shown.get("result")), (&json!("failed"), None), "{shown:?}");
    assert!(shown["error"]["message"].as_str().unwrap().contains("hdl_1"), "{shown:?}");
}
