use super::*;

fn prepared(bytes: usize) -> Prepared {
    Prepared { bytes, ..Prepared::default() }
}

#[test]
fn a_full_queue_refuses_and_goes_on() {
    let queue = Queue::default();
    let tickets: Vec<_> = (0..MAX_QUEUE).map(|_| queue.submit(prepared(1), None)).collect();
    let refused = queue.submit(prepared(1), None).wait().unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
    assert_eq!(queue.wait(None), QueueEvent::Work);
    assert_eq!(queue.take().len(), GROUP);
    let ticket = queue.submit(prepared(1), None);
    drop(queue);
    for ticket in tickets.into_iter().chain([ticket]).skip(GROUP) {
        assert_eq!(ticket.wait(), Err(LedgerError::Closed));
    }
}

#[test]
fn bytes_are_bounded_but_one_batch_always_fits() {
    let queue = Queue::default();
    let large = queue.submit(prepared(MAX_QUEUE_BYTES + 1), None);
    assert!(queue.submit(prepared(1), None).wait().unwrap_err().is_refusal());
    assert_eq!(queue.take().len(), 1);
    let next = queue.submit(prepared(1), None);
    assert_eq!(queue.wait(Some(Duration::ZERO)), QueueEvent::Work);
    assert_eq!(queue.take().len(), 1);
    assert_eq!(queue.wait(Some(Duration::ZERO)), QueueEvent::Idle);
    drop((large, next));
}

#[test]
fn what_waits_is_given_out_after_closing_and_refused_after_failing() {
    let queue = Queue::default();
    let _written = queue.submit(prepared(1), None);
    queue.close();
    assert_eq!(queue.submit(prepared(1), None).wait(), Err(LedgerError::Closed));
    assert_eq!(queue.wait(None), QueueEvent::Work);
    assert_eq!(queue.take().len(), 1);
    assert_eq!(queue.wait(None), QueueEvent::Closed);

    let queue = Queue::default();
    let waiting = queue.submit(prepared(1), None);
    queue.fail(LedgerError::Failed("full".to_owned()));
    queue.abandon();
    let failed = Err(LedgerError::Failed("full".to_owned()));
    assert_eq!(waiting.wait(), failed);
    assert_eq!(queue.submit(prepared(1), None).wait(), failed);
}

#[test]
fn a_writer_that_is_gone_leaves_nobody_waiting() {
    let queue = Queue::default();
    let waiting = queue.submit(prepared(1), None);
    queue.abandon();
    assert!(matches!(waiting.wait(), Err(LedgerError::Failed(_))));
    assert!(matches!(queue.submit(prepared(1), None).wait(), Err(LedgerError::Failed(_))));
}

#[test]
fn a_caller_takes_what_is_small_and_not_synced_and_leaves_the_rest_in_its_order() {
    let synced = Prepared {
        batch: std::sync::Arc::new(weaver_types::ledger::Batch::new(Durability::Disk)),
        ..prepared(1)
    };
    let small = || Prepared {
        batch: std::sync::Arc::new(weaver_types::ledger::Batch::new(Durability::Os)),
        ..prepared(1)
    };
    let queue = Queue::default();
    let mut tickets = vec![queue.enqueue(small(), None), queue.enqueue(small(), None)];
    assert_eq!(queue.take_for_caller().len(), 2, "one for both");
    tickets.push(queue.enqueue(small(), None));
    tickets.push(queue.submit(synced, None));
    assert!(queue.take_for_caller().is_empty(), "the thread waits for the disk");
    assert_eq!(queue.take().len(), 2);
    tickets.push(queue.enqueue(Prepared { bytes: CALLER_BYTES + 1, ..small() }, None));
    assert!(queue.take_for_caller().is_empty(), "it takes long");
    assert_eq!(queue.take().len(), 1);
    tickets.extend((0..=CALLER_BATCHES).map(|_| queue.enqueue(small(), None)));
    assert!(queue.take_for_caller().is_empty(), "so does this");
}

#[test]
fn what_is_deferred_goes_with_the_next_and_is_work_once_nothing_comes() {
    let queue = Queue::default();
    let small = || Prepared {
        batch: std::sync::Arc::new(weaver_types::ledger::Batch::new(Durability::Os)),
        ..prepared(1)
    };
    let mut tickets = vec![queue.enqueue(small(), None)];
    queue.defer();
    assert!(!queue.lock().unwrap().has_urgent());
    tickets.push(queue.enqueue(small(), None));
    assert_eq!(queue.wait(None), QueueEvent::Work, "somebody waits for the second");
    assert_eq!(queue.take_for_caller().len(), 2, "and takes the first along");
    tickets.push(queue.enqueue(small(), None));
    queue.defer();
    assert_eq!(queue.wait(None), QueueEvent::Work, "nothing came");
    assert_eq!(queue.take().len(), 1);
    assert_eq!(queue.wait(Some(Duration::ZERO)), QueueEvent::Idle);
    tickets.push(queue.enqueue(Prepared { bytes: CALLER_BYTES, ..small() }, None));
    queue.defer();
    assert!(queue.lock().unwrap().has_urgent(), "a large one is not left to a caller");
    assert_eq!(queue.take().len(), 1);
    queue.defer();
    assert!(queue.is_empty() && !queue.lock().unwrap().has_urgent(), "it was taken already");
    tickets.push(queue.enqueue(small(), None));
    queue.defer();
    queue.close();
    assert_eq!(queue.wait(None), QueueEvent::Work);
}

#[test]
fn what_callers_leave_due_wakes_a_thread_that_sleeps_soundly() {
    let queue = Queue::default();
    queue.note_caller_commit(true);
    assert_eq!(queue.wait(None), QueueEvent::Due);
    let queue = std::sync::Arc::new(Queue::default());
    let sleeper = {
        let queue = std::sync::Arc::clone(&queue);
        std::thread::spawn(move || queue.wait(None))
    };
    while queue.lock().unwrap().sleep != Sleep::Untimed {
        std::thread::yield_now();
    }
    queue.note_caller_commit(false);
    queue.note_caller_commit(true);
    assert_eq!(sleeper.join().unwrap(), QueueEvent::Due);
}

#[test]
fn what_is_deferred_is_not_left_to_a_thread_that_sleeps_for_long() {
    let queue = std::sync::Arc::new(Queue::default());
    let sleeper = {
        let queue = std::sync::Arc::clone(&queue);
        std::thread::spawn(move || queue.wait(Some(Duration::from_secs(3_600))))
    };
    while queue.lock().unwrap().sleep != Sleep::Timed {
        std::thread::yield_now();
    }
    let ticket = queue.enqueue(prepared(1), None);
    queue.defer();
    assert_eq!(sleeper.join().unwrap(), QueueEvent::Work);
    drop(ticket);
}
