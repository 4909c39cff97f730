//! The column of resource names before log lines.

use std::collections::{HashMap, HashSet};

use lilt_model::ResourceName;

/// The width of the column. Scripts rely on it.
pub const NAME_WIDTH: usize = 13;

/// Gives each resource a label of [`NAME_WIDTH`] columns that no other resource has.
///
/// A name is right-aligned; a longer one keeps its first 12 letters and `…`, as in Tilt. Where another resource has that
/// label already, the name is shortened in the middle instead. Labels never change: so that a resource has the same one in
/// every view, [`NameColumn::learn`] gets the resources in the Tiltfile's order before any of them is shown.
#[derive(Clone, Debug, Default)]
pub struct NameColumn {
    labels: HashMap<ResourceName, String>,
    used: HashSet<String>,
}

impl NameColumn {
    /// Gives labels to those of these resources that have none.
    pub fn learn<'n>(&mut self, names: impl IntoIterator<Item = &'n ResourceName>) {
        for name in names {
            self.label(name);
        }
    }

    pub fn label(&mut self, name: &ResourceName) -> &str {
        if !self.labels.contains_key(name) {
            let label = self.unused_label(name.as_str());
            self.used.insert(label.clone());
            self.labels.insert(name.clone(), label);
        }
        &self.labels[name]
    }

    fn unused_label(&self, name: &str) -> String {
        let is_unused = |label: &String| !self.used.contains(label);
        let first = cut_end(name);
        if is_unused(&first) {
            return first;
        }
        // From the middle outwards: the ends of names are the most distinctive.
        let heads = [6, 5, 4, 3, 2, 7, 8, 9, 10, 1];
        if let Some(label) = heads.into_iter().map(|head| cut_middle(name, head)).find(is_unused) {
            return label;
        }
        let numbered = (2_usize..).map(|number| {
            let number = format!("…{number}");
            let head: String = name.chars().take(NAME_WIDTH.saturating_sub(number.chars().count())).collect();
            format!("{:>NAME_WIDTH$}", head + &number)
        });
        numbered.into_iter().find(is_unused).unwrap_or(first)
    }
}

fn cut_end(name: &str) -> String {
    if name.chars().count() <= NAME_WIDTH {
        return format!("{name:>NAME_WIDTH$}");
    }
    name.chars().take(NAME_WIDTH - 1).chain(['…']).collect()
}

/// Keeps the first `head` letters and as many of the last as fit.
fn cut_middle(name: &str, head: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= NAME_WIDTH {
        return format!("{name:>NAME_WIDTH$}");
    }
    let tail = letters.len() - (NAME_WIDTH - 1 - head);
    letters[..head].iter().chain(&['…']).chain(&letters[tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> Vec<String> {
        let mut column = NameColumn::default();
        names.iter().map(|name| column.label(&ResourceName::new(*name)).to_owned()).collect()
    }

    #[test]
    fn labels_have_the_form_that_scripts_match() {
        assert_eq!(
            labels(&["loc", "thirteenchars", "web-with-a-very-long-name"]),
            ["          loc", "thirteenchars", "web-with-a-v…"]
        );
    }

    #[test]
    fn names_with_equal_beginnings_have_different_labels() {
        assert_eq!(
            labels(&[
                "payments-api-server",
                "payments-api-worker",
                "payments-api-server",
                "payments-api-v2-worker"
            ]),
            ["payments-api…", "paymen…worker", "payments-api…", "payme…-worker"]
        );
        // Only the middle differs.
        assert_eq!(
            labels(&[
                "aaaaaaaaaaaaa1bbbbbbbbbbbbb",
                "aaaaaaaaaaaaa2bbbbbbbbbbbbb",
                "aaaaaaaaaaaaa3bbbbbbbbbbbbb"
            ])[2],
            "aaaaa…bbbbbbb"
        );
    }

    #[test]
    fn labels_of_learned_names_do_not_depend_on_who_logs_first() {
        let names = ["payments-api-server", "payments-api-worker"].map(ResourceName::new);
        let mut column = NameColumn::default();
        column.learn(&names);
        assert_eq!(column.label(&names[1]), "paymen…worker");
        assert_eq!(column.label(&names[0]), "payments-api…");
        column.learn(names.iter().rev());
        assert_eq!(column.label(&names[0]), "payments-api…", "labels never change");
    }

    #[test]
    fn every_name_has_its_own_label_of_the_same_width() {
        let names: Vec<String> =
            (0..1000).map(|number| format!("aaaaaaaaaaaaaaa{number:04}bbbbbbbbbbbbbbb")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = labels(&names);
        assert!(found.iter().all(|label| label.chars().count() == NAME_WIDTH), "{found:?}");
        assert_eq!(found.iter().collect::<HashSet<_>>().len(), names.len());
    }
}
