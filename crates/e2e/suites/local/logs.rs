//! Stored logs, and `lilt logs`.

use std::process::{Child, Command, Stdio};

use lilt_e2e::lilt::{Lilt, Start};
use lilt_e2e::page::get;
use lilt_testbed_env::{Project, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

struct Live {
    project: Project,
    lilt: Lilt,
    port: String,
}

impl Live {
    fn start(tiltfile: &str) -> Live {
        Self::start_with(tiltfile, |start| start)
    }

    fn start_with(tiltfile: &str, change: impl FnOnce(Start) -> Start) -> Live {
        let project = Project::new(&[("Tiltfile", tiltfile)]);
        let lilt = change(Start::up(&project)).start();
        let port = lilt.port().to_string();
        Live { project, lilt, port }
    }

    fn command(&self, arguments: &[&str]) -> Start {
        let all: Vec<&str> = ["logs", "--port", &self.port].iter().chain(arguments).copied().collect();
        Start::new(&self.project, &all)
    }

    #[track_caller]
    fn logs(&self, arguments: &[&str]) -> String {
        self.command(arguments).run().expect_clean_exit(0).stdout()
    }

    fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let lines = self.logs(&arguments);
        lines.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
    }

    fn messages(&self, arguments: &[&str]) -> Vec<String> {
        let texts = self.json(arguments).into_iter().map(|line| line["message"].as_str().map(str::to_owned));
        texts.map(|text| text.expect("a line has a message")).collect()
    }
}

const THREE: &str = "\
print('hello from the Tiltfile')
local_resource('web', 'echo one; echo two >&2; printf \"no end\"')
local_resource('api', 'echo from api; exit 3')
local_resource('srv', serve_cmd='echo serving; exec sleep 987')
";

fn three() -> Live {
    let live = Live::start(THREE);
    live.lilt.wait_for_line("api │ ERROR: Build Failed:");
    live.lilt.wait_for_log_line("srv", "serving");
    live.lilt.wait_for_line("no end");
    live
}

#[test]
fn control_sequences_are_printed_only_with_raw() {
    let live = Live::start(
        "local_resource('web', r'printf \"\\033]52;c;cGFzcw==\\007\\033[2Jone \\033[31mred\\033[0m\\n\"; echo done')\n",
    );
    live.lilt.wait_for_line("web │ done");
    let filtered = live.logs(&["web", "--match", "^one"]);
    assert_eq!(filtered, "one \x1b[31mred\x1b[0m\n");
    let raw = live.logs(&["web", "--match", "^one", "--raw"]);
    assert_eq!(raw, "\x1b]52;c;cGFzcw==\x07\x1b[2Jone \x1b[31mred\x1b[0m\n");
    let streamed = live.lilt.output();
    live.lilt.quit();
    assert!(streamed.contains("one \x1b[31mred\x1b[0m\n"), "{streamed:?}");
    assert!(!streamed.contains("\x1b[2J") && !streamed.contains('\x07'), "{streamed:?}");
}

#[test]
fn up_prints_control_sequences_with_raw() {
    let tiltfile = "local_resource('web', r'printf \"\\033[2Jone\\n\"; echo done')\n";
    let live = Live::start_with(tiltfile, |start| start.argument("--raw"));
    live.lilt.wait_for_line("web │ done");
    let streamed = live.lilt.output();
    live.lilt.quit();
    assert!(streamed.contains("\x1b[2Jone\n"), "{streamed:?}");
}

#[test]
fn logs_are_filtered_by_resource_source_level_and_text() {
    let live = three();
    let web = live.logs(&["web"]);
    let lines: Vec<&str> = web.lines().collect();
    let command = "Running cmd: echo one; echo two >&2; printf \"no end\"";
    assert_eq!(lines, ["", "Initial Build", command, "one", "two", "no end"], "one resource needs no prefix");
    let both = live.logs(&["api", "web"]);
    assert!(both.contains("          api │ from api\n") && both.contains("          web │ one\n"), "{both}");
    assert!(!both.contains("serving"), "{both}");
    assert!(live.logs(&[]).contains("\nhello from the Tiltfile\n"));
    assert_eq!(live.logs(&["(Tiltfile)", "--match", "^hello"]), "hello from the Tiltfile\n");

    let error = "ERROR: Build Failed: Command \"echo from api; exit 3\" failed: exit status 3\n";
    assert_eq!(live.logs(&["api", "--level", "error"]), format!("\nInitial Build\n{error}"));
    assert_eq!(live.logs(&["api", "--tail", "1"]), error);
    assert_eq!(live.logs(&["--tail=0"]), "");
    assert_eq!(live.logs(&["srv", "--source", "runtime", "--match", "(?i)^SERV"]), "serving\n");
    assert_eq!(live.logs(&["srv", "--source=build", "--grep", "serving$"]), "");
    assert_eq!(live.logs(&["--since", "0s"]), "");
    assert!(live.logs(&["--since", "1h"]).contains("serving"));
    live.lilt.quit();
}

