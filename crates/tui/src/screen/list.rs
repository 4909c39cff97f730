//! The list of resources: headings and names that match the filter, and the selected one.

use lilt_model::ResourceName;

use crate::overview::Overview;
use crate::status::{Overall, overall};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Heading { label: String, count: usize },
    Resource { name: ResourceName, group: usize },
}

#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) rows: Vec<Row>,
    /// The index of the selected row, which is a resource if there is one.
    selected: usize,
    /// The first row on the screen.
    pub(crate) top: usize,
    pub(crate) filter: String,
    height: usize,
}

impl List {
    /// Rebuilds the rows after they or the filter changed. The selected resource stays selected if it still exists.
    pub(crate) fn rebuild(&mut self, overview: &Overview) {
        let selected = self.rows.get(self.selected).cloned();
        let wanted = self.filter.to_lowercase();
        self.rows.clear();
        for (group, it) in overview.groups().iter().enumerate() {
            let fits = |text: &str| text.to_lowercase().contains(&wanted);
            let whole = wanted.is_empty() || it.heading.as_deref().is_some_and(fits);
            let names: Vec<&ResourceName> =
                it.names.iter().filter(|name| whole || fits(name.as_str())).collect();
            if let Some(label) = it.heading.clone().filter(|_| !names.is_empty()) {
                self.rows.push(Row::Heading { label, count: names.len() });
            }
            self.rows.extend(names.into_iter().map(|name| Row::Resource { name: name.clone(), group }));
        }
        let place = |wanted: &Row| self.rows.iter().position(|row| row == wanted);
        let same_name = |wanted: &Row| match wanted {
            Row::Resource { name, .. } => self
                .rows
                .iter()
                .position(|row| matches!(row, Row::Resource { name: other, .. } if other == name)),
            Row::Heading { .. } => None,
        };
        let found = selected.as_ref().and_then(|row| place(row).or_else(|| same_name(row)));
        self.select(found.unwrap_or(self.selected));
    }

    pub(crate) fn resize(&mut self, height: usize) {
        self.height = height;
        self.select(self.selected);
    }

    pub(crate) fn selected(&self) -> Option<&ResourceName> {
        match self.rows.get(self.selected) {
            Some(Row::Resource { name, .. }) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn is_selected(&self, row: usize) -> bool {
        self.selected == row && self.selected().is_some()
    }

    /// Selects the nearest resource to a row, preferring those below, and scrolls to it.
    fn select(&mut self, row: usize) {
        let is_resource = |at: &usize| matches!(self.rows.get(*at), Some(Row::Resource { .. }));
        let row = row.min(self.rows.len().saturating_sub(1));
        let below = (row..self.rows.len()).find(is_resource);
        let found = below.or_else(|| (0..row).rev().find(is_resource));
        self.selected = found.unwrap_or(0);
        // The heading of a group is shown with its first resource.
        let first = self.selected.saturating_sub(usize::from(
            self.selected > 0
                && matches!(self.rows.get(self.selected - 1), Some(Row::Heading { .. }))
                && self.height > 1,
        ));
        self.top = self.top.min(first).max((self.selected + 1).saturating_sub(self.height.max(1)));
        self.top = self.top.min(self.rows.len().saturating_sub(self.height.max(1)));
    }

    pub(crate) fn step(&mut self, by: isize) {
        let is_resource = |at: &usize| matches!(self.rows.get(*at), Some(Row::Resource { .. }));
        let found = if by > 0 {
            (self.selected + 1..self.rows.len()).filter(is_resource).take(by.unsigned_abs()).last()
        } else {
            (0..self.selected).rev().filter(is_resource).take(by.unsigned_abs()).last()
        };
        self.select(found.unwrap_or(self.selected));
    }

    /// Selects the next failing resource, wrapping around.
    pub(crate) fn step_to_failing(&mut self, overview: &Overview) -> bool {
        let fails = |at: &usize| match &self.rows[*at] {
            Row::Resource { name, .. } => {
                overview.resource(name).is_some_and(|it| overall(it) == Overall::Error)
            }
            Row::Heading { .. } => false,
        };
        let after = self.selected + 1..self.rows.len();
        let before = 0..(self.selected + 1).min(self.rows.len());
        match after.chain(before).find(fails) {
            Some(row) => {
                self.select(row);
                true
            }
            None => false,
        }
    }
}
