//! Fuzzes requests to the object API, and the effect of accepted objects on the engine.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lilt_api::{Object, ObjectKey};
use lilt_engine::{Event, Mode, Options, State, apply, plan, project_object, schedule};
use lilt_model::Timestamp;

fuzz_target!(|bytes: &[u8]| {
    let Some((_, object)) = lilt_server::fuzzing::api(bytes) else { return };
    let Some(key) = ObjectKey::of(&object) else { return };
    let mut state = State::new(Options::new("/p/Tiltfile", Mode::Up));
    apply(&mut state, Timestamp(1), Event::Started);
    let object = Object::read(object);
    let uid = "uid".to_owned();
    apply(&mut state, Timestamp(2), Event::ObjectPut { key: key.clone(), object: Box::new(object), uid });
    schedule(&mut state);
    plan(&state);
    project_object(&state, &key);
});
