//! The cost of a turn depends on the changes, not on the size of the project. Measured in evaluations of
//! resources.

mod support;

use lilt_api::{Object, ObjectKey, ObjectKind};
use lilt_engine::{Event, FileChanges, WatchId, dump};
use lilt_model::Timestamp;
use lilt_model::cluster::{Notice, Subject};
use lilt_model::request::Request;
use lilt_model::resource::Resource;
use serde_json::json;
use support::*;

/// One resource of each kind among others that nothing happens to, or that wait for their turn.
fn session(others: usize) -> Script {
    let others = (0..others).map(|index| {
        if index % 2 == 0 {
            parallel(&format!("idle-{index}"))
        } else {
            manual(local(&format!("idle-{index}")))
        }
    });
    let own: Vec<Resource> = vec![local("a"), server("web"), workload("w"), after(local("b"), &["a"])];
    let mut script = Script::loaded(own.into_iter().chain(others).collect());
    script.connect();
    for _ in 0..100_000 {
        let running = lilt_engine::plan(&script.state).into_keys().find_map(|id| match id {
            lilt_engine::TaskId::Update(name) => Some(name.to_string()),
            _ => None,
        });
        match running {
            Some(name) if name == "w" => script.deploy("w", "one"),
            Some(name) => script.succeed(&name),
            None => return script,
        };
    }
    panic!("it never comes to rest");
}

/// The looks that each of some events takes.
fn costs(script: &mut Script) -> Vec<u64> {
    type Act = fn(&mut Script) -> &mut Script;
    let acts: [Act; 9] = [
        |script| script.save("a", "/p/a/x"),
        |script| script.succeed("a"),
        |script| script.trigger("b"),
        |script| script.fail("b"),
        |script| script.pod(running("w", "w-1", "one", "c1")),
        |script| script.save_image("w", "w", "/p/w/src/x"),
        |script| script.synced("w", "c1", Ok(())),
        |script| script.event(Event::PodGone { pod: pod_ref("w-1") }),
        |script| {
            let request = Request::Switch { enable: vec![], disable: vec!["web".into()] };
            script.event(Event::Requested { request })
        },
    ];
    let cost = |act: Act| {
        let before = script.state.operations();
        script.state.take_touched();
        act(script);
        script.state.operations() - before
    };
    acts.into_iter().map(cost).collect()
}

#[test]
fn a_turn_costs_what_changed_not_what_there_is() {
    let few = costs(&mut session(2));
    let many = costs(&mut session(300));
    assert_eq!(few, many);
    assert!(few.iter().all(|cost| *cost <= 8), "{few:?}");
}

/// Also when many wait in the queue.
#[test]
fn a_turn_does_not_look_at_those_that_wait_for_their_turn() {
    let cost = |count: usize| {
        let mut script = Script::loaded((0..count).map(|index| local(&format!("r-{index:04}"))).collect());
        script.state.take_touched();
        let before = script.state.operations();
        script.succeed("r-0000");
        script.state.operations() - before
    };
    assert_eq!(cost(3), cost(500));
}

/// Saves, builds with new pods, what the cluster reports of these, clicks, and loads of the Tiltfile.
fn work(script: &mut Script, rounds: std::ops::Range<usize>) {
    for round in rounds {
        let file = round % 7;
        script.save("a", &format!("/p/a/{file}")).succeed("a");
        script.save_image("w", "w", &format!("/p/w/src/{file}")).synced("w", "c", Ok(()));
        script.trigger("b").fail("b");
        // As bundlers do that put a hash into names.
        let bundle = format!("/p/w/src/bundle-{round:06}.js");
        script.create_file("w", &bundle).synced("w", "c", Ok(()));
        script.delete_file("w", &bundle).synced("w", "c", Ok(()));
        let (tag, pod) = (format!("tag-{round:06}"), format!("w-{round:06}"));
        script.save_image("w", "w", &format!("/p/w/{file}")).deploy("w", &tag);
        script.event(Event::PodGone { pod: pod_ref(&format!("w-{:06}", round.saturating_sub(1))) });
        script.pod(starting("w", &pod, &tag));
        for reason in ["Scheduled", "BackOff"] {
            let about = Subject::Pod(pod_ref(&pod));
            let at = Timestamp(script.time * 1_000_000);
            let notice = Notice {
                about,
                warning: true,
                reason: reason.into(),
                message: String::new(),
                probe: None,
                at,
            };
            script.event(Event::Noticed { notice });
        }
        script.pod(running("w", &pod, &tag, "c"));
        if round % 10 == 9 {
            let resources = vec![local("a"), workload("w"), local("b"), parallel(&format!("new-{round:06}"))];
            script.save_tiltfile().load(resources).succeed(&format!("new-{round:06}"));
        }
    }
}

