//! The object API of the page.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use lilt_e2e::lilt::{Lilt, Start};
use lilt_testbed_env::{Project, eventually};
use serde_json::{Value, json};

pub(super) struct Session {
    pub(super) lilt: Lilt,
    pub(super) project: Project,
}

/// Status, head and body of an answer.
pub(crate) type Answer = (u16, String, String);

pub(crate) fn ask(port: u16, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: localhost:{port}\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, head.to_owned(), body.to_owned())
}

impl Session {
    pub(super) fn start(files: &[(&str, &str)]) -> Session {
        let project = Project::new(files);
        let config = project.file("config");
        let lilt = Start::up(&project).variable("TILT_CONFIG", &config).start();
        lilt.wait_for_line("Successfully loaded Tiltfile");
        Session { lilt, project }
    }

    pub(super) fn request(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let headers = format!("Content-Type: {content}\r\n");
        let path = format!("/proxy/apis/tilt.dev/v1alpha1/{path}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, _, body) = ask(self.lilt.port(), method, &path, &headers, &body);
        (status, serde_json::from_str(&body).unwrap_or_else(|_| json!(body)))
    }

    #[track_caller]
    fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.request(method, path, body);
        assert!((200..300).contains(&status), "{method} {path}: {answer:#}");
        answer
    }

    #[track_caller]
    pub(super) fn create(&self, plural: &str, name: &str, content: Value) -> Value {
        let mut object = content;
        object["metadata"]["name"] = json!(name);
        self.done("POST", plural, &object)
    }

    #[track_caller]
    pub(super) fn patch(&self, path: &str, change: &Value) -> Value {
        self.done("PATCH", path, change)
    }

    #[track_caller]
    pub(super) fn delete(&self, path: &str) {
        self.done("DELETE", path, &Value::Null);
    }

    /// Null if there is none.
    pub(super) fn get(&self, path: &str) -> Value {
        match self.request("GET", path, &Value::Null) {
            (404, _) => Value::Null,
            (_, object) => object,
        }
    }

    #[track_caller]
    pub(super) fn wait(&self, path: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{path} {what}"), || Some(self.get(path)).filter(&is_so))
    }

    /// Clicks a button now.
    pub(super) fn click(&self, button: &str, at: &str, inputs: Value) {
        let status = json!({"status": {"lastClickedAt": at, "inputs": inputs}});
        self.patch(&format!("uibuttons/{button}/status"), &status);
    }
}

pub(super) fn button(inputs: Value) -> Value {
    json!({"spec": {"text": "Click", "location": {"componentID": "one", "componentType": "Resource"}, "inputs": inputs}})
}
