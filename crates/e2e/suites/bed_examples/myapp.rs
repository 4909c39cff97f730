//! Two services and a database: what hot reload, process restart, waiting and manual triggers are to a beginner.

use lilt_e2e::lilt::Lilt;
use lilt_e2e::page::get;
use lilt_testbed_env::eventually;
use serde_json::Value;

use crate::example::Example;

fn session() -> (Example, Lilt) {
    let example = Example::new("myapp", "MYAPP_PORT");
    example
        .start(&["ci", "--port", "random"])
        .run()
        .expect_clean_exit(0)
        .expect_output("SUCCESS. All workloads are healthy.");
    let lilt = example.start(&["up", "--stream", "--port", "random"]).start();
    for resource in ["db", "greeter", "myapp"] {
        lilt.wait_until_ready(resource);
    }
    waits_for_its_database(&lilt);
    (example, lilt)
}

/// Nothing of myapp begins before what it works with is there.
fn waits_for_its_database(lilt: &Lilt) {
    let first = |resource: &str| -> Value {
        let text = get(lilt.port(), &format!("/api/timeline?resource={resource}")).expect("lilt answers");
        let timeline: Value = serde_json::from_str(&text).expect("JSON");
        timeline["resources"][0]["updates"][0].clone()
    };
    let (db, myapp) = (first("db"), first("myapp"));
    assert_eq!(myapp["stages"][0]["stage"], "wait", "{myapp}");
    let began = myapp["stages"][1]["begin"].as_str();
    assert!(began.is_some() && began >= db["stages"][0]["end"].as_str(), "{db} {myapp}");
}

#[test]
fn its_whole_story() {
    let (example, lilt) = session();
    example.serves("/", "\"visits\":");
    example.serves("/hello/bob", "Hello, bob!");
    let pods = || ["myapp", "greeter"].map(|app| example.pod(app));
    let before = pods();

    // uvicorn sees the file; the greeter is started again.
    example.edit("app/main.py", "\"Welcome\"", "\"Salve\"");
    example.serves("/", "Salve");
    example.edit("greeter/greeter.py", "\"Hello\"", "\"Ciao\"");
    example.serves("/hello/bob", "Ciao, bob!");
    assert_eq!(pods(), before, "nothing was built, and nothing replaced");

    a_mistake_is_shown_and_mended(&example, &lilt);
    a_requirement_that_nobody_has(&example, &lilt);
    saved_changes_wait_for_the_button(&example, &lilt);
    some_changes_need_an_image(&example, &lilt, &before[0]);
    steps_in_a_wrong_order_are_told(&example, &lilt);

    lilt.quit();
    all_but_one_by_hand(&example);
    example.start(&["down"]).run().expect_clean_exit(0);
    example.leaves_nothing();
}

fn a_mistake_is_shown_and_mended(example: &Example, lilt: &Lilt) {
    example.edit("greeter/greeter.py", "\"Ciao\"", "\"Ciao");
    lilt.wait_for_line("greeter │ SyntaxError: unterminated string literal");
    lilt.wait_until("greeter", "not ready any more", |it| it["status"]["runtimeStatus"] != "ok");
    example.edit("greeter/greeter.py", "\"Ciao\n", "\"Salut\"\n");
    lilt.wait_until_ready("greeter");
    example.serves("/hello/bob", "Salut, bob!");
}

/// The Tiltfile is a saved file as any other.
fn steps_in_a_wrong_order_are_told(example: &Example, lilt: &Lilt) {
    let run = "        run('./install-requirements', trigger='requirements.txt'),\n";
    let first = "        fall_back_on('install-requirements'),\n";
    let sync = "        sync('app', '/code/app'),\n";
    let message = |from: &str, to: &str, words: &str| {
        let output_end = lilt.output_end();
        example.edit("Tiltfile", from, to);
        lilt.wait_for_line_after(output_end, words);
        lilt.wait_until("(Tiltfile)", "failed", |it| it["status"]["updateStatus"] == "error");
        example.serves("/", "Salve");
        example.edit("Tiltfile", to, from);
        lilt.wait_until_ready("(Tiltfile)");
    };
    let both = [format!("{first}{sync}"), format!("{sync}{first}")];
    message(&both[0], &both[1], "live_update: fall_back_on steps must come first");
    message(sync, &format!("{run}{sync}"), "live_update: all sync steps must come before all run steps");
    let outside = "sync('app/main.py', '/srv/greeter.py')";
    message(
        "sync('greeter/greeter.py', '/srv/greeter.py')",
        outside,
        "is outside of what is watched for this image",
    );
}

/// What everybody wants in a day of many edits.
fn all_but_one_by_hand(example: &Example) {
    let lilt = example.start(&["up", "--stream", "--port", "random", "--", "--manual"]).start();
    for resource in ["db", "greeter", "myapp"] {
        lilt.wait_until_ready(resource);
    }
    example.edit("greeter/greeter.py", "\"Salut\"", "\"Servus\"");
    lilt.wait_until("greeter", "waiting with changes", |it| it["status"]["hasPendingChanges"] == true);
    example.edit("app/main.py", "\"Salve\"", "\"Benvenuto\"");
    example.serves("/", "Benvenuto");
    example.serves("/hello/bob", "Salut, bob!");
    lilt.click("greeter");
    example.serves("/hello/bob", "Servus, bob!");
    lilt.quit();
}

fn a_requirement_that_nobody_has(example: &Example, lilt: &Lilt) {
    let output_end = lilt.output_end();
    example.edit("requirements.txt", "uvicorn", "nothing_of_that_name==0\nuvicorn");
    lilt.wait_for_line_after(output_end, "myapp │   → Failed to update container ");
    lilt.wait_for_line_after(output_end, "myapp │ ERROR: Build Failed: run step");
    let output = lilt.output_after(output_end);
    let position = |words: &str| output.find(words).expect("it was there");
    assert!(position("→ Failed to update container") < position("ERROR: Build Failed"), "{output}");
    assert_eq!(output.matches("ERROR: Build Failed").count(), 1, "{output}");
    lilt.wait_until("myapp", "failed", |it| it["status"]["updateStatus"] == "error");
    example.serves("/", "Salve");
    example.edit("requirements.txt", "nothing_of_that_name==0\n", "");
    lilt.wait_until_ready("myapp");
    lilt.wait_for_log_line_after(output_end, "myapp", "requirements: fastapi,uvicorn");
}

fn saved_changes_wait_for_the_button(example: &Example, lilt: &Lilt) {
    lilt.click("checks");
    lilt.wait_until("checks", "done", |it| it["status"]["updateStatus"] == "ok");
    example.edit("db/db.py", "def do_GET", "def do_GET ");
    lilt.wait_until("checks", "waiting with changes", |it| it["status"]["hasPendingChanges"] == true);
    let output_end = lilt.output_end();
    lilt.click("checks");
    lilt.wait_for_line_after(output_end, "checks │ Running cmd: python3 -m py_compile");
    eventually("the changes are taken", || {
        let it = lilt.wait_until("checks", "done", |it| it["status"]["updateStatus"] == "ok");
        (it["status"]["hasPendingChanges"] != true).then_some(())
    });
}

/// What `fall_back_on` names is no matter of copying.
fn some_changes_need_an_image(example: &Example, lilt: &Lilt, pod: &str) {
    let output_end = lilt.output_end();
    example.edit("install-requirements", "requirements: $names", "all there: $names");
    lilt.wait_for_line_after(output_end, "myapp │ STEP 1/3 — Building Dockerfile: [myapp]");
    eventually("another pod runs", || (example.pod("myapp") != pod).then_some(()));
    example.serves("/", "Salve");
}
