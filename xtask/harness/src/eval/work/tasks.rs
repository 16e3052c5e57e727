//! The tasks, by topic.

mod correction;
mod database;
mod demonstration;
mod editing;
mod graph;
mod personal;
mod reading;
mod repository;
mod web;

use super::task::Task;

/// All tasks, those of one group together.
pub fn all_tasks() -> Vec<Task> {
    [
        reading::tasks(),
        editing::tasks(),
        correction::tasks(),
        repository::tasks(),
        database::tasks(),
        graph::tasks(),
        web::tasks(),
        demonstration::tasks(),
        personal::tasks(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_at_least_sixty_and_each_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = all_tasks().iter().map(|task| task.name).collect();
        assert_eq!(names.len(), all_tasks().len());
        assert!(names.len() >= 60, "{}", names.len());
    }
}
