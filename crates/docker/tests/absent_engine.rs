//! A missing engine, and servers that are none. Runs without the test bed.

use lilt_docker::Engine;
use lilt_model::Class;

fn engine_at(host: &str) -> Engine {
    let host = host.to_owned();
    Engine::connect(&move |name| (name == "DOCKER_HOST").then(|| host.clone()), None)
        .expect("the address is one")
}

#[tokio::test]
async fn missing_socket_fails() {
    let directory = tempfile::tempdir().unwrap();
    let host = format!("unix://{}", directory.path().join("docker.sock").display());
    let failure = engine_at(&host).info().await.unwrap_err();
    assert_eq!(failure.class(), Class::Environment);
    assert!(
        failure.message.starts_with(&format!("cannot connect to the Docker engine at {host}: no such file")),
        "{failure}"
    );
    assert!(failure.hint.unwrap().contains("start Docker"));
}

#[tokio::test]
async fn socket_without_listener_fails() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("docker.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let failure = engine_at(&format!("unix://{}", path.display())).image_exists("x").await.unwrap_err();
    assert!(failure.message.contains("refused"), "{failure}");
}

#[tokio::test]
async fn server_that_is_no_engine_fails() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("tcp://{}", listener.local_addr().unwrap());
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut request).await.unwrap();
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK";
        tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.unwrap();
    };
    let engine = engine_at(&host);
    let (answer, ()) = tokio::join!(engine.info(), server);
    assert_eq!(answer.unwrap_err().message, format!("what listens at {host} is not a Docker engine"));
}
