//! The terminal UI in a real terminal.

use lilt_e2e::processes::runs;
use lilt_e2e::tty::Terminal;
use lilt_testbed_env::{Project, eventually};
use nix::sys::signal::Signal;

const TILTFILE: &str = "local_resource('build', 'echo built', deps=['input'], labels=['tools'])\n\
                        local_resource('server', serve_cmd='echo serving; exec sleep 987', links=['http://localhost:8123/'])\n\
                        local_resource('button', 'echo pressed', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)\n";

fn ui(project: &Project) -> Terminal {
    let terminal = Terminal::start(project, &["up", "--legacy", "--port", "random"]);
    terminal.wait_until("is whole", vt100::Screen::alternate_screen);
    terminal
}

fn project() -> Project {
    Project::new(&[("Tiltfile", TILTFILE), ("input", "1\n")])
}

/// A row of the list.
fn row<'a>(screen: &'a str, name: &str) -> Option<&'a str> {
    screen.lines().find(|line| line.trim_start_matches(['▸', ' ']).starts_with(&format!("{name} ")))
}

#[test]
fn tui_shows_update_and_runtime_status() {
    let project = project();
    let terminal = ui(&project);
    terminal.wait_until("has all states", |screen| {
        let screen = screen.contents();
        let has = |name: &str, words: &[&str]| {
            row(&screen, name).is_some_and(|row| words.iter().all(|word| row.contains(word)))
        };
        has("build", &["✓ Up to date", "- Nothing to run"])
            && has("server", &["✓ Running"])
            && has("button", &["· Not started"])
    });
    assert!(terminal.screen_text().contains("tools (1)"), "{}", terminal.screen_text());
    terminal.types("\x03");
    assert_eq!(terminal.ends_clean().code(), Some(0));
}

#[test]
fn tui_keys_select_trigger_filter_and_search() {
    let project = project();
    let terminal = ui(&project);
    terminal.wait_for("· Not started");
    // The list is filtered, the only row is chosen, its log is shown.
    terminal.types("/butt");
    terminal.wait_until("shows only one", |screen| row(&screen.contents(), "server").is_none());
    terminal.types("\r");
    terminal.wait_for("waiting for a trigger");
    terminal.types("\r");
    terminal.wait_for("pressed");
    terminal.wait_for("✓ Up to date");
    terminal.types("\x1b");
    terminal.wait_for("server");
    // All logs, searched.
    terminal.types("lsSERV\r");
    terminal.wait_for("no more lines with \"SERV\"");
    terminal.types("sserving\r");
    terminal.wait_until("marks the match", |screen| {
        let (rows, columns) = screen.size();
        let inverse = |row, column| screen.cell(row, column).is_some_and(|cell| cell.inverse());
        let with_marker = (0..rows.get()).map(|row| {
            let cells = (0..columns.get()).filter(|column| inverse(row, *column));
            cells
                .filter_map(|column| Some(screen.cell(row, column)?.contents().to_owned()))
                .collect::<String>()
        });
        with_marker.into_iter().any(|text| text == "serving")
    });
    // The line of the cursor goes into the clipboard.
    terminal.types("y");
    terminal.wait_for_written("\x1b]52;c;c2VydmluZw==\x07");
    terminal.wait_for("copied the line");
    terminal.types("?");
    terminal.wait_for("Keys · any key closes");
    terminal.types("x");
    terminal.wait_until("shows no help", |screen| !screen.contents().contains("any key closes"));
    terminal.types("qy");
    assert_eq!(terminal.ends_clean().code(), Some(0));
}

#[test]
fn tui_shows_update_after_save() {
    let project = project();
    let terminal = ui(&project);
    terminal.types("/build\r");
    terminal.wait_for("✓ Up to date");
    project.write("input", "2\n");
    terminal.wait_for("1 File Changed: [input]");
    terminal.signal(Signal::SIGTERM);
    assert_eq!(terminal.ends_clean().code(), Some(0));
}

#[test]
fn tui_follows_terminal_size() {
    let project = project();
    let terminal = ui(&project);
    terminal.wait_for("q quit");
    for (columns, rows) in [(120, 40), (40, 10), (1, 1), (7, 3), (200, 5), (2, 50), (80, 24)] {
        terminal.resize(columns, rows);
        terminal.types("jk\t\t");
    }
    terminal.resize(120, 40);
    terminal.wait_until("uses its width", |screen| {
        let screen = screen.contents();
        screen.lines().any(|line| line.chars().count() > 100) && screen.contains("✓ Running")
    });
    terminal.signal(Signal::SIGHUP);
    assert_eq!(terminal.ends_clean().code(), Some(0));
}

