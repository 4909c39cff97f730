//! Real reloaders run the last content, however fast files are saved through the agent.
//!
//! Each test starts a reloader on a folder, as a container does, and writes files with the agent's program.
//! `scripts/install-reloaders` installs the reloaders, in the versions of `requirements.txt`, `package.json` and
//! `pom.xml` beside this file; air's version is in the script.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "clippy.toml's rules are not for tests")]

mod project;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;

use project::{Project, free_port, http_get, installed};

const ASGI: &str = "\
async def app(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    await send({'type': 'http.response.body', 'body': b'VERSION'})
";

const WSGI: &str = "\
from flask import Flask
app = Flask(__name__)
@app.route('/')
def index(): return 'VERSION'
";

/// A module that fails to import, to hide an installed one.
const ABSENT: &str = "raise ImportError()\n";

#[test]
fn uvicorn_that_polls_serves_the_last_save() {
    uvicorn(&[("absent/watchfiles.py", ABSENT)]).serves_the_last_save();
}

#[test]
fn uvicorn_with_watchfiles_serves_the_last_save() {
    uvicorn(&[]).serves_the_last_save();
}

fn uvicorn(files: &[(&str, &str)]) -> Project {
    let port = free_port();
    let program = installed("python/bin/uvicorn");
    let arguments = ["app:app", "--reload", "--port", &port.to_string()];
    Project::start(&program, &arguments, "app.py", ASGI, files, move |_| http_get(port, "/"))
}

#[test]
fn flask_that_polls_serves_the_last_save() {
    flask(&[("absent/watchdog.py", ABSENT)]).serves_the_last_save();
}

#[test]
fn flask_with_watchdog_serves_the_last_save() {
    flask(&[]).serves_the_last_save();
}

fn flask(files: &[(&str, &str)]) -> Project {
    let port = free_port();
    let arguments = ["--app", "app", "run", "--debug", "--port", &port.to_string()];
    let program = installed("python/bin/flask");
    Project::start(&program, &arguments, "app.py", WSGI, files, move |_| http_get(port, "/"))
}

/// Returns what the program wrote when it was started.
fn running_txt(folder: &Path) -> Option<String> {
    std::fs::read_to_string(folder.join("running.txt")).ok()
}

#[test]
fn nodemon_runs_the_last_save() {
    let source = "require('fs').writeFileSync('running.txt', 'VERSION'); setInterval(() => {}, 1000);\n";
    let arguments = ["--watch", "app.js", "app.js"];
    let program = installed("node_modules/.bin/nodemon");
    Project::start(&program, &arguments, "app.js", source, &[], running_txt).serves_the_last_save();
}

#[test]
fn air_runs_the_last_save() {
    let source = "package main
import (\"os\"; \"time\")
func main() { os.WriteFile(\"running.txt\", []byte(\"VERSION\"), 0o644); time.Sleep(time.Hour) }
";
    let files = [("go.mod", "module app\n\ngo 1.21\n")];
    Project::start(&installed("go/air"), &[], "main.go", source, &files, running_txt).serves_the_last_save();
}

/// A Java project syncs what its build writes: classes, and resources as they are.
#[test]
fn spring_devtools_run_the_last_save() {
    let java = installed("java");
    let class_path = format!("classes:{java}/classes:{java}/lib/*", java = java.display());
    let arguments = ["-cp", &class_path, "App"];
    let source = "version=VERSION\nspring.main.keep-alive=true\n";
    let files = [("classes/README", "")];
    let program = Path::new("java");
    Project::start(program, &arguments, "classes/application.properties", source, &files, running_txt)
        .serves_the_last_save();
}

#[test]
fn vite_serves_the_last_save() {
    let port = free_port();
    let page = "<script type=module src=/app.js></script>";
    let files = [("index.html", page), ("package.json", "{\"type\": \"module\"}")];
    let arguments = ["--host", "127.0.0.1", "--strictPort", "--port", &port.to_string()];
    let program = installed("node_modules/.bin/vite");
    let source = "export const version = 'VERSION';\n";
    Project::start(&program, &arguments, "app.js", source, &files, move |_| http_get(port, "/app.js"))
        .serves_the_last_save();
}

#[test]
fn webpack_bundles_the_last_save() {
    let arguments = ["--watch", "--mode", "development", "--devtool", "false", "--entry", "./app.js"];
    let program = installed("node_modules/.bin/webpack");
    Project::start(&program, &arguments, "app.js", "console.log('VERSION');\n", &[], |folder| {
        std::fs::read_to_string(folder.join("dist/main.js")).ok()
    })
    .serves_the_last_save();
}
