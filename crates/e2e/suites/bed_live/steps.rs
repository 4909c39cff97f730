//! Run steps in containers: when they run, for which files, and their failures.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use lilt_e2e::lilt::Lilt;
use lilt_e2e::page::get;
use lilt_e2e::site::Site;
use lilt_testbed_env::eventually;
use serde_json::Value;

use crate::small::{restarts, site, with_steps};

/// Repeats an action with a short pause. Returns the longest interval between two: on a busy
/// machine, more than the pause.
fn paced(times: usize, pause: Duration, mut step: impl FnMut(usize)) -> Duration {
    let mut longest = Duration::ZERO;
    for time in 0..times {
        let before = Instant::now();
        step(time);
        std::thread::sleep(pause);
        longest = longest.max(before.elapsed());
    }
    longest
}

/// Runs a shell command in the container of an image with a shell.
fn exec_in_pod(site: &Site, pod: &str, line: &str) -> String {
    site.namespace.kubectl(&["exec", pod, "-c", "main", "--", "sh", "-c", line])
}

#[test]
fn burst_is_complete_before_run_steps() {
    let site = Site::new("live-burst");
    let save = |index: usize, generation: usize| {
        site.project.write(&format!("app/www/part-{index}"), &format!("{generation}\n"));
    };
    (0..5).for_each(|index| save(index, 0));
    with_steps(
        &site,
        "sync('app/www', '/www'), run('sort -u /www/part-* | wc -l | grep -qx 1 && echo all of $(cat /www/part-4)')",
    );
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let (mut generation, mut bursts) = (0, 0);
    while bursts < 5 {
        generation += 1;
        assert!(generation < 200, "this machine is too busy for bursts");
        let output_end = lilt.output_end();
        let longest = paced(5, Duration::from_millis(4), |index| save(index, generation));
        lilt.wait_for_log_line_after(output_end, "web", &format!("all of {generation}"));
        lilt.wait_until_ready("web");
        // With longer pauses it is no single burst.
        if longest < Duration::from_millis(20) {
            bursts += 1;
            assert_eq!(lilt.output_after(output_end).matches("ERROR").count(), 0, "generation {generation}");
        }
    }
    lilt.quit();
}

/// Two synced images of one pod: each is watched by itself, and a burst over both is one update.
#[test]
fn burst_over_two_images_is_one_update() {
    let site = Site::new("live-both");
    let side = format!("{}-side", site.image());
    site.project.write("side/words/list", "0\n");
    let dockerfile =
        format!("FROM busybox\nLABEL test={side}\nCOPY words /words\nCMD [\"sleep\", \"987\"]\n");
    site.project.write("side/Dockerfile", &dockerfile);
    let one = format!("- {{name: main, image: {}}}", site.image());
    let both = format!("{one}\n      - {{name: side, image: {side}}}");
    site.project.write("web.yaml", &site.yaml("web", site.image()).replace(&one, &both));
    let build = |image: &str, folder: &str, sync: &str, file: &str| {
        format!(
            "docker_build('{image}', '{folder}', live_update=[{sync}, run('echo {folder} has $(cat {file})')])\n"
        )
    };
    let tiltfile = [
        build(site.image(), "app", "sync('app/www', '/www')", "/www/index.html"),
        build(&side, "side", "sync('side/words', '/words')", "/words/list"),
        "k8s_yaml('web.yaml')\n".to_owned(),
    ];
    site.project.write("Tiltfile", &tiltfile.concat());
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let (mut generation, mut bursts) = (0, 0);
    while bursts < 5 {
        generation += 1;
        assert!(generation < 200, "this machine is too busy for bursts");
        let output_end = lilt.output_end();
        let longest = paced(2, Duration::from_millis(8), |index| {
            let file = ["app/www/index.html", "side/words/list"][(index + generation) % 2];
            site.project.write(file, &format!("{generation}\n"));
        });
        lilt.wait_for_log_line_after(output_end, "web", &format!("app has {generation}"));
        lilt.wait_for_log_line_after(output_end, "web", &format!("side has {generation}"));
        lilt.wait_until_ready("web");
        // With longer pauses it is no single burst.
        if longest < Duration::from_millis(20) {
            bursts += 1;
            let printed = lilt.output_after(output_end);
            assert_eq!(printed.matches("2 Files Changed: ").count(), 1, "{printed}");
        }
    }
    lilt.has_lines("STEP 1/5", 1);
    lilt.quit();
}

