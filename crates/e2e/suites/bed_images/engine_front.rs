//! A proxy of the test bed's engine that reports old images, and does not remove images of others.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};

use lilt_testbed_env::{Project, Testbed};
use serde_json::{Value, json};

/// Listens until the process ends; its socket is removed with the value.
pub(crate) struct EngineFront {
    folder: Project,
}

impl EngineFront {
    /// `old`: every image was tagged years ago.
    pub(crate) fn new(old: bool) -> EngineFront {
        let folder = Project::new(&[]);
        let listener = UnixListener::bind(folder.file("docker.sock")).expect("a folder of our own");
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || drop(serve(client, old)));
            }
        });
        EngineFront { folder }
    }

    pub(crate) fn host(&self) -> String {
        format!("unix://{}", self.folder.file("docker.sock").display())
    }
}

fn serve(mut client: UnixStream, old: bool) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    let (method, path) = head.split_once(' ').unwrap_or_default();
    let path = path.split([' ', '?']).next().unwrap_or_default();
    if let Some((status, body)) = own_answer(method, path, old) {
        let body = body.to_string();
        return write!(client, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    }
    let mut engine = UnixStream::connect(Testbed::get().docker_host().trim_start_matches("unix://"))?;
    engine.write_all(head.as_bytes())?;
    let mut answer = (engine.try_clone()?, client.try_clone()?);
    let back = std::thread::spawn(move || {
        let _ = std::io::copy(&mut answer.0, &mut answer.1);
        let _ = answer.1.shutdown(Shutdown::Both);
    });
    let mut buffer = [0; 16 * 1024];
    while let Ok(length) = reader.read(&mut buffer) {
        if length == 0 || engine.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = engine.shutdown(Shutdown::Write);
    let _ = back.join();
    Ok(())
}

fn own_answer(method: &str, path: &str, old: bool) -> Option<(&'static str, Value)> {
    let (_, route) = path.trim_start_matches('/').split_once('/')?;
    match (method, route) {
        ("POST", "containers/prune") => {
            Some(("200 OK", json!({"ContainersDeleted": null, "SpaceReclaimed": 0})))
        }
        ("POST", "build/prune") => {
            Some(("200 OK", json!({"CachesDeleted": ["abc"], "SpaceReclaimed": 2_000_000})))
        }
        ("GET", route) if old => {
            let image = route.strip_prefix("images/")?.strip_suffix("/json")?;
            let Ok(text) = Testbed::get().try_docker(&["image", "inspect", image]) else {
                return Some(("404 Not Found", json!({"message": "no such image"})));
            };
            let mut found: Value = serde_json::from_str(&text).expect("docker prints JSON");
            let mut found = found[0].take();
            found["Metadata"] = json!({"LastTagTime": "2020-02-02T02:02:02.123456789Z"});
            Some(("200 OK", found))
        }
        _ => None,
    }
}
