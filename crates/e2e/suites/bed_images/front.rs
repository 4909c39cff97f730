//! The test bed's API server with other answers to some questions: as if its node or its registry were another.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;

use lilt_e2e::site::Site;
use lilt_testbed_env::Testbed;

/// (beginning of a path, status line, body).
type Answers = Vec<(String, &'static str, String)>;

/// Listens as long as it lives. What it is not told to answer goes to the API server.
pub(crate) struct Front {
    proxy: Child,
}

/// Nothing of this name.
pub(crate) const NOT_FOUND: (&str, &str) = (
    "404 Not Found",
    r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#,
);
/// For others to see.
pub(crate) const FORBIDDEN: (&str, &str) = (
    "403 Forbidden",
    r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}"#,
);
pub(crate) const HOSTING: &str = "/api/v1/namespaces/kube-public/configmaps/local-registry-hosting";
pub(crate) const NODES: &str = "/api/v1/nodes";

/// A list of one node with this runtime and these annotations, in JSON.
pub(crate) fn node(runtime: &str, annotations: &str) -> String {
    format!(
        r#"{{"kind":"NodeList","apiVersion":"v1","metadata":{{}},"items":[{{"metadata":{{"name":"n","annotations":{annotations}}},
        "status":{{"nodeInfo":{{"architecture":"amd64","operatingSystem":"linux","containerRuntimeVersion":"{runtime}",
        "bootID":"","kernelVersion":"","kubeProxyVersion":"","kubeletVersion":"","machineID":"","osImage":"","systemUUID":""}}}}}}]}}"#
    )
}

impl Front {
    /// Writes a kubeconfig to the site's folder that leads here, in which the cluster has this name.
    pub(crate) fn of(site: &Site, cluster: &str, answers: &[(&str, &'static str, &str)]) -> Front {
        let mut proxy = Testbed::get()
            .command("kubectl")
            .args(["proxy", "--port=0", "--reject-paths=^$"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("kubectl is there");
        let mut message = String::new();
        BufReader::new(proxy.stdout.take().expect("it was piped"))
            .read_line(&mut message)
            .expect("it says where");
        let target = message.trim().rsplit(' ').next().expect("an address").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let own = |(path, status, body): &(&str, &'static str, &str)| {
            ((*path).to_owned(), *status, (*body).to_owned())
        };
        let answers: Arc<Answers> = Arc::new(answers.iter().map(own).collect());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (answers, target) = (Arc::clone(&answers), target.clone());
                std::thread::spawn(move || drop(serve(client, &answers, &target)));
            }
        });
        let namespace = site.namespace.name();
        site.project.write(
            "kubeconfig",
            &format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: {cluster}\n\
                 clusters:\n- name: {cluster}\n  cluster: {{server: 'http://127.0.0.1:{port}'}}\n\
                 contexts:\n- name: {cluster}\n  context: {{cluster: {cluster}, user: me, namespace: {namespace}}}\n\
                 users:\n- name: me\n  user: {{}}\n"
            ),
        );
        Front { proxy }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

/// One request: its connection is closed with the answer, so that each is looked at.
fn serve(mut client: TcpStream, answers: &Answers, target: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    let path = head.split(' ').nth(1).unwrap_or_default();
    let matches = |known: &str| path == known || path.starts_with(&format!("{known}?"));
    if let Some((_, status, body)) = answers.iter().find(|(known, _, _)| matches(known)) {
        let length = body.len();
        return write!(
            client,
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
    }
    let mut server = TcpStream::connect(target)?;
    let is_upgrade = head.to_lowercase().contains("\r\nupgrade:");
    let head = if is_upgrade { head } else { head.replacen("\r\n", "\r\nConnection: close\r\n", 1) };
    server.write_all(head.as_bytes())?;
    let mut answer = (server.try_clone()?, client.try_clone()?);
    let back = std::thread::spawn(move || {
        let _ = std::io::copy(&mut answer.0, &mut answer.1);
        let _ = answer.1.shutdown(Shutdown::Both);
    });
    let mut buffer = [0; 16 * 1024];
    while let Ok(length) = reader.read(&mut buffer) {
        if length == 0 || server.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Write);
    let _ = back.join();
    Ok(())
}
