use super::*;

fn prepared(bytes: usize) -> PreparedBatch {
    PreparedBatch { bytes, ..PreparedBatch::default() }
}

#[test]
fn a_full_queue_refuses_and_goes_on() {
    let queue = Queue::default();
    let tickets: Vec<_> = (0..MAX_QUEUE).map(|_| queue.submit(prepared(1), None)).collect();
    let refused = queue.submit(prepared(1), None).wait().unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
    assert_eq!(queue.wait(None), QueueEvent::Work);
    assert_eq!(queue.take().len(), MAX_GROUP_BATCHES);
    let ticket = queue.submit(prepared(1), None);
    drop(queue);
    for ticket in tickets.into_iter().chain([ticket]).skip(MAX_GROUP_BATCHES) {
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
    let synced = PreparedBatch {
        batch: std::sync::Arc::new(weaver_types::ledger::Batch::new(Durability::Disk)),
        ..prepared(1)
    };
    let small = || PreparedBatch {
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
    tickets.push(queue.enqueue(PreparedBatch { bytes: MAX_CALLER_BYTES + 1, ..small() }, None));
    assert!(queue.take_for_caller().is_empty(), "it takes long");
    assert_eq!(queue.take().len(), 1);
    tickets.extend((0..=MAX_CALLER_BATCHES).map(|_| queue.enqueue(small(), None)));
    assert!(queue.take_for_caller().is_empty(), "so does this");
}

#[test]
fn what_is_deferred_goes_with_the_next_and_is_work_once_nothing_comes() {
    let queue = Queue::default();
    let small = || PreparedBatch {
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
    tickets.push(queue.enqueue(PreparedBatch { bytes: MAX_CALLER_BYTES, ..small() }, None));
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
    assert_eq!(queue.wait(None), QueueEvent::UpkeepDue);
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
    assert_eq!(sleeper.join().unwrap(), QueueEvent::UpkeepDue);
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

#[test]
fn so_many_bytes_wait_and_one_more_does_not() {
    let queue = Queue::default();
    let mut tickets =
        vec![queue.enqueue(prepared(268_435_455), None), queue.enqueue(prepared(1), None)];
    assert_eq!(queue.lock().unwrap().bytes, 268_435_456);
    let refused = queue.enqueue(prepared(1), None).wait().unwrap_err();
    let said = "2 batches with 268435456 bytes wait already".to_owned();
    assert_eq!(refused, LedgerError::Full(said));
    tickets.push(queue.enqueue(prepared(0), None));
    assert_eq!(queue.lock().unwrap().work.len(), 3);
}

#[test]
fn a_group_ends_at_so_many_bytes() {
    let queue = Queue::default();
    let half = 8 * 1_048_576;
    let sizes = [half, half, 1, half, half - 1, 1, 1];
    let _tickets = sizes.map(|bytes| queue.enqueue(prepared(bytes), None));
    let bytes = || queue.lock().unwrap().bytes;
    assert_eq!(bytes(), 4 * half + 2);
    assert_eq!((queue.take().len(), bytes()), (2, 2 * half + 2));
    assert_eq!((queue.take().len(), bytes()), (3, 2));
    assert_eq!((queue.take().len(), bytes()), (2, 0));
    assert!(queue.is_empty() && queue.take().is_empty());
}

fn small(bytes: usize) -> PreparedBatch {
    let batch = weaver_types::ledger::Batch::new(Durability::Os);
    PreparedBatch { batch: std::sync::Arc::new(batch), ..prepared(bytes) }
}

#[test]
fn a_caller_takes_so_much_and_no_blob() {
    for (sizes, taken) in [
        (vec![1; 16], 16),
        (vec![1; 17], 0),
        (vec![65_536], 1),
        (vec![65_537], 0),
        (vec![32_768, 32_768], 2),
        (vec![32_768, 32_769], 0),
    ] {
        let queue = Queue::default();
        assert!(queue.is_empty());
        let _tickets: Vec<_> =
            sizes.iter().map(|bytes| queue.enqueue(small(*bytes), None)).collect();
        assert!(!queue.is_empty());
        assert_eq!(queue.take_for_caller().len(), taken, "{sizes:?}");
    }
    let queue = Queue::default();
    let id = BlobId(weaver_types::Digest::from_bytes([1; 32]));
    let _blob = queue.enqueue(small(1), Some(BlobChange::Remove(id)));
    assert!(queue.take_for_caller().is_empty());
    assert_eq!(queue.take().len(), 1);
}

#[test]
fn a_few_small_batches_may_be_deferred() {
    for (sizes, deferred) in [
        (vec![1], 1),
        (vec![1; 8], 1),
        (vec![1; 9], 0),
        (vec![32_768], 1),
        (vec![32_769], 0),
        (vec![16_384, 16_384], 1),
        (vec![16_384, 16_385], 0),
    ] {
        let queue = Queue::default();
        let _tickets: Vec<_> =
            sizes.iter().map(|bytes| queue.enqueue(small(*bytes), None)).collect();
        queue.defer();
        let waiting = queue.lock().unwrap();
        assert_eq!((waiting.deferred, waiting.lingering), (deferred, deferred > 0), "{sizes:?}");
    }
}

#[test]
fn whoever_defers_more_than_waits_defers_nothing() {
    let queue = Queue::default();
    let _ticket = queue.enqueue(small(1), None);
    for _ in 0..3 {
        queue.defer();
        assert_eq!(queue.lock().unwrap().deferred, 1);
    }
    assert_eq!(queue.take().len(), 1);
    assert_eq!(queue.lock().unwrap().deferred, 0);
}

#[test]
fn groups_that_callers_commit_are_counted() {
    let queue = Queue::default();
    queue.note_caller_commit(false);
    assert_eq!(queue.wait(Some(Duration::ZERO)), QueueEvent::Idle);
    queue.note_caller_commit(true);
    assert_eq!(queue.lock().unwrap().caller_commits, 2);
    assert_eq!(queue.wait(Some(Duration::ZERO)), QueueEvent::UpkeepDue);
    assert_eq!(queue.wait(Some(Duration::ZERO)), QueueEvent::Idle);
}

#[test]
fn a_queue_that_failed_holds_nothing_and_says_what_it_failed_of() {
    let queue = Queue::default();
    let waiting = [queue.enqueue(small(3), None), queue.enqueue(small(4), None)];
    queue.defer();
    queue.fail(LedgerError::Closed);
    {
        let left = queue.lock().unwrap();
        assert_eq!((left.bytes, left.deferred, left.work.len()), (0, 0, 0));
    }
    for ticket in waiting {
        assert_eq!(ticket.wait(), Err(LedgerError::Closed));
    }
    assert_eq!(queue.wait(None), QueueEvent::Closed);
    let queue = Queue::default();
    queue.close();
    queue.abandon();
    assert_eq!(queue.submit(small(1), None).wait(), Err(LedgerError::Closed), "the first reason");
}