fn write_slowly(path: &Path, content: &[u8]) -> Duration {
    let mut file = std::fs::File::create(path).expect("it can be written");
    let pieces: Vec<&[u8]> = content.chunks(content.len().div_ceil(20)).collect();
    paced(pieces.len(), Duration::from_millis(20), |index| {
        file.write_all(pieces[index]).expect("it is written");
    })
}

/// Written in place, as by `cp` and some linkers.
#[test]
fn slowly_written_program_is_started_once() {
    let site = site("live-slowly", "scratch", "1234");
    with_steps(&site, "sync('app/busybox', '/busybox'), restart_process()");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    let program = site.project.file("app/busybox");
    let mut content = std::fs::read(&program).expect("it is there");
    loop {
        content.extend(b"more");
        let output_end = lilt.output_end();
        let longest = write_slowly(&program, &content);
        eventually("all of it is there", || {
            // The file exists when it was changed.
            let line =
                ["exec", &pod, "-c", "main", "--", "/busybox", "wc", "-c", "/.lilt/state/kept/busybox"];
            let size = site.namespace.try_kubectl(&line).ok()?;
            size.starts_with(&content.len().to_string()).then_some(())
        });
        lilt.wait_until_ready("web");
        // With longer pauses it may be reported in between.
        if longest < Duration::from_millis(150) {
            assert_eq!(lilt.output_after(output_end).matches("Process started anew").count(), 1);
            break;
        }
    }
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.quit();
}

/// A failed step runs again with the next save of any file.
#[test]
fn failed_run_step_is_rerun_by_next_update() {
    let site = Site::new("live-failed");
    with_steps(
        &site,
        "sync('app/www', '/www'), run('test -e /tmp/allowed && echo it was allowed', trigger='app/www/asking'), \
         run('echo nothing said of this', echo_off=True)",
    );
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let pod = site.only_pod();
    site.project.write("app/www/asking", "may I\n");
    lilt.wait_until("web", "has failed", |web| web["status"]["updateStatus"] == "error");
    exec_in_pod(&site, &pod, "touch /tmp/allowed");
    site.project.write("app/www/other", "another\n");
    lilt.wait_for_log_line("web", "it was allowed");
    lilt.wait_for_log_line("web", "nothing said of this");
    lilt.wait_until_ready("web");
    assert_eq!(lilt.count("echo nothing said of this"), 0, "the command itself is not shown");
    assert_eq!(site.only_pod(), pod);
    lilt.quit();
}

#[test]
fn failed_step_with_echo_off_does_not_show_its_command() {
    let site = Site::new("live-hidden");
    with_steps(&site, "sync('app/www', '/www'), run('exit 7 # hunter2', echo_off=True)");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.project.write("app/www/index.html", "two\n");
    lilt.wait_for_line("ERROR: Build Failed: run step (hidden by echo_off) failed: exit status 7");
    lilt.wait_until("web", "has failed", |web| web["status"]["updateStatus"] == "error");
    let timeline = get(lilt.port(), "/api/timeline?resource=web").expect("it answers");
    assert!(timeline.contains("(hidden by echo_off)"), "{timeline}");
    let web =
        lilt.wait_until("web", "has failed", |web| web["status"]["updateStatus"] == "error").to_string();
    for text in [timeline, lilt.output(), web] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    lilt.quit();
}

