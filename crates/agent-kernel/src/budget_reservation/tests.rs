//! Every order in which the steps of a few calls can come, with deaths in between: used and set
//! aside together never exceed a cap, and in the end nothing is set aside.

use super::*;
use crate::run_state::RunDelta;

/// What a call does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// It sets aside what it needs.
    Take,
    /// It does so for its second attempt.
    Again,
    /// It ends, its charge on its way to the ledger.
    Charge,
    /// What it held is given back.
    Release,
    Over,
}

/// A call in the model: what it takes, and whether it dies after its first step.
#[derive(Debug, Clone, Copy)]
struct Plan {
    time_ms: u64,
    price: u64,
    tokens: u64,
    retries: bool,
    dies: bool,
}

struct Client {
    plan: Plan,
    next: Next,
    reservation: Option<BudgetReservation>,
    spent: Duration,
    paid: Millicents,
}

const BUDGET: RunBudget = RunBudget {
    max_tool_calls: None,
    max_retries_per_tool: 1,
    max_prompt_tokens: Some(1_000),
    max_latency_ms: Some(250),
    max_cost: Some(Millicents(7)),
};

impl Client {
    fn new(plan: Plan) -> Self {
        let (spent, paid) = (Duration::ZERO, Millicents(0));
        Self { plan, next: Next::Take, reservation: None, spent, paid }
    }

    fn needs(&self) -> AttemptNeeds {
        AttemptNeeds {
            time: Duration::from_millis(self.plan.time_ms),
            max_cost: Millicents(self.plan.price),
        }
    }

    /// An attempt that takes all the time and money that was set aside for it.
    fn attempt(&mut self) {
        if let Some(reservation) = &self.reservation {
            self.spent += reservation.time_left(self.spent);
            self.paid.0 += self.plan.price;
        }
    }

    fn step(&mut self, slot: &RunSlot) {
        self.next = match self.next {
            Next::Take => {
                match BudgetReservation::for_first_attempt(
                    slot,
                    &BUDGET,
                    self.plan.tokens,
                    self.needs(),
                ) {
                    Err(_) => Next::Over,
                    Ok(reservation) => {
                        self.reservation = Some(reservation);
                        self.attempt();
                        if self.plan.retries { Next::Again } else { Next::Charge }
                    }
                }
            }
            Next::Again => {
                let spent = SpentAmounts { time: self.spent, cost: self.paid };
                let needs = self.needs();
                if self.reservation.as_mut().unwrap().renew_for_attempt(spent, needs).is_ok() {
                    self.attempt();
                }
                Next::Charge
            }
            Next::Charge => {
                let tokens = self.reservation.as_ref().unwrap().tokens().unwrap();
                let delta = RunDelta {
                    prompt_tokens: if self.plan.dies { 0 } else { tokens },
                    latency_us: u64::try_from(self.spent.as_micros()).unwrap(),
                    cost: self.paid,
                    ..RunDelta::default()
                };
                let mut hot = lock_run(slot).unwrap();
                let next = hot.state().clone().apply(&delta);
                let step = hot.enqueue(delta, next);
                if !self.plan.dies {
                    hot.mark_committed(step);
                }
                Next::Release
            }
            Next::Release => {
                self.reservation = None;
                Next::Over
            }
            Next::Over => Next::Over,
        };
    }
}

fn check(slot: &RunSlot, order: &[usize]) {
    let hot = lock_run(slot).unwrap();
    let (used, held) = (hot.state().meters, hot.reserved());
    // What is charged and not given back yet counts twice for a moment; that is the safe side, so
    // each is looked at alone, and what is free was computed with both.
    assert!(used.prompt_tokens <= 1_000 && held.tokens <= 1_000, "{order:?} {used:?} {held:?}");
    assert!(used.latency_us <= 250_000 && held.latency_us <= 250_000, "{order:?} {used:?}");
    assert!(used.cost.0 <= 7 && held.cost.0 <= 7, "{order:?} {used:?} {held:?}");
}

/// Runs one order of steps from the beginning; how far each client came.
fn replay(plans: &[Plan], order: &[usize]) -> Vec<Next> {
    let slot = RunSlot::default();
    let mut clients: Vec<Client> = plans.iter().copied().map(Client::new).collect();
    for which in order {
        clients[*which].step(&slot);
        check(&slot, order);
    }
    let at = clients.iter().map(|client| client.next).collect();
    drop(clients);
    assert_eq!(lock_run(&slot).unwrap().reserved(), ReservedAmounts::default(), "{order:?}");
    at
}

/// Every order of the steps; the number of orders.
fn explore(plans: &[Plan], order: &mut Vec<usize>) -> u64 {
    let at = replay(plans, order);
    let open: Vec<usize> = (0..plans.len()).filter(|n| at[*n] != Next::Over).collect();
    if open.is_empty() {
        return 1;
    }
    open.into_iter()
        .map(|which| {
            order.push(which);
            let orders = explore(plans, order);
            order.pop();
            orders
        })
        .sum()
}

#[test]
fn in_no_order_is_a_meter_overspent() {
    let plain = Plan { time_ms: 100, price: 3, tokens: 400, retries: false, dies: false };
    let again = Plan { retries: true, price: 2, ..plain };
    let dying = Plan { dies: true, tokens: 900, ..plain };
    let large = Plan { time_ms: 1_000, price: 0, tokens: 300, ..again };
    let mut orders = 0;
    for plans in [
        vec![plain, plain, plain],
        vec![again, plain, dying],
        vec![large, again],
        vec![again, Plan { time_ms: 20, price: 1, tokens: 250, ..again }, plain],
        vec![large, plain, dying],
    ] {
        orders += explore(&plans, &mut Vec::new());
    }
    assert!(orders > 1_000, "{orders} orders");
}

