//! Recordings of sessions with secrets.

mod support;

use lilt_engine::{
    Entry, Event, Mode, Options, Recorder, State, Task, TaskId, apply, plan, replay, schedule,
};
use lilt_model::Timestamp;
use lilt_model::files::FileSet;
use lilt_model::resource::Body;
use lilt_model::secret::Secret;
use support::*;

/// A session, and what it would have recorded.
struct Recorded {
    script: Script,
    entries: Vec<Entry>,
}

impl Recorded {
    fn take(&mut self, event: Event) {
        let at = Timestamp(1_000_000 * self.entries.len() as i64);
        self.entries.extend([Entry::Event { at, fact: Box::new(event.clone()) }, Entry::Turn]);
        apply(&mut self.script.state, at, event);
        schedule(&mut self.script.state);
    }
}

#[test]
fn replay_finds_a_resource_that_is_named_like_a_secret() {
    let options = Options::new("/p/Tiltfile", Mode::Up);
    let script = Script { state: State::new(options.clone()), time: 0 };
    let mut recorded = Recorded { script, entries: vec![Entry::Session { options }] };
    recorded.take(Event::Started);
    let mut client = after(local("client"), &["postgres"]);
    if let Body::Local(body) = &mut client.body
        && let Some(command) = &mut body.update
    {
        command.argv = vec!["psql".into(), "--password=postgres".into()];
    }
    let mut project = limited(vec![local("postgres"), client], 3);
    let (name, value) = ("postgres".to_owned(), b"postgres".to_vec());
    project.secrets = vec![Secret { name, key: "user".into(), value, encoded: "cG9zdGdyZXM=".into() }];
    let load = recorded.script.running_load().expect("a load runs");
    recorded.take(Event::Loaded {
        load,
        files: FileSet::new(vec!["/p/Tiltfile".into()], Vec::new()),
        contents: Default::default(),
        outcome: Ok(Box::new(project)),
    });
    for task in plan(&recorded.script.state).into_values() {
        if let Task::Watch { watch, version, .. } = task {
            recorded.take(Event::Watching { watch, version });
        }
    }
    let update = TaskId::Update("postgres".into());
    assert!(plan(&recorded.script.state).contains_key(&update));

    let mut recorder = Recorder::default();
    let lines: Vec<String> = recorded.entries.into_iter().map(|entry| recorder.line(entry)).collect();
    let text = lines.join("\n");
    assert!(text.contains("--password=[redacted secret postgres:user]"), "{text}");
    let read = lines.iter().map(|line| serde_json::from_str(line).expect("a recording can be read"));
    let replayed = replay(read.collect::<Vec<Entry>>(), |_| {}).expect("and replayed");
    let tasks = |state: &State| plan(state).into_keys().collect::<Vec<_>>();
    assert_eq!(tasks(&replayed), tasks(&recorded.script.state));
    assert!(tasks(&replayed).contains(&update));
}