#[test]
fn tui_assumes_80x24_without_size() {
    let project = project();
    let terminal = ui(&project);
    terminal.forget_size();
    terminal.types("\x0c");
    terminal.wait_for("q quit");
    terminal.types("\x03");
    terminal.ends_clean();
}

/// Logs cannot control the terminal.
#[test]
fn tui_confines_control_sequences_of_logs() {
    let nasty = r"printf '\033[2J\033[31mred\033]0;owned\007 \033[?1049l\033cend\n'";
    let project = Project::new(&[("Tiltfile", &format!("local_resource('nasty', {nasty:?})\n"))]);
    let terminal = ui(&project);
    terminal.types("/nasty\r");
    terminal.wait_for("red end");
    assert!(!terminal.written().contains("\x1b]0;"));
    assert!(!terminal.written().contains("\x1bc"));
    terminal.wait_until("is still whole", vt100::Screen::alternate_screen);
    terminal.wait_for("✓ Up to date");
    terminal.types("\x03");
    terminal.ends_clean();
}

#[test]
fn can_be_suspended_and_resumed() {
    let project = project();
    let terminal = ui(&project);
    terminal.wait_for("✓ Running");
    terminal.types("\x1a");
    terminal.wait_until_stopped();
    terminal.assert_restored();
    terminal.signal(Signal::SIGCONT);
    terminal.wait_until("is whole again", |screen| {
        screen.alternate_screen() && screen.contents().contains("✓ Running")
    });
    terminal.types("?");
    terminal.wait_for("any key closes");
    terminal.types("\x03");
    terminal.ends_clean();
}

#[test]
fn tui_quit_ends_servers() {
    let project = project();
    let terminal = ui(&project);
    terminal.wait_for("✓ Running");
    let processes = terminal.processes();
    assert!(!processes.is_empty());
    terminal.signal(Signal::SIGQUIT);
    assert_eq!(terminal.ends_clean().code(), Some(0));
    assert!(processes.iter().all(|pid| !runs(*pid)));
}

#[test]
fn tui_honours_no_color() {
    let project = project();
    for (value, coloured) in [("", true), ("1", false)] {
        let terminal =
            Terminal::start_with(&project, &["up", "--hud", "--port", "random"], &[("NO_COLOR", value)]);
        terminal.wait_for("✓ Running");
        let has = |code: &str| terminal.written().contains(code);
        // Green, as crossterm writes it.
        assert_eq!(has("38;5;2"), coloured, "{:?}", terminal.written());
        terminal.types("\x03");
        terminal.ends_clean();
    }
}

/// A million lines, of which only those in sight are drawn.
#[test]
fn tui_scrolls_long_log() {
    let tiltfile = "local_resource('long', 'seq 1 60000')\nlocal_resource('short', 'echo short and quiet')\n";
    let project = Project::new(&[("Tiltfile", tiltfile)]);
    let terminal = ui(&project);
    terminal.types("/long\r");
    terminal.wait_for("59999");
    terminal.types("\tg");
    terminal.wait_for("Running cmd: seq 1 60000");
    terminal.types("s59123\r");
    terminal.wait_for("▸59123");
    terminal.types("n");
    terminal.wait_for("no more lines with \"59123\"");
    terminal.wait_for("▸59123");
    terminal.types("G");
    terminal.wait_for("59999");
    eventually("the search is over", || {
        terminal.types("\x1b");
        (!terminal.screen_text().contains("/59123")).then_some(())
    });
    terminal.types("\x03");
    terminal.ends_clean();
}

/// With a real shell: stopped, in the background, in the foreground again, ended in the background.
#[test]
fn tui_survives_shell_job_control() {
    let project = project();
    for flags in ["", "--legacy"] {
        let shell = Terminal::shell(&project);
        shell.wait_for("PROMPT>");
        let start = || {
            shell.types("clear\n");
            shell.wait_until("is clear", |screen| screen.contents().trim() == "PROMPT>");
            shell.types(&format!("{} up --port random {flags}\n", env!("CARGO_BIN_EXE_lilt")));
            shell.wait_for(if flags.is_empty() { "2 ready" } else { "✓ Running" });
            shell.types("\x1a");
            shell.wait_for("Stopped");
            shell.types("clear; bg\n");
            // lilt does not draw over the shell.
            shell.types("clear; jobs\n");
            shell.wait_for("Running");
        };
        start();
        shell.types("clear; fg\n");
        shell.wait_for(if flags.is_empty() { "2 ready" } else { "✓ Running" });
        shell.types("\x03");
        shell.wait_until("is the shell's", |screen| {
            !screen.alternate_screen() && screen.contents().trim_end().ends_with("PROMPT>")
        });
        start();
        shell.types("clear; kill %1; wait %1; echo code=$?\n");
        shell.wait_for("code=0");
        shell.types("exit\n");
        assert_eq!(shell.ends_clean().code(), Some(0));
    }
}
