//! Generates the page's types from the Rust types. When they differ, this test writes them and fails once, so that the
//! change is noticed and committed.

use std::path::Path;

use lilt_api::{
    ConfigMapDisableSource, DisableResourceStatus, DisableSource, ManagedFieldsEntry, ObjectMeta,
    OwnerReference, RuntimeStatus, TiltBuild, Time, UIBuildRunning, UIBuildTerminated, UIFeatureFlag,
    UIResource, UIResourceCompose, UIResourceCondition, UIResourceKubernetes, UIResourceLink,
    UIResourceLocal, UIResourceStateWaiting, UIResourceStateWaitingOnRef, UIResourceStatus,
    UIResourceTargetSpec, UISession, UISessionStatus, UnreachableService, UpdateStatus, VersionSettings,
    annotation,
};
use lilt_model::cluster::{ObjectCondition, ReportedNotice, ReportedObject};
use lilt_model::log::{Level, Line, Source};
use lilt_model::request::Request;
use lilt_model::resource::TriggerMode;
use lilt_model::timeline::{Outcome, Stage, StageKind, UpdateRecord};
use lilt_model::{ResourceName, SpanId, Timestamp};
use lilt_server::count::LineCount;
use lilt_server::lines::{LogPage, LogSections};
use lilt_server::protocol::{PageMessage, ServerMessage};
use lilt_server::{ResourceTimeline, RunningSession, Timeline};
use ts_rs::{Config, TS};

const HEAD: &str = "// Written by `cargo test -p lilt-server --features ts`; do not edit.\n\
    \nimport type { UIButton } from \"./objects\";\n";

macro_rules! declare {
    ($($kind:ty),* $(,)?) => {{
        // Numbers stay far below 2^53.
        let config = Config::new().with_large_int("number");
        let mut text = String::new();
        $(
            let documentation = <$kind as TS>::docs().unwrap_or_default();
            text.push_str(&format!("\n{documentation}export {}\n", <$kind as TS>::decl(&config)));
        )*
        text
    }};
}

#[path = "bindings/objects.rs"]
mod objects;

fn annotations() -> String {
    format!(
        "\n/** Where lilt says more than Tilt's fields can hold. */\nexport const annotation = {{\n  hold: {:?},\n  \
         cause: {:?},\n  runtimeMessage: {:?},\n  forwards: {:?},\n  drift: {:?},\n  unreachable: {:?},\n  \
         unreachableCluster: {:?},\n}} as const;\n",
        annotation::HOLD,
        annotation::CAUSE,
        annotation::RUNTIME_MESSAGE,
        annotation::FORWARDS,
        annotation::DRIFT,
        annotation::UNREACHABLE,
        annotation::UNREACHABLE_CLUSTER,
    )
}

#[test]
fn typescript_types_are_those_of_the_protocol() {
    let declarations = declare![
        ServerMessage,
        PageMessage,
        ResourceName,
        SpanId,
        Timestamp,
        Time,
        ObjectMeta,
        UIResource,
        UIResourceStatus,
        RuntimeStatus,
        UpdateStatus,
        UIBuildRunning,
        UIBuildTerminated,
        UIResourceLink,
        UIResourceKubernetes,
        UIResourceLocal,
        UIResourceTargetSpec,
        DisableResourceStatus,
        UIResourceStateWaiting,
        UIResourceStateWaitingOnRef,
        UIResourceCondition,
        UIResourceCompose,
        DisableSource,
        ConfigMapDisableSource,
        OwnerReference,
        ManagedFieldsEntry,
        UISession,
        UISessionStatus,
        TiltBuild,
        UIFeatureFlag,
        VersionSettings,
        UnreachableService,
        Line,
        Level,
        Source,
        LogPage,
        LogSections,
        LineCount,
        ReportedNotice,
        ReportedObject,
        ObjectCondition,
        Request,
        TriggerMode,
        Timeline,
        ResourceTimeline,
        UpdateRecord,
        Outcome,
        Stage,
        StageKind,
        RunningSession,
    ];
    let wanted = format!("{HEAD}{declarations}{}", annotations());
    check("protocol.ts", &wanted);
}

#[test]
fn typescript_types_of_objects_are_those_of_the_api() {
    check("objects.ts", &objects::declarations());
}

#[expect(clippy::disallowed_methods, reason = "the test is about files of the project")]
fn check(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/generated").join(name);
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    if found != wanted {
        std::fs::create_dir_all(path.parent().expect("the path has a folder")).expect("create the folder");
        std::fs::write(&path, wanted).expect("write the types");
        panic!("web/src/generated/{name} was out of date and has been written anew: commit it");
    }
}
