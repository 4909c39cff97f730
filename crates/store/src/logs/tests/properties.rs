//! Compares random writers and readers with lists.
#![expect(clippy::disallowed_methods, reason = "tests look at real files")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use lilt_model::log::{Level, Line, Source};
use lilt_model::{ResourceName, SpanId, Timestamp};
use proptest::prelude::*;

use super::{small, span};
use crate::logs::{Filter, LogReader, LogWriter, Pattern, Span};
use crate::segments::Sizes;

#[derive(Clone, Debug)]
enum Act {
    Write(usize, String),
    Print(usize, Level, String),
    Headline(usize),
    EndLine(usize),
    /// A new writer for the same span.
    Again(usize),
}

const SPANS: usize = 6;

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let text = "[ab\n]{0,12}";
    let level = prop_oneof![Just(Level::Info), Just(Level::Warn), Just(Level::Error)];
    let act = prop_oneof![
        6 => (0..SPANS, text).prop_map(|(span, text)| Act::Write(span, text)),
        2 => (0..SPANS, level, "[ab]{0,5}").prop_map(|(span, level, text)| Act::Print(span, level, text)),
        // Updates begin with one; the first span has none, so that all it warned of counts.
        1 => (1..SPANS).prop_map(Act::Headline),
        1 => (0..SPANS).prop_map(Act::EndLine),
        1 => (0..SPANS).prop_map(Act::Again),
    ];
    prop::collection::vec(act, 0..120)
}

/// Three resources with two spans each, the last one of lilt itself.
fn open_span(writer: &LogWriter, number: usize) -> Span {
    let resource = ["web", "api"].get(number / 2).map(ResourceName::new);
    let source = if number.is_multiple_of(2) { Source::Build } else { Source::Runtime };
    writer.span(SpanId::new(format!("span:{number}")), resource, source)
}

/// What each span must have: its lines, in order.
#[derive(Default)]
struct Model {
    lines: BTreeMap<usize, Vec<(Level, String)>>,
    open: BTreeMap<usize, String>,
}

impl Model {
    fn line(&mut self, span: usize, level: Level, text: &str) {
        self.lines.entry(span).or_default().push((level, text.to_owned()));
    }

    fn end(&mut self, span: usize) {
        if let Some(open) = self.open.remove(&span).filter(|open| !open.is_empty()) {
            self.line(span, Level::Info, &open);
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Write(span, text) => {
                let whole = self.open.remove(span).unwrap_or_default() + text;
                let (lines, rest) = whole.rsplit_once('\n').map_or((None, &*whole), |(a, b)| (Some(a), b));
                for line in lines.into_iter().flat_map(|lines| lines.split('\n')) {
                    self.line(*span, Level::Info, line);
                }
                self.open.insert(*span, rest.to_owned());
            }
            Act::Print(span, level, text) => {
                self.end(*span);
                self.line(*span, *level, text);
            }
            Act::Headline(span) => {
                self.end(*span);
                self.line(*span, Level::Info, "");
                self.line(*span, Level::Info, "Headline");
            }
            Act::EndLine(span) | Act::Again(span) => self.end(*span),
        }
    }
}

static TIME: AtomicI64 = AtomicI64::new(0);

fn tick() -> Timestamp {
    Timestamp(TIME.fetch_add(1, Ordering::Relaxed))
}

fn perform(acts: &[Act], writer: &LogWriter) -> Model {
    let mut spans: Vec<Span> = (0..SPANS).map(|number| open_span(writer, number)).collect();
    let mut model = Model::default();
    for act in acts {
        match act {
            Act::Write(span, text) => spans[*span].write(text.as_bytes()),
            Act::Print(span, level, text) => spans[*span].print(*level, text),
            Act::Headline(span) => spans[*span].headline("Headline"),
            Act::EndLine(span) => spans[*span].end_line(),
            Act::Again(span) => spans[*span] = open_span(writer, *span),
        }
        model.act(act);
    }
    drop(spans);
    (0..SPANS).for_each(|span| model.end(span));
    model
}

fn filters(since: Timestamp) -> Vec<Filter> {
    let resources = [vec![], vec!["web"], vec!["api", "web"], vec!["none"]];
    let levels = [vec![], vec![Level::Warn], vec![Level::Warn, Level::Error]];
    let mut filters = Vec::new();
    for (resources, levels) in resources.iter().flat_map(|it| levels.iter().map(move |level| (it, level))) {
        for source in [None, Some(Source::Build), Some(Source::Runtime)] {
            let resources = resources.iter().map(ResourceName::new).collect();
            filters.push(Filter { resources, levels: levels.clone(), source, ..Filter::default() });
        }
    }
    filters.push(Filter { since: Some(since), ..Filter::default() });
    filters.push(Filter { span: Some(SpanId::new("span:3")), ..Filter::default() });
    let text = |text: &str| Some(Pattern::regex(text).unwrap());
    filters.push(Filter { text: text("a+b"), ..Filter::default() });
    filters.push(Filter { text: text("^$"), resources: vec![ResourceName::new("api")], ..Filter::default() });
    filters
}