#[test]
fn what_others_hold_is_not_there_for_the_next() {
    let slot = RunSlot::default();
    let needs = AttemptNeeds { time: Duration::from_millis(200), max_cost: Millicents(4) };
    let first = BudgetReservation::for_first_attempt(&slot, &BUDGET, 700, needs)
        .unwrap_or_else(|said| panic!("{said:?}"));
    assert_eq!(first.time_left(Duration::ZERO), needs.time);
    let refused = |tokens, time_ms, price| {
        let needs =
            AttemptNeeds { time: Duration::from_millis(time_ms), max_cost: Millicents(price) };
        BudgetReservation::for_first_attempt(&slot, &BUDGET, tokens, needs)
            .err()
            .map(|said| said.detail)
    };
    assert!(refused(200, 10, 4).unwrap().contains("max_cost_usd_cents"));
    let second = BudgetReservation::for_first_attempt(
        &slot,
        &BUDGET,
        900,
        AttemptNeeds { max_cost: Millicents(1), ..needs },
    );
    let second = second.unwrap_or_else(|said| panic!("{said:?}"));
    assert_eq!(
        (second.time_left(Duration::ZERO), second.tokens()),
        (Duration::from_millis(50), Some(300))
    );
    assert!(refused(0, 10, 0).unwrap().contains("max_latency_ms"));
    drop(first);
    assert_eq!(refused(200, 10, 4), None, "it was given back");
}

fn needs_of(time_ms: u64, price: u64) -> AttemptNeeds {
    AttemptNeeds { time: Duration::from_millis(time_ms), max_cost: Millicents(price) }
}

/// The cap that leaves no room, of a run that has used the given amounts.
fn refused(
    budget: &RunBudget,
    used: &RunDelta,
    tokens: u64,
    needs: AttemptNeeds,
) -> Option<&'static str> {
    let slot = RunSlot::default();
    let mut hot = lock_run(&slot).unwrap();
    let next = hot.state().clone().apply(used);
    let step = hot.enqueue(used.clone(), next);
    hot.mark_committed(step);
    drop(hot);
    let said = BudgetReservation::for_first_attempt(&slot, budget, tokens, needs).err()?.detail;
    let caps = ["max_prompt_tokens", "max_latency_ms", "max_cost_usd_cents"];
    caps.into_iter().find(|cap| said.contains(cap))
}

#[test]
fn a_call_needs_200_tokens_unless_it_shows_nothing() {
    let budget = RunBudget { max_prompt_tokens: Some(1_000), ..RunBudget::unlimited() };
    for (used, tokens, cap) in [
        (800, 500, None),
        (800, 1, None),
        (801, 500, Some("max_prompt_tokens")),
        (801, 1, Some("max_prompt_tokens")),
        (801, 0, None),
    ] {
        let used = RunDelta { prompt_tokens: used, ..RunDelta::default() };
        assert_eq!(refused(&budget, &used, tokens, needs_of(1, 0)), cap, "{used:?} {tokens}");
    }
}

#[test]
fn a_call_needs_a_millisecond_unless_it_takes_no_time() {
    let budget = RunBudget { max_latency_ms: Some(5), ..RunBudget::unlimited() };
    for (used, time_ms, cap) in
        [(4_000, 1, None), (4_000, 900, None), (4_001, 1, Some("max_latency_ms")), (4_001, 0, None)]
    {
        let used = RunDelta { latency_us: used, ..RunDelta::default() };
        assert_eq!(refused(&budget, &used, 0, needs_of(time_ms, 0)), cap, "{used:?} {time_ms}");
    }
}

#[test]
fn a_call_may_cost_as_much_as_is_left() {
    let budget = RunBudget { max_cost: Some(Millicents(7)), ..RunBudget::unlimited() };
    let used = RunDelta { cost: Millicents(3), ..RunDelta::default() };
    let of = |price| refused(&budget, &used, 0, needs_of(1, price));
    assert_eq!((of(4), of(5)), (None, Some("max_cost_usd_cents")));
}

#[test]
fn what_is_charged_at_worst_is_what_is_held_where_there_is_a_cap() {
    let slot = RunSlot::default();
    let take = |budget: &RunBudget| {
        let taken = BudgetReservation::for_first_attempt(&slot, budget, 700, needs_of(200, 4));
        taken.unwrap_or_else(|said| panic!("{said:?}"))
    };
    assert_eq!(take(&BUDGET).worst_case(), (200_000, Millicents(4)));
    assert_eq!(take(&RunBudget::unlimited()).worst_case(), (0, Millicents(0)));
    assert_eq!(take(&RunBudget::unlimited()).tokens(), None);
}

#[test]
fn what_is_left_is_what_nobody_used_or_holds() {
    let slot = RunSlot::default();
    let whole = budget_remaining(&lock_run(&slot).unwrap(), &BUDGET);
    let expected = BudgetRemaining {
        tool_calls: None,
        prompt_tokens: Some(1_000),
        latency_us: Some(250_000),
        cost: Some(Millicents(7)),
        session_tokens: None,
    };
    assert_eq!(whole, expected);
    let held = BudgetReservation::for_first_attempt(&slot, &BUDGET, 700, needs_of(200, 4));
    assert_eq!(
        budget_remaining(&lock_run(&slot).unwrap(), &BUDGET),
        BudgetRemaining {
            prompt_tokens: Some(300),
            latency_us: Some(50_000),
            cost: Some(Millicents(3)),
            ..expected
        }
    );
    drop(held);
    assert_eq!(budget_remaining(&lock_run(&slot).unwrap(), &BUDGET), expected);
}
