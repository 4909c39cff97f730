//! `get -w`.

use crate::session::{MAP, Session};

#[test]
fn get_watch_prints_changes() {
    let session = Session::start();
    let rows = session.command(&["get", "cm", "-w"]).start();
    rows.wait_for_line("NAME ");
    rows.wait_for_line("two-disable ");
    let names = session.command(&["get", "cm", "-w", "--watch-only", "-o", "name", "-l", "app=shop"]).start();
    let one = session
        .command(&["get", "cm/values", "-w", "-o", "jsonpath={.data.a};\n", "--ignore-not-found"])
        .start();
    // It is unknown when the watch is open, so an object is created repeatedly until it is seen.
    lilt_testbed_env::eventually("both watches stand", || {
        session.command(&["apply", "-f", "map.yaml"]).run().expect_clean_exit(0);
        session.command(&["delete", "-f", "map.yaml"]).run().expect_clean_exit(0);
        (names.count("configmap.tilt.dev/values") > 0 && one.count("1;") > 0).then_some(())
    });
    session.project.write("map.yaml", &MAP.replace("a: '1'", "a: '7'"));
    session.prints(&["apply", "-f", "map.yaml"]);
    rows.wait_for_line("values ");
    one.wait_for_line("7;");
    assert_eq!(rows.count("NAME "), 1, "one line with heads");
    // It ends with the session, with exit code 0.
    session.lilt.quit();
    for watcher in [rows, names, one] {
        let ended = watcher.wait_for_exit().expect_clean_exit(0);
        assert_eq!(ended.stderr(), "");
    }
}

#[test]
fn get_watch_of_missing_object_fails() {
    let session = Session::start();
    assert_eq!(
        session.fails(&["get", "cm", "none", "-w"]),
        "Error from server (NotFound): configmaps.tilt.dev \"none\" not found\n"
    );
    let watcher = session.command(&["get", "cm", "-w"]).start();
    watcher.wait_for_line("two-disable ");
    watcher.ctrl_c();
    watcher.wait_for_exit().leaves_nothing();
    session.lilt.quit();
}
