//! The demo's web server, which serves the files of one folder. It is built in so that the demo needs no other program.

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use lilt_host::files::{FileEntry, read_entry};
use lilt_host::terminal;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::arguments::DemoServer;

pub(crate) async fn run(server: DemoServer) -> anyhow::Result<ExitCode> {
    let listener = TcpListener::bind(("localhost", server.port)).await?;
    terminal::line(&format!("serving {} on port {}", server.folder.display(), server.port));
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        connections.spawn(answer(stream, server.folder.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(stream: TcpStream, folder: PathBuf) {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    if stream.read_line(&mut request).await.is_err() {
        return;
    }
    let path = request.split_whitespace().nth(1).unwrap_or("/");
    let (status, body) = match find(&folder, path) {
        Some(content) => ("200 OK", content),
        None => ("404 Not Found", b"not found\n".to_vec()),
    };
    terminal::line(&format!("{} {path}", &status[..3]));
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    // The browser may have disconnected.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&body).await;
    let _ = stream.shutdown().await;
}

fn find(folder: &Path, path: &str) -> Option<Vec<u8>> {
    let name = path.split('?').next()?.trim_start_matches('/');
    let name = Path::new(if name.is_empty() { "index.html" } else { name });
    // Files outside the folder are not served.
    let inside = name.components().all(|part| matches!(part, Component::Normal(_)));
    match read_entry(&folder.join(name)).ok()? {
        FileEntry::File { content, .. } if inside => Some(content),
        _ => None,
    }
}