#[test]
fn logs_json_has_the_format_of_tilt() {
    let live = three();
    let lines = live.json(&["api"]);
    let last = lines.last().expect("there are lines");
    let keys: Vec<&str> = last.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["time", "resource", "level", "message", "spanID", "progressID", "buildEvent", "source"]
    );
    assert_eq!(
        (&last["resource"], &last["level"], &last["source"]),
        (&"api".into(), &"error".into(), &"build".into())
    );
    let headline = lines.iter().find(|line| line["message"] == "Initial Build").expect("a headline");
    assert_eq!(headline["buildEvent"], "init");
    live.lilt.quit();
}

#[test]
fn invalid_log_filters_have_hints() {
    let live = three();
    let complaint = live.command(&["wbe"]).run().expect_clean_exit(1).stderr();
    assert_eq!(complaint, "Error: there is no resource named \"wbe\"\nhint: did you mean web?\n");
    let complaint = live.command(&["--match", "("]).run().expect_clean_exit(1).stderr();
    assert!(complaint.contains("unclosed group"), "{complaint}");
    for arguments in [&["--tail=-2"][..], &["--level", "loud"], &["--source", "pod"], &["--since", "now"]] {
        let ended = live.command(arguments).run().expect_clean_exit(1);
        assert!(ended.stderr().contains(arguments[0].split('=').next().unwrap_or_default()), "{arguments:?}");
    }
    let project = Project::new(&[]);
    let port = lilt_testbed_env::free_port().to_string();
    let complaint = Start::new(&project, &["logs", "--port", &port]).run().expect_clean_exit(1).stderr();
    assert!(complaint.contains(&format!("no session answers on http://localhost:{port}/")), "{complaint}");
    assert!(complaint.contains("lilt up"), "{complaint}");
    live.lilt.quit();
}

#[test]
fn logs_follow_prints_until_session_ends() {
    let live = three();
    let all = live.command(&["-f"]).start();
    let tail = live.command(&["--follow", "--tail", "1", "srv"]).start();
    all.wait_for_line("from api");
    tail.wait_for_line("serving");
    live.lilt.click("api");
    let output_end = all.output_end();
    all.wait_for_line_after(output_end, "          api │ ERROR: Build Failed");
    assert_eq!(tail.output(), "serving\n");
    tail.ctrl_c();
    tail.wait_for_exit().expect_clean_exit(0);
    live.lilt.quit();
    all.wait_for_exit().expect_clean_exit(0);
}

#[test]
fn logs_follow_prints_last_lines() {
    let live = Live::start(
        "local_resource('srv', serve_cmd='trap \"seq -f bye-%.0f 2000; exit\" TERM; echo serving; while :; do sleep 0.02; done')\n",
    );
    let all = live.command(&["-f", "srv"]).start();
    eventually("it serves", || all.output().lines().any(|line| line == "serving").then_some(()));
    live.lilt.quit();
    let message = all.wait_for_exit().expect_clean_exit(0).stdout();
    assert_eq!(message.lines().filter(|line| line.starts_with("bye-")).count(), 2000, "{message}");
}

#[test]
fn logs_tolerates_closed_stdout() {
    let live = Live::start("local_resource('many', 'seq 200000')\n");
    live.lilt.wait_for_log_line("many", "200000");
    let script = format!("\"$0\" logs --port {} | head -n 2", live.port);
    let mut command = Command::new("bash");
    command.args(["-o", "pipefail", "-c", &script, env!("CARGO_BIN_EXE_lilt")]).stdin(Stdio::null());
    let output = command.output().expect("there is bash");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success() && !output.stdout.is_empty(), "{output:?}");
    live.lilt.quit();
}