/// It may still be running, so it is not restarted automatically.
#[test]
fn interrupted_run_step_is_reported_and_rerun() {
    let site = Site::new("live-cut-off");
    let step = "if test -e /tmp/go; then echo went well; else touch /tmp/began; sleep 987; fi";
    with_steps(&site, &format!("sync('app/www', '/www'), run('{step}')"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    let began = ["exec", &pod, "-c", "main", "--", "test", "-e", "/tmp/began"];
    eventually("the step has begun", || site.namespace.try_kubectl(&began).ok());
    let kill = "for p in /proc/[0-9]*; do case \"$(tr '\\0' ' ' < $p/cmdline)\" in *' serve '--guest*) kill -9 ${p#/proc/};; esac; done";
    exec_in_pod(&site, &pod, kill);
    lilt.wait_for_line("was cut off: lost the live update channel");
    lilt.wait_until("web", "has failed", |web| web["status"]["updateStatus"] == "error");
    exec_in_pod(&site, &pod, "touch /tmp/go");
    site.project.write("app/www/other", "another\n");
    lilt.wait_for_log_line("web", "went well");
    lilt.wait_until_ready("web");
    lilt.has_lines("STEP 1/3", 1);
    assert_eq!(site.only_pod(), pod);
    lilt.quit();
}

/// Returns whether the timeline of a resource has a container that an update missed.
fn has_missed(lilt: &Lilt, resource: &str) -> bool {
    let answer = get(lilt.port(), &format!("/api/timeline?resource={resource}")).expect("it answers");
    let timeline: Value = serde_json::from_str(&answer).expect("it is JSON");
    let updates = timeline["resources"][0]["updates"].as_array().into_iter().flatten();
    let mut stages = updates.flat_map(|update| update["stages"].as_array().into_iter().flatten());
    stages.any(|stage| stage["stage"] == "missed")
}

#[test]
fn save_during_run_step_is_next_update() {
    let site = Site::new("live-meanwhile");
    let step = "until test -e /tmp/go; do sleep 0.1; done; echo saw $(cat /www/index.html)";
    with_steps(&site, &format!("sync('app/www', '/www'), run('{step}')"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let pod = site.only_pod();
    let save = |word: &str| {
        let output_end = lilt.output_end();
        site.project.write("app/www/index.html", &format!("{word}\n"));
        output_end
    };
    let output_end = save("two");
    lilt.wait_for_line_after(output_end, "[CMD 1/1]");
    save("three");
    exec_in_pod(&site, &pod, "touch /tmp/go");
    lilt.wait_for_log_line("web", "saw two");
    lilt.wait_for_log_line("web", "saw three");
    lilt.wait_until_ready("web");
    assert!(!has_missed(&lilt, "web"));

    exec_in_pod(&site, &pod, "rm /tmp/go");
    let output_end = save("four");
    lilt.wait_for_line_after(output_end, "[CMD 1/1]");
    site.namespace.kubectl(&["delete", "pod", &pod, "--wait=false"]);
    eventually("it is told", || has_missed(&lilt, "web").then_some(()));
    let next = eventually("another pod is there", || site.pods().into_iter().find(|other| *other != pod));
    eventually("its step may go on", || {
        let touch = ["exec", &next, "-c", "main", "--", "touch", "/tmp/go"];
        site.namespace.try_kubectl(&touch).ok()
    });
    lilt.wait_for_log_line("web", "saw four");
    lilt.wait_until_ready("web");
    lilt.has_lines("STEP 1/3", 1);
    lilt.quit();
}

/// Without the agent, copied files are lost with the container.
#[test]
fn restarted_container_gets_all_files_again() {
    let site = Site::new("live-again");
    let dockerfile = std::fs::read_to_string(site.project.file("app/Dockerfile")).expect("it is there");
    let (begin, _) = dockerfile.split_once("CMD").expect("it has one");
    let command = r#"CMD ["sh", "-c", "trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait"]"#;
    site.project.write("app/Dockerfile", &format!("{begin}{command}\n"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    site.project.write("app/www/new.html", "new\n");
    eventually("it is there", || get(site.port, "/new.html").filter(|page| page == "new\n"));
    // The command may be killed with the container.
    let _ = site.namespace.try_kubectl(&["exec", &pod, "-c", "main", "--", "kill", "1"]);
    eventually("it was started again", || (restarts(&site, &pod) == "1").then_some(()));
    site.serves("two");
    eventually("it is back", || get(site.port, "/new.html").filter(|page| page == "new\n"));
    lilt.wait_until_ready("web");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "1".to_owned()));
    lilt.has_lines("STEP 1/3", 1);
    lilt.quit();
}
