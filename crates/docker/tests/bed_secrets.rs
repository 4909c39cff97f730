//! What build steps may use of this machine: secrets, ssh agents, keys.
#![expect(clippy::disallowed_methods, reason = "tests use this machine's files, processes and environment")]

#[path = "support/bed.rs"]
mod bed;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bed::{Context, build, build_telling, output};
use lilt_docker::SshSource;

/// Lists the names of the keys of a step's agent.
const LIST: &str = "\
import os, socket, struct
agent = socket.socket(socket.AF_UNIX)
agent.connect(os.environ['SSH_AUTH_SOCK'])
agent.sendall(b'\\0\\0\\0\\1\\x0b')
answers = agent.makefile('rb')
text = lambda: answers.read(struct.unpack('>I', answers.read(4))[0])
answers.read(5)
for _ in range(struct.unpack('>I', answers.read(4))[0]):
    text()
    print('key', text().decode())
";

/// A Dockerfile whose steps print the keys that each mount provides.
fn listing(context: &Context, mounts: &[&str]) -> String {
    let steps = mounts
        .iter()
        .map(|mount| format!("RUN --mount={mount} : {} && python3 /list.py\n", context.path().display()));
    format!("FROM python:3-slim\nCOPY list.py /\n{}", steps.collect::<String>())
}

/// A new key with a name.
fn key(folder: &Path, name: &str, passphrase: &str) -> PathBuf {
    let path = folder.join(name);
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f"])
        .arg(&path)
        .status();
    assert!(made.expect("ssh-keygen is there").success());
    path
}

/// A user's agent.
struct Agent {
    process: Child,
    socket: PathBuf,
}

impl Agent {
    fn with(folder: &Path, key: &Path) -> Self {
        let socket = folder.join("agent");
        let mut process = Command::new("ssh-agent")
            .arg("-D")
            .arg("-a")
            .arg(&socket)
            .stdout(Stdio::piped())
            .spawn()
            .expect("ssh-agent is there");
        // It prints its address when it listens.
        let mut line = String::new();
        let said = process.stdout.take().expect("it is piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut line).expect("it speaks");
        let added = Command::new("ssh-add").arg("-q").arg(key).env("SSH_AUTH_SOCK", &socket).status();
        assert!(added.expect("ssh-add is there").success());
        Self { process, socket }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn steps_use_named_agents_and_keys() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::with(folder.path(), &key(folder.path(), "mine", ""));
    let keys = vec![key(folder.path(), "deploy", ""), key(folder.path(), "other", "")];
    let context = Context::new(&[("list.py", LIST)]);
    let mut request = context.request(&listing(&context, &["type=ssh", "type=ssh,id=files"]));
    request.ssh = [
        ("default".to_owned(), SshSource::Agent(agent.socket.clone())),
        ("files".to_owned(), SshSource::Keys(keys)),
    ]
    .into();
    let (built, told) = build_telling(&request).await;
    let _image = built.unwrap();
    assert_eq!(output(&told), ["key mine", "key deploy", "key other"]);
}

#[tokio::test]
async fn missing_secret_or_agent_is_named() {
    let context = Context::new(&[("list.py", LIST)]);
    let failure =
        build(&context.request(&listing(&context, &["type=ssh,required=true"]))).await.err().unwrap();
    assert!(failure.message.contains("no ssh agent \"default\" is given to the build"), "{failure}");
    assert!(failure.hint.as_ref().unwrap().contains("docker_build(ssh='default')"), "{failure}");
    assert_eq!(failure.location.as_ref().unwrap().line, 3);

    let folder = tempfile::tempdir().unwrap();
    let mut request = context.request(&listing(&context, &["type=ssh"]));
    let locked = key(folder.path(), "locked", "passphrase");
    request.ssh = [("default".to_owned(), SshSource::Keys(vec![locked.clone()]))].into();
    let failure = build(&request).await.err().unwrap();
    assert!(
        failure.message.starts_with(&format!("an ssh agent with {} cannot", locked.display())),
        "{failure}"
    );

    let dockerfile = format!(
        "FROM busybox\nRUN --mount=type=secret,id=token,required=true : {}\n",
        context.path().display()
    );
    let failure = build(&context.request(&dockerfile)).await.err().unwrap();
    assert!(failure.message.contains("token"), "{failure}");
    assert!(failure.hint.as_ref().unwrap().contains("docker_build(secret='id=token,src=…')"), "{failure}");
}

#[tokio::test]
async fn secrets_reach_steps_but_not_the_image() {
    let context = Context::new(&[]);
    let dockerfile = format!(
        "FROM busybox\nRUN --mount=type=secret,id=token --mount=type=secret,id=token,env=TOKEN \
         : {} && cat /run/secrets/token && printf $TOKEN | wc -c\nRUN test ! -e /run/secrets/token\n",
        context.path().display()
    );
    let mut request = context.request(&dockerfile);
    request.secrets.insert("token".into(), b"s3cret\n".to_vec());
    let (built, told) = build_telling(&request).await;
    let _image = built.unwrap();
    assert_eq!(output(&told), ["s3cret", "6"]);
}
