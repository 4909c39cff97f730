//! `GET /api/lines`, as the page scrolls.

use lilt_model::log::Source;
use lilt_model::{ResourceName, SpanId};
use lilt_server::lines::{LINES_PER_PAGE, LogPage, LogSections};

use super::harness::Server;

impl Server {
    async fn lines(&self, query: &str) -> LogPage {
        let answer = self.get(&format!("/api/lines?{query}")).await;
        assert_eq!(answer.status, 200, "{query}: {}", answer.body);
        serde_json::from_str(&answer.body).expect("a page of lines")
    }
}

fn numbers(page: &LogPage) -> Vec<u64> {
    page.lines.iter().map(|line| line.seq).collect()
}

#[tokio::test]
async fn pages_are_read_in_both_directions() {
    let server = Server::start().await;
    let mut span = server.span("web");
    (0..100).for_each(|number| span.write(format!("line {number}\n").as_bytes()));
    let page = server.lines("from=0&count=10").await;
    assert_eq!((numbers(&page), page.next), ((0..10).collect(), Some(10)));
    assert_eq!((page.begin, page.end), (0, 100));
    let page = server.lines("from=95&count=10").await;
    assert_eq!((numbers(&page), page.next), ((95..100).collect(), None));
    let page = server.lines("before=100&count=10").await;
    assert_eq!((numbers(&page), page.next), ((90..100).collect(), Some(90)));
    let page = server.lines("before=5&count=10").await;
    assert_eq!((numbers(&page), page.next), ((0..5).collect(), None));
    assert_eq!(numbers(&server.lines("before=0").await), [] as [u64; 0]);
    assert_eq!(numbers(&server.lines("from=1000").await), [] as [u64; 0]);
    // Past the end is the end.
    assert_eq!(numbers(&server.lines("before=1000&count=2").await), [98, 99]);
}

#[tokio::test]
async fn pages_contain_only_matching_lines() {
    let server = Server::start().await;
    let mut span = server.span("web");
    (0..50_000).for_each(|number| span.write(format!("line {number}\n").as_bytes()));
    let page = server.lines("from=0&text=LINE+4&count=1").await;
    assert_eq!((numbers(&page), page.next), (vec![4], Some(5)));
    let page = server.lines("before=50000&match=00%24&count=3").await;
    assert_eq!(numbers(&page), [49_700, 49_800, 49_900]);
    assert_eq!(numbers(&server.lines("from=0&resource=api").await), [] as [u64; 0]);
    assert_eq!(server.lines("from=0").await.lines.len(), LINES_PER_PAGE);
}

#[tokio::test]
async fn sections_distinguish_pods_and_containers() {
    let server = Server::start().await;
    let resource = || Some(ResourceName::new("web"));
    let names = ["pod:web:web-1", "pod:web:web-1:app", "pod:web:web-11:app"];
    for name in names {
        let mut span = server.logs.span(SpanId::new(name), resource(), Source::Runtime);
        span.write(format!("of {name}\n").as_bytes());
    }
    let answer = server.get("/api/sections?resource=web").await;
    let found: LogSections = serde_json::from_str(&answer.body).expect("sections");
    assert_eq!(found.sections.iter().map(SpanId::as_str).collect::<Vec<_>>(), names);
    assert_eq!(numbers(&server.lines("from=0&span=pod:web:web-1").await), [0, 1]);
    assert_eq!(numbers(&server.lines("from=0&span=pod:web:web-11:app").await), [2]);
}

#[tokio::test]
async fn invalid_queries_are_refused() {
    let server = Server::start().await;
    for query in ["", "from=x", "count=3", "from=0&colour=red", "from=0&match=(", "from=0&field=x"] {
        assert_eq!(server.get(&format!("/api/lines?{query}")).await.status, 400, "{query}");
    }
}
