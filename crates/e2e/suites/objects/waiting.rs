//! `wait`.

use crate::session::Session;

#[test]
fn wait_returns_when_condition_holds() {
    let session = Session::start();
    assert_eq!(
        session.prints(&["wait", "--for=condition=Ready", "uiresource/one", "uiresource/two"]),
        "uiresource.tilt.dev/one condition met\nuiresource.tilt.dev/two condition met\n"
    );
    let all = session.prints(&["wait", "--for=condition=UpToDate=True", "uiresource", "--all", "-o", "name"]);
    assert_eq!(all.lines().count(), 3, "{all}");
    session.prints(&["wait", "--for=condition=ready", "uiresource", "-l", "back", "--timeout=0"]);
    let created = session.command(&["wait", "--for=create", "cmd/late", "--timeout=5m"]).start();
    let both = [
        "wait",
        "--for=jsonpath={.status.terminated.exitCode}=0",
        "--for=create",
        "cmd/late",
        "--timeout=-1s",
    ];
    let both = session.command(&both).start();
    session.prints(&["create", "cmd", "late", "true"]);
    assert_eq!(created.wait_for_exit().expect_clean_exit(0).stdout(), "cmd.tilt.dev/late condition met\n");
    assert_eq!(both.wait_for_exit().expect_clean_exit(0).stdout().lines().count(), 2);
    let deleted = session.command(&["wait", "--for=delete", "cmd/late", "--timeout=5m"]).start();
    session.prints(&["delete", "cmd/late"]);
    deleted.wait_for_exit().expect_clean_exit(0);
    assert_eq!(session.prints(&["wait", "--for=delete", "cmd/late"]), "", "it is gone already");
    session.lilt.quit();
}

#[test]
fn wait_reports_timeout_and_mistakes() {
    let session = Session::start();
    let message = session.complaints(&[
        &["wait", "--for=condition=Ready=false", "uiresource/one", "uiresource/two", "--timeout=100ms"],
        &["wait", "--for=condition=Ready=false", "uiresource/one", "--timeout=0"],
        &["wait", "--for=create", "cmd/none", "--timeout=100ms"],
        &["wait", "--for=delete", "uiresource/one", "--timeout=100ms"],
        &["wait", "--for=condition=Ready", "uiresource/none"],
        &["wait", "--for=condition=Ready", "uiresource", "-l", "none"],
        &["wait", "--for=condition=Ready", "uiresource"],
        &["wait", "--for=condition=Ready"],
        &["wait", "uiresource/one"],
        &["wait", "--for=ready", "uiresource/one"],
        &["wait", "--for=jsonpath={.status}=x", "uiresource/one"],
        &["wait", "--for=jsonpath={.status.a}=", "uiresource/one"],
        &["wait", "--for=condition=Ready", "uiresource/one", "--local"],
        &["wait", "--for=condition=Ready", "uiresource/one", "--all"],
    ]);
    insta::assert_snapshot!(message);
    // The end of the session is a failure.
    let waiting = session.command(&["wait", "--for=create", "cmd/none", "--timeout=5m"]).start();
    let other =
        session.command(&["wait", "--for=condition=Ready=false", "uiresource/one", "--timeout=5m"]).start();
    session.lilt.quit();
    for ended in [waiting.wait_for_exit(), other.wait_for_exit()] {
        assert_eq!(ended.code(), Some(1), "{}", ended.output());
    }
}
