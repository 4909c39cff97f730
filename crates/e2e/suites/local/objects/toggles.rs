//! `ToggleButton` and the values that switch things.

use serde_json::{Value, json};

use super::client::Session;

#[test]
fn toggle_button_disables_file_watch_and_cmd() {
    let tiltfile = "local_resource('one', 'true')\n\
        v1alpha1.config_map(name='values', data={'off': 'true'})\n\
        off = {'config_map': v1alpha1.config_map_disable_source(name='values', key='off')}\n\
        v1alpha1.cmd(name='server', args=['sleep', '1000'], disable_source=v1alpha1.disable_source(**off))\n\
        v1alpha1.file_watch(name='files', watched_paths=['src'], disable_source=v1alpha1.disable_source(**off))\n";
    let session = Session::start(&[("Tiltfile", tiltfile), ("src/a", "")]);
    let toggle = json!({"spec": {
        "location": {"componentID": "one", "componentType": "Resource"},
        "on": {"text": "Start"}, "off": {"text": "Stop", "requiresConfirmation": true},
        "stateSource": {"configMap": {"name": "values", "key": "off", "onValue": "true", "offValue": "false"}},
    }});
    session.create("togglebuttons", "paused", toggle);
    let off = |it: &Value| it["status"]["disableStatus"]["state"] == "Disabled";
    session.wait("cmds/server", "is switched off", off);
    session.wait("filewatches/files", "is switched off", off);
    let button = session.wait("uibuttons/toggle-paused", "is there", |it| !it.is_null());
    assert_eq!(
        (&button["spec"]["text"], &button["spec"]["requiresConfirmation"]),
        (&json!("Start"), &Value::Null)
    );
    assert_eq!(button["metadata"]["ownerReferences"][0]["kind"], "ToggleButton");
    let action = button["spec"]["inputs"].clone();
    session.click("toggle-paused", "2026-01-01T00:00:00.000000Z", action);
    assert_eq!(session.get("configmaps/values")["data"]["off"], "false");
    session.wait("cmds/server", "runs", |it| it["status"]["running"]["pid"].is_i64());
    session.wait("filewatches/files", "watches", |it| it["status"]["monitorStartTime"].is_string());
    let button = session.get("uibuttons/toggle-paused");
    assert_eq!(
        (&button["spec"]["text"], &button["spec"]["requiresConfirmation"]),
        (&json!("Stop"), &json!(true))
    );
    session.click("toggle-paused", "2026-01-01T00:00:01.000000Z", button["spec"]["inputs"].clone());
    session.wait("cmds/server", "is switched off", off);
    session.delete("togglebuttons/paused");
    assert!(session.get("uibuttons/toggle-paused").is_null());
    session.lilt.quit();
}
