//! `--sort-by`.

use std::cmp::Ordering;

use lilt_model::json_path::JsonPath;
use serde_json::Value;

use crate::printers::parse_relaxed_path;
use crate::problem::Problem;

/// A sort key.
#[derive(Debug)]
pub(super) struct Order {
    text: String,
    path: JsonPath,
}

impl Order {
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        Ok(Self { text: text.to_owned(), path: parse_relaxed_path(text)? })
    }

    /// Sorts items by the field of the object at `pointer` in each; items without the field come first.
    pub(super) fn sort(&self, items: &mut [Value], place: &str) -> Result<(), Problem> {
        let mut keys = Vec::new();
        for item in items.iter() {
            let object = item.pointer(place).unwrap_or(&Value::Null);
            let found = self.path.values(object, true).map_err(Problem::message)?;
            keys.push(found.into_iter().next());
        }
        if !items.is_empty() && keys.iter().all(Option::is_none) {
            let words = format!("couldn't find any field with path {:?} in the list of objects", self.text);
            return Err(Problem::message(words));
        }
        let mut sorted: Vec<(Option<Value>, Value)> =
            keys.into_iter().zip(items.iter_mut().map(Value::take)).collect();
        sorted.sort_by(|(left, _), (right, _)| compare(left.as_ref(), right.as_ref()));
        for (place, (_, item)) in items.iter_mut().zip(sorted) {
            *place = item;
        }
        Ok(())
    }
}

fn compare(left: Option<&Value>, right: Option<&Value>) -> Ordering {
    match (left, right) {
        (Some(Value::String(left)), Some(Value::String(right))) => natural(left, right),
        (Some(Value::Number(left)), Some(Value::Number(right))) => {
            left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Some(Value::Bool(left)), Some(Value::Bool(right))) => left.cmp(right),
        (Some(left), Some(right)) => left.to_string().cmp(&right.to_string()),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

/// Compares texts with numbers in them: `a2` comes before `a10`.
fn natural(left: &str, right: &str) -> Ordering {
    let digits = |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (mut left, mut right) = (left, right);
    while let (Some(one), Some(other)) = (left.chars().next(), right.chars().next()) {
        let (length, other_length) = (digits(left), digits(right));
        let (order, skip, other_skip) = if length > 0 && other_length > 0 {
            let number = |text: &str| text.trim_start_matches('0').to_owned();
            let (number, other) = (number(&left[..length]), number(&right[..other_length]));
            (number.len().cmp(&other.len()).then(number.cmp(&other)), length, other_length)
        } else {
            (one.cmp(&other), one.len_utf8(), other.len_utf8())
        };
        if order.is_ne() {
            return order;
        }
        (left, right) = (&left[skip..], &right[other_skip..]);
    }
    left.len().cmp(&right.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_in_texts_are_sorted_numerically() {
        let mut items = ["a10", "a2", "b", "a2b", "a02"].map(|name| json!({"n": name})).to_vec();
        Order::read(".n").expect("a path").sort(&mut items, "").expect("sorted");
        let names: Vec<&str> = items.iter().filter_map(|item| item["n"].as_str()).collect();
        assert_eq!(names, ["a2", "a02", "a2b", "a10", "b"]);
        let mut items = vec![json!({"n": 10}), json!({"n": 9}), json!({})];
        Order::read("{.n}").expect("a path").sort(&mut items, "").expect("sorted");
        assert_eq!(items, [json!({}), json!({"n": 9}), json!({"n": 10})]);
        assert!(Order::read(".x").expect("a path").sort(&mut items, "").is_err());
    }
}