#[test]
fn unterminated_line_is_shown_and_continued() {
    let live = Live::start(
        "local_resource('ask', serve_cmd='printf \"Name? \"; until test -e go; do sleep 0.02; done; echo Alice; exec sleep 987')\n",
    );
    let question = || (live.messages(&["ask", "--tail", "1"]) == ["Name? "]).then_some(());
    eventually("the question is shown", question);
    live.project.write("go", "");
    live.lilt.wait_for_log_line("ask", "Name? Alice");
    assert_eq!(live.messages(&["ask", "--tail", "1"]), ["Name? Alice"]);
    live.lilt.quit();
}

#[test]
fn invalid_utf8_and_long_lines_are_readable() {
    let live = Live::start(
        r#"
local_resource('bar', 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf "\\r%d of 3000" $i; done; echo', allow_parallel=True)
local_resource('long', 'head -c 10000000 /dev/zero | tr "\\0" x; echo; echo end', allow_parallel=True)
local_resource('bytes', 'printf "a\\377b\\n\\033[31mred\\033[0m\\r\\n"', allow_parallel=True)
"#,
    );
    for name in ["bar", "long", "bytes"] {
        live.lilt.wait_until_ready(name);
    }
    let bar = live.messages(&["bar"]);
    assert!(bar.len() < 20 && bar.last().is_some_and(|last| last == "3000 of 3000"), "{bar:?}");
    let long = live.messages(&["long", "--tail", "2"]);
    assert_eq!((long[0].len(), long[1].as_str()), (10_000_000, "end"));
    let bytes = live.messages(&["bytes", "--tail", "2"]);
    assert_eq!(bytes, ["a\u{fffd}b", "\u{1b}[31mred\u{1b}[0m"]);
    live.lilt.wait_for_log_line("long", "end");
    // Another resource's line may come between its pieces.
    let printed = live.lilt.output();
    let long = printed.lines().filter(|line| line.starts_with("         long │ x"));
    assert_eq!(long.map(|line| line.matches('x').count()).sum::<usize>(), 10_000_000);
    live.lilt.quit();
}

#[test]
fn log_limit_drops_oldest_lines_and_warns() {
    let live = Live::start_with("local_resource('many', 'seq -f \"line number %.0f\" 300000')\n", |start| {
        start.argument("--log-limit=3MB")
    });
    live.lilt.wait_for_line("--log-limit");
    live.lilt.wait_for_log_line("many", "line number 300000");
    let ended = live.command(&["many"]).run().expect_clean_exit(0);
    assert!(
        ended.stderr().ends_with(" older lines are no longer kept (--log-limit)\n"),
        "{}",
        ended.stderr()
    );
    let kept = ended.stdout();
    assert!(kept.ends_with("line number 299999\nline number 300000\n"));
    assert!((10_000..300_000).contains(&kept.lines().count()), "{}", kept.lines().count());
    live.lilt.quit();
    let project = Project::new(&[("Tiltfile", "")]);
    Start::up(&project)
        .argument("--log-limit=much")
        .run()
        .expect_clean_exit(1)
        .expect_output("expected a size");
}

#[test]
fn up_prints_only_selected_lines() {
    let project = Project::new(&[("Tiltfile", THREE)]);
    let only = |flags: &[&str], last: &str| {
        let mut start = Start::up(&project);
        for flag in flags {
            start = start.argument(flag);
        }
        let lilt = start.start();
        lilt.wait_for_line(last);
        lilt.wait_until_ready("web");
        let output = lilt.output();
        lilt.quit();
        output
    };
    let errors = only(&["--log-level=error"], "ERROR: Build Failed");
    assert!(errors.contains("          api │ Initial Build\n") && !errors.contains("from api\n"), "{errors}");
    let web = only(&["--log-resource", "web"], "no end");
    assert!(web.contains("\none\n") && !web.contains("hello") && !web.contains("serving"), "{web}");
    let runtime = only(&["--log-source", "runtime"], "serving");
    assert!(!runtime.contains("          web │ one"), "{runtime}");
}

#[test]
fn secrets_are_redacted_in_logs_and_messages() {
    let live = Live::start(
        "
k8s_yaml(blob('''
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData:
  password: correct-horse
  config: |
    {
      port: 8080
    }
'''))
local_resource('leak', '''
printf 'pw=correct-'; sleep 0.5; echo horse
echo Y29ycmVjdC1ob3JzZQ==
printf 'config: {\\n    port: 8080\\n  }\\n'
echo port: 8080
exit 3''')
",
    );
    let leak = live.lilt.wait_until("leak", "failed", |it| it["status"]["updateStatus"] == "error");
    let error = leak["status"]["buildHistory"][0]["error"].as_str().unwrap_or_default();
    assert!(error.contains("[redacted secret db:password]"), "{error}");
    let lines = live.messages(&["leak", "--match", "^(pw|config|\\[|port)"]);
    let (password, config) = ("[redacted secret db:password]", "[redacted secret db:config]");
    let config_line = format!("config: {config}");
    assert_eq!(lines, [&format!("pw={password}"), password, &config_line, config, config, "port: 8080"]);
    assert!(!live.lilt.output().contains("Y29ycmVjdC1ob3JzZQ"), "{}", live.lilt.output());
    live.lilt.quit();
}

/// A command is shortened to 120 characters in the timeline.
#[test]
fn secret_in_long_command_is_redacted_everywhere() {
    let secret = "
k8s_yaml(blob('''
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: correct-horse}
'''))
";
    let command = |fill: usize| format!("exit 3; : {}correct-horse and more", "x".repeat(fill));
    // The value goes through the end of what is shown, and once it ends well before.
    let tiltfile = format!(
        "{secret}local_resource('cut', '{}')\nlocal_resource('whole', '{}', deps=['correct-horse'])\n",
        command(103),
        command(20)
    );
    let live = Live::start(&tiltfile);
    for name in ["cut", "whole"] {
        live.lilt.wait_until(name, "failed", |it| it["status"]["updateStatus"] == "error");
    }
    live.project.write("correct-horse", "saved\n");
    let timeline = eventually("the save is the cause of an update", || {
        let timeline = get(live.lilt.port(), "/api/timeline?resource=whole")?;
        timeline.contains("File Changed: ").then_some(timeline)
    });
    assert!(timeline.contains("File Changed: [[redacted secret db:password]]"), "{timeline}");
    let timeline = timeline + &get(live.lilt.port(), "/api/timeline").expect("it answers");
    let snapshot = Start::new(&live.project, &["snapshot", "create", "--port", &live.port])
        .run()
        .expect_clean_exit(0)
        .stdout();
    for text in [timeline, snapshot, live.lilt.output()] {
        assert!(!text.contains("correct") && !text.contains("horse"), "{text}");
    }
    live.lilt.quit();
}

/// A session whose output nobody takes. It ends with the test, however that ends: who reads the test's own complaints
/// would wait for it.
struct Unread(Child);

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn blocked_stdout_does_not_block_session() {
    let project = Project::new(&[("Tiltfile", "local_resource('many', 'seq 100000; echo done')\n")]);
    let home = Project::new(&[]);
    let port = lilt_testbed_env::free_port().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lilt"));
    command.args(["up", "--stream", "--port", &port]).current_dir(project.path()).stdin(Stdio::null());
    command.env("HOME", home.path()).env("XDG_CACHE_HOME", home.file("cache")).env_remove("KUBECONFIG");
    // Its output is not read.
    let mut session = Unread(command.stdout(Stdio::piped()).spawn().expect("lilt starts"));
    let tail = ["logs", "--port", &port, "--tail", "1", "many"];
    eventually("all lines are kept", || {
        // Of the same user, who has the token.
        let client = Start::new(&project, &tail).variable("HOME", home.path());
        let ended = client.variable("XDG_CACHE_HOME", home.file("cache")).run();
        (ended.code() == Some(0) && ended.stdout() == "done\n").then_some(())
    });
    let pid = Pid::from_raw(i32::try_from(session.0.id()).expect("process ids are small"));
    kill(pid, Signal::SIGINT).expect("it runs");
    let status = eventually("it ends", || session.0.try_wait().expect("a child can be waited for"));
    assert!(status.success(), "{status}");
}