fn wants(filter: &Filter, line: &Line) -> bool {
    let resource =
        filter.resources.is_empty() || line.resource.as_ref().is_some_and(|it| filter.resources.contains(it));
    let source = filter.source.is_none_or(|source| source == line.source);
    let level = filter.levels.is_empty() || filter.levels.contains(&line.level);
    resource
        && (line.headline || (source && level))
        && filter.since.is_none_or(|since| line.time >= since)
        && filter.span.as_ref().is_none_or(|span| *span == line.span)
        && filter.text.as_ref().is_none_or(|text| text.matches(&line.text))
}

fn forwards(reader: &LogReader, filter: &Filter, page: usize) -> Vec<Line> {
    let mut all = Vec::new();
    let mut next = 0;
    while next < reader.end() {
        let (lines, on) = reader.page(filter, next, page);
        assert!(on > next && lines.len() <= page);
        all.extend(lines);
        next = on;
    }
    all
}

fn backwards(reader: &LogReader, filter: &Filter, page: usize) -> Vec<Line> {
    let mut all = Vec::new();
    let mut before = Some(reader.end());
    while let Some(end) = before {
        let (mut lines, on) = reader.page_back(filter, end, page);
        assert!(lines.len() <= page && on.is_none_or(|on| on < end));
        lines.append(&mut all);
        all = lines;
        before = on;
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_line_is_stored_and_found_by_its_filters(acts in acts(), page in 1_usize..30) {
        let folder = tempfile::tempdir().unwrap();
        let sizes = Sizes { bytes: 60, lines: 7, recent: 1000, disk: u64::MAX };
        let (writer, reader) = LogWriter::open_sized(Some(folder.path().to_owned()), sizes, tick);
        let model = perform(&acts, &writer);
        let all = reader.read(0, usize::MAX);
        prop_assert!(all.iter().enumerate().all(|(index, line)| line.seq == index as u64));
        prop_assert_eq!(all.len() as u64, reader.end());
        for span in 0..SPANS {
            let id = format!("span:{span}");
            let of_span = all.iter().filter(|line| line.span.as_str() == id);
            let of_span: Vec<_> = of_span.map(|line| (line.level, line.text.clone())).collect();
            prop_assert_eq!(of_span, model.lines.get(&span).cloned().unwrap_or_default());
        }
        let since = all.get(all.len() / 2).map_or(Timestamp(0), |line| line.time);
        for filter in filters(since) {
            let wanted: Vec<Line> = all.iter().filter(|line| wants(&filter, line)).cloned().collect();
            prop_assert_eq!(&forwards(&reader, &filter, page), &wanted, "{:?}", filter);
            prop_assert_eq!(&backwards(&reader, &filter, page), &wanted, "{:?}", filter);
            let tail = reader.tail(&filter, page, &|| true);
            let first = wanted.len().checked_sub(page).and_then(|index| wanted.get(index));
            let expected = first.or(wanted.first()).map_or(reader.end(), |line| line.seq);
            prop_assert_eq!(tail, expected, "{:?}", filter);
        }
    }

    #[test]
    fn oldest_lines_are_deleted_beyond_the_limit(count in 0_u64..600, limit in 2_000_u64..20_000) {
        let folder = tempfile::tempdir().unwrap();
        let (writer, reader) = small(folder.path(), limit);
        let mut out = span(&writer, "web");
        (0..count).for_each(|number| out.write(format!("line {number}\n").as_bytes()));
        drop(out);
        let size: u64 = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().metadata().unwrap().len()).sum();
        prop_assert!(size <= limit, "{size} of {limit}");
        let lines = reader.read(0, usize::MAX);
        prop_assert_eq!(lines.first().map_or(0, |line| line.seq), reader.begin());
        let own: Vec<&Line> = lines.iter().filter(|line| line.resource.is_some()).collect();
        let kept = own.len() as u64;
        for (index, line) in own.iter().enumerate() {
            prop_assert_eq!(&line.text, &format!("line {}", count - kept + index as u64));
        }
        prop_assert!(kept == count || reader.begin() > 0);
    }
}

#[test]
fn deleted_lines_are_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, reader) = small(folder.path(), 4_000);
    let mut out = span(&writer, "web");
    let mut reported = Vec::new();
    for number in 0..1000 {
        let before = reader.end();
        out.write(format!("line {number}\n").as_bytes());
        reported.extend(reader.read(before, 10).into_iter().filter(|line| line.level == Level::Warn));
    }
    assert_eq!(reported.len(), 1);
    assert!(reported[0].text.contains("--log-limit"), "{reported:?}");
    assert_eq!(reported[0].resource, None);
}
