use lilt_model::log::{Level, Line, Source};
use lilt_model::{ResourceName, SpanId, Timestamp};

use super::*;

/// A log with a line for every number, of "a" and "b" in turn, and a log view of it.
struct TestPane {
    texts: Vec<String>,
    pane: Pane,
    reads: usize,
}

impl TestPane {
    fn new(count: u64) -> TestPane {
        let texts: Vec<String> = (0..count).map(|number| format!("line {number}")).collect();
        let mut pane = Pane::new(false);
        pane.resize(20, 10);
        pane.grow(count);
        let mut bench = TestPane { texts, pane, reads: 0 };
        bench.pane.window.restart_at(count);
        bench.read();
        bench
    }

    fn line(&self, seq: u64) -> Line {
        Line {
            seq,
            time: Timestamp::ZERO,
            resource: Some(ResourceName::new(if seq.is_multiple_of(2) { "a" } else { "b" })),
            span: SpanId::new("s"),
            source: Source::Build,
            level: Level::Info,
            text: self.texts[usize::try_from(seq).unwrap()].clone(),
            continues: false,
            open: false,
            headline: false,
        }
    }

    /// Reads pages as the main loop does.
    fn read(&mut self) {
        while let Some(want) = self.pane.next_request() {
            let (from, until) = match want {
                LogRequest::Older { before } => (before.saturating_sub(256), before),
                LogRequest::Newer { from } => (from, (from + 256).min(self.texts.len() as u64)),
            };
            let lines = (from..until).map(|seq| self.line(seq));
            let lines = lines.filter(|line| self.pane.window.scope.matches(line)).collect();
            let reached = if matches!(want, LogRequest::Older { .. }) { from } else { until };
            self.pane.take(Page { want, lines, reached });
            self.reads += 1;
            assert!(self.reads < 10_000, "it reads for ever: {want:?}");
        }
    }

    fn append(&mut self, texts: &[&str]) {
        self.texts.extend(texts.iter().map(|text| (*text).to_owned()));
        self.pane.grow(self.texts.len() as u64);
        self.read();
    }

    fn shown(&self) -> Vec<&str> {
        self.pane.visible().map(|(line, part, _)| &line.styled.text[part]).collect()
    }

    fn first_and_last(&self) -> (&str, &str) {
        let shown = self.shown();
        (shown[0], shown[shown.len() - 1])
    }
}

#[test]
fn end_is_followed_until_scrolled_back() {
    let mut bench = TestPane::new(100);
    assert_eq!(bench.first_and_last(), ("line 90", "line 99"));
    bench.append(&["new"]);
    assert_eq!(bench.first_and_last(), ("line 91", "new"));
    bench.pane.step(Direction::Older, 1);
    bench.append(&["newer"]);
    assert_eq!(bench.first_and_last(), ("line 91", "new"), "nothing moves while reading");
    bench.pane.step(Direction::Newer, 3);
    assert!(bench.pane.follow, "at the end it follows again");
    assert_eq!(bench.shown().last(), Some(&"newer"));
}

#[test]
fn long_log_is_scrolled_in_a_small_window() {
    let mut bench = TestPane::new(1_000_000);
    assert!(bench.reads <= 2, "only what is near the end is read");
    for _ in 0..1000 {
        bench.pane.page(Direction::Older);
        bench.read();
        assert!(bench.pane.window.lines.len() <= 2000);
    }
    assert_eq!(bench.shown()[0], "line 990999");
    bench.pane.go_to_begin();
    bench.read();
    assert_eq!(bench.first_and_last(), ("line 0", "line 9"));
    for _ in 0..1000 {
        bench.pane.page(Direction::Newer);
        bench.read();
    }
    assert_eq!(bench.shown().last(), Some(&"line 9000"));
    bench.pane.go_to_end();
    bench.read();
    assert_eq!(bench.first_and_last(), ("line 999990", "line 999999"));
}

#[test]
fn search_covers_whole_log_and_wraps() {
    let mut bench = TestPane::new(50_000);
    let cursor = |bench: &TestPane| bench.pane.current().map(|line| line.styled.text.clone()).unwrap();
    bench.pane.search("line 123".into());
    bench.read();
    assert_eq!(cursor(&bench), "line 12399");
    bench.pane.search_on(Direction::Older);
    bench.read();
    assert_eq!(cursor(&bench), "line 12398");
    bench.pane.search("LINE".into());
    bench.read();
    assert_eq!(cursor(&bench), "line 12398", "capitals count if there are some; it stays where it was");
    assert!(!bench.pane.is_searching());
    bench.pane.go_to_begin();
    bench.read();
    bench.pane.search("line 49123".into());
    bench.read();
    assert_eq!(cursor(&bench), "line 49123", "nothing above, so below");
    bench.pane.search_on(Direction::Newer);
    bench.read();
    assert_eq!(cursor(&bench), "line 49123");
    assert!(bench.shown().contains(&"line 49123"));
}

#[test]
fn only_lines_of_the_scope_are_shown() {
    let mut bench = TestPane::new(100_000);
    bench.pane.set_scope(Scope { resource: Some(ResourceName::new("b")), source: None });
    bench.read();
    assert_eq!(bench.first_and_last(), ("line 99981", "line 99999"));
    bench.append(&["of a", "of b"]);
    assert_eq!(bench.shown().last(), Some(&"of b"));
    bench.pane.set_scope(Scope { resource: Some(ResourceName::new("nobody")), source: None });
    bench.read();
    assert!(bench.shown().is_empty());
}

#[test]
fn tall_line_is_scrolled_by_rows() {
    let mut bench = TestPane::new(5);
    let tall: String = (0..30).map(|row| format!("{row:<20}")).collect();
    bench.append(&[&tall, "after"]);
    bench.pane.step(Direction::Older, 1);
    let rows = |bench: &TestPane| {
        let (first, last) = bench.first_and_last();
        (first.trim().to_owned(), last.trim().to_owned())
    };
    assert_eq!(rows(&bench), ("20".into(), "29".into()));
    bench.pane.step(Direction::Older, 20);
    assert_eq!(rows(&bench), ("0".into(), "9".into()));
    bench.pane.step(Direction::Older, 1);
    assert_eq!(bench.shown()[0], "line 4");
    bench.pane.step(Direction::Newer, 2);
    assert_eq!(rows(&bench), ("1".into(), "10".into()));
    bench.pane.toggle_wrap();
    assert_eq!(bench.shown().len(), 7);
}

#[test]
fn flood_of_lines_is_skipped() {
    let mut bench = TestPane::new(10);
    let before = bench.reads;
    bench.texts.extend((10..500_000).map(|number| format!("line {number}")));
    bench.pane.grow(500_000);
    bench.read();
    assert!(bench.reads - before <= 2, "{} reads", bench.reads - before);
    assert_eq!(bench.first_and_last(), ("line 499990", "line 499999"));
}