#[test]
fn state_after_many_saves_is_as_large_as_after_some() {
    let resources = vec![local("a"), workload("w"), local("b"), parallel("new-000000")];
    let mut script = Script::loaded(resources);
    script.connect().succeed("a").succeed("b").succeed("new-000000");
    script.deploy("w", "tag-first").pod(running("w", "w-000000", "tag-first", "c"));
    let size = |script: &Script| dump(&script.state).to_string().len();
    // Histories are full after 200 rounds.
    work(&mut script, 0..250);
    let some = size(&script);
    work(&mut script, 250..600);
    let many = size(&script);
    // Numbers get longer.
    assert!(many <= some + some / 50, "{some} bytes became {many}");
}

#[test]
fn state_does_not_grow_with_files_that_come_and_go_without_a_build() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one");
    for pod in ["w-1", "w-2"] {
        script.pod(running("w", pod, "one", pod));
    }
    let size = |script: &Script| dump(&script.state).to_string().len();
    let bundle = |script: &mut Script, number: usize| {
        let path = |number: usize| format!("/p/w/src/bundle-{number:06}.js");
        script.create_file("w", &path(number));
        let both = |script: &mut Script| {
            script.synced("w", "w-1", Ok(())).synced("w", "w-2", Ok(()));
        };
        both(script);
        if number >= 10 {
            script.delete_file("w", &path(number - 10));
            both(script);
        }
    };
    // Histories are full after 200 rounds.
    (0..250).for_each(|number| bundle(&mut script, number));
    let some = size(&script);
    (250..1000).for_each(|number| bundle(&mut script, number));
    let many = size(&script);
    // Numbers get longer.
    assert!(many <= some + some / 50, "{some} bytes became {many}");
}

#[test]
fn a_save_costs_the_same_however_many_objects_there_are() {
    let cost = |count: usize| {
        let mut script = Script::loaded(vec![workload("w")]);
        script.connect().deploy("w", "one").pod(running("w", "w-1", "one", "c1"));
        let mut put = |kind: ObjectKind, name: &str, spec: serde_json::Value| {
            let mut object = Object::named(name);
            object.content.insert("spec".to_owned(), spec);
            let key = ObjectKey::new(kind, name);
            script.event(Event::ObjectPut { key, object: Box::new(object), uid: format!("{kind}-{name}") });
        };
        for index in 0..count {
            let watch = format!("files-{index}");
            put(ObjectKind::FileWatch, &watch, json!({"watchedPaths": [format!("w/{index}")]}));
            put(
                ObjectKind::LiveUpdate,
                &format!("copy-{index}"),
                json!({
                    "basePath": "/p", "sources": [{"fileWatch": watch}],
                    "selector": {"kubernetes": {"discoveryName": "w", "containerName": "main"}},
                    "syncs": [{"localPath": "w", "containerPath": "/w"}],
                }),
            );
            put(
                ObjectKind::DockerImage,
                &format!("image-{index}"),
                json!({"ref": format!("i{index}"), "context": format!("w/{index}")}),
            );
        }
        script.state.take_touched();
        let before = script.state.operations();
        let watches = [WatchId::Object("files-0".into()), WatchId::Object("image:image-0".into())];
        let changes = watches.map(|watch| FileChanges::new(watch, vec!["/p/w/0/file".into()])).to_vec();
        script.event(Event::FilesChanged { changes });
        let touched = script.state.take_touched().objects.len();
        (script.state.operations() - before, touched)
    };
    assert_eq!(cost(1), cost(50));
    assert!(cost(1).0 > 0, "objects are counted");
}
