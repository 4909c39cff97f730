//! Prints the `Table` responses of the session.

use serde_json::Value;

use super::rows::Widths;

/// Options of the table's columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderOptions {
    pub(crate) wide: bool,
    pub(crate) hidden: bool,
    pub(crate) labels: bool,
    /// Labels with their own column.
    pub(crate) label_columns: Vec<String>,
    /// `cmd.tilt.dev`, before each name.
    pub(crate) prefix: Option<String>,
}

/// A table whose rows are printed in several batches.
#[derive(Debug)]
pub(crate) struct Table {
    header_options: HeaderOptions,
    widths: Widths,
    begun: bool,
}

impl Table {
    pub(crate) fn new(header_options: HeaderOptions) -> Self {
        Self { header_options, widths: Widths::default(), begun: false }
    }

    /// Formats the rows of a `Table` object; the first call includes the header.
    pub(crate) fn print(&mut self, table: &Value) -> String {
        let shown = self.shown(table);
        let mut lines = Vec::new();
        let rows = table.get("rows").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if rows.is_empty() {
            return String::new();
        }
        if !std::mem::replace(&mut self.begun, true) && !self.header_options.hidden {
            lines.push(self.head(table, &shown));
        }
        lines.extend(rows.iter().map(|row| self.row(row, &shown)));
        self.widths.align(&lines)
    }

    /// Returns the indices of the shown columns.
    fn shown(&self, table: &Value) -> Vec<usize> {
        let columns = table.get("columnDefinitions").and_then(Value::as_array);
        let is_shown = |column: &Value| {
            self.header_options.wide || column.get("priority").and_then(Value::as_i64).unwrap_or(0) == 0
        };
        let columns = columns.into_iter().flatten().enumerate();
        columns.filter(|(_, column)| is_shown(column)).map(|(index, _)| index).collect()
    }

    fn head(&self, table: &Value, shown: &[usize]) -> Vec<String> {
        let name = |index: &usize| {
            let name = table.pointer(&format!("/columnDefinitions/{index}/name")).and_then(Value::as_str);
            name.unwrap_or_default().to_uppercase()
        };
        let mut head: Vec<String> = shown.iter().map(name).collect();
        let label = |key: &String| key.rsplit('/').next().unwrap_or_default().to_uppercase();
        head.extend(self.header_options.label_columns.iter().map(label));
        if self.header_options.labels {
            head.push("LABELS".to_owned());
        }
        head
    }

    fn row(&self, row: &Value, shown: &[usize]) -> Vec<String> {
        let cell = |index: &usize| match row.pointer(&format!("/cells/{index}")) {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => "<none>".to_owned(),
            Some(other) => other.to_string(),
        };
        let mut cells: Vec<String> = shown.iter().map(cell).collect();
        if let (Some(prefix), Some(name)) = (&self.header_options.prefix, cells.first_mut()) {
            *name = format!("{prefix}/{name}");
        }
        let labels = row.pointer("/object/metadata/labels").and_then(Value::as_object);
        let label = |key: &String| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        cells.extend(
            self.header_options.label_columns.iter().map(|key| label(key).unwrap_or_default().to_owned()),
        );
        if self.header_options.labels {
            let pair =
                |(key, value): (&String, &Value)| format!("{key}={}", value.as_str().unwrap_or_default());
            let mut pairs: Vec<String> = labels.into_iter().flatten().map(pair).collect();
            pairs.sort();
            cells.push(if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") });
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(names: &[&str]) -> Value {
        let row = |name: &&str| json!({"cells": [name, "echo", 1, null], "object": {"metadata": {"labels": {"tier": "db", "a/app": *name}}}});
        json!({
            "columnDefinitions": [{"name": "Name"}, {"name": "Args"}, {"name": "Pid", "priority": 1}, {"name": "Age"}],
            "rows": names.iter().map(row).collect::<Vec<_>>(),
        })
    }

    #[test]
    fn header_is_printed_once() {
        let mut plain = Table::new(HeaderOptions::default());
        assert_eq!(plain.print(&table(&[])), "", "nothing has no head");
        assert_eq!(
            plain.print(&table(&["one", "two"])),
            "NAME   ARGS   AGE\none    echo   <none>\ntwo    echo   <none>\n"
        );
        assert_eq!(plain.print(&table(&["x"])), "x      echo   <none>\n");
    }

    #[test]
    fn labels_kinds_and_wide_columns_are_optional() {
        let header_options = HeaderOptions {
            wide: true,
            labels: true,
            label_columns: vec!["a/app".into(), "none".into()],
            prefix: Some("cmd.tilt.dev".into()),
            ..HeaderOptions::default()
        };
        insta::assert_snapshot!(Table::new(header_options).print(&table(&["one"])));
        let hidden = HeaderOptions { hidden: true, ..HeaderOptions::default() };
        assert_eq!(Table::new(hidden).print(&table(&["one"])), "one   echo   <none>\n");
    }
}
