//! Decides whether the cluster runs images of the local engine without a push. As in Tilt: by the cluster's product, its
//! container runtime and the engine's address.

use lilt_model::cluster::{ClusterInfo, Product, Runtime};

/// Whether cluster and engine share images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    Yes,
    No,
    /// It seems to be intended, but is not the case. Contains the reason.
    Mismatch(&'static str),
}

/// Decides by the address of the engine, such as `unix:///var/run/docker.sock`.
pub(super) fn sharing(info: &ClusterInfo, engine: &str) -> Sharing {
    let by_docker = info.runtime == Runtime::Docker;
    let when = |shared: bool| if shared { Sharing::Yes } else { Sharing::No };
    match info.product {
        // Its containerd runs images of its engine, too.
        Product::DockerDesktop => when(is_usual(engine)),
        Product::RancherDesktop => when(by_docker && is_usual(engine)),
        Product::Colima if by_docker => colima(&info.context, engine),
        Product::Orbstack if by_docker => match engine.ends_with("/.orbstack/run/docker.sock") {
            true => Sharing::Yes,
            false => Sharing::Mismatch(
                "connected to Kubernetes running on Orbstack, but building on a non-Orbstack Docker socket",
            ),
        },
        _ => Sharing::No,
    }
}

/// Returns whether this is an address of an engine that belongs to a desktop application.
fn is_usual(engine: &str) -> bool {
    const PLACES: [&str; 5] = [
        "unix:///var/run/docker.sock",
        "tcp://localhost:2375",
        "tcp://localhost:2376",
        "tcp://127.0.0.1:2375",
        "tcp://127.0.0.1:2376",
    ];
    const ENDINGS: [&str; 3] =
        ["/.docker/desktop/docker.sock", "/.docker/run/docker.sock", "/.rd/docker.sock"];
    let in_home = engine.starts_with("unix://") && ENDINGS.iter().any(|ending| engine.ends_with(ending));
    PLACES.contains(&engine) || in_home
}

/// Compares profiles: each is a virtual machine with its own context and socket.
fn colima(context: &str, engine: &str) -> Sharing {
    let Some(socket) = colima_profile(engine) else {
        return Sharing::Mismatch(
            "connected to Kubernetes running on Colima, but building on a non-Colima Docker socket",
        );
    };
    let cluster = if context == "colima" { "default" } else { context.trim_start_matches("colima-") };
    match socket == cluster {
        true => Sharing::Yes,
        false => Sharing::Mismatch(
            "connected to Kubernetes on one Colima profile, but building on the Docker socket of another",
        ),
    }
}

/// Extracts the profile from `~/.colima/docker.sock`, `~/.colima-test/docker.sock` (before 0.4),
/// `~/.colima/test/docker.sock` or `~/.config/colima/test/docker.sock`.
fn colima_profile(engine: &str) -> Option<&str> {
    let parts = engine.rsplit_once("/.colima").or_else(|| engine.rsplit_once("/.config/colima"));
    let (_, rest) = parts?;
    if let Some(rest) = rest.strip_prefix('-') {
        return rest.split('/').next();
    }
    match rest.split('/').collect::<Vec<_>>().as_slice() {
        [_, profile, _, ..] => Some(profile),
        _ => Some("default"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(product: Product, runtime: Runtime, context: &str, engine: &str) -> Sharing {
        let info = ClusterInfo { product, runtime, context: context.to_owned(), ..ClusterInfo::default() };
        sharing(&info, engine)
    }

    #[test]
    fn docker_desktop_shares_an_engine_at_its_default_addresses() {
        let desktop =
            |engine: &str| decide(Product::DockerDesktop, Runtime::Containerd, "docker-desktop", engine);
        assert_eq!(desktop("unix:///var/run/docker.sock"), Sharing::Yes);
        assert_eq!(desktop("unix:///home/me/.docker/desktop/docker.sock"), Sharing::Yes);
        assert_eq!(desktop("unix:///Users/me/.docker/run/docker.sock"), Sharing::Yes);
        assert_eq!(desktop("tcp://localhost:2375"), Sharing::Yes);
        assert_eq!(desktop("tcp://builder:2375"), Sharing::No);
        assert_eq!(desktop("unix:///run/other.sock"), Sharing::No);
    }

    #[test]
    fn other_products_share_images_only_with_docker_as_runtime() {
        let usual = "unix:///var/run/docker.sock";
        let rancher = |runtime| decide(Product::RancherDesktop, runtime, "rancher-desktop", usual);
        assert_eq!(rancher(Runtime::Docker), Sharing::Yes);
        assert_eq!(rancher(Runtime::Containerd), Sharing::No);
        assert_eq!(rancher(Runtime::Unknown), Sharing::No);
        let orbstack = |engine| decide(Product::Orbstack, Runtime::Docker, "orbstack", engine);
        assert_eq!(orbstack("unix:///Users/me/.orbstack/run/docker.sock"), Sharing::Yes);
        assert!(matches!(orbstack(usual), Sharing::Mismatch(_)));
        assert_eq!(decide(Product::Kind, Runtime::Containerd, "kind-x", usual), Sharing::No);
        assert_eq!(decide(Product::Unknown, Runtime::Docker, "prod", usual), Sharing::No);
    }

    #[test]
    fn colima_shares_images_within_one_profile() {
        let colima = |context: &str, engine: &str| decide(Product::Colima, Runtime::Docker, context, engine);
        for (context, engine) in [
            ("colima", "unix:///Users/me/.colima/docker.sock"),
            ("colima", "unix:///Users/me/.colima/default/docker.sock"),
            ("colima-test", "unix:///Users/me/.colima-test/docker.sock"),
            ("colima-test", "unix:///Users/me/.colima/test/docker.sock"),
            ("colima", "unix:///home/me/.config/colima/default/docker.sock"),
            ("colima-test", "unix:///home/me/.config/colima/test/docker.sock"),
        ] {
            assert_eq!(colima(context, engine), Sharing::Yes, "{context} {engine}");
        }
        for (context, engine) in [
            ("colima-test", "unix:///Users/me/.colima/docker.sock"),
            ("colima", "unix:///Users/me/.colima/test/docker.sock"),
            ("colima", "unix:///var/run/docker.sock"),
        ] {
            assert!(matches!(colima(context, engine), Sharing::Mismatch(_)), "{context} {engine}");
        }
        let containerd =
            decide(Product::Colima, Runtime::Containerd, "colima", "unix:///var/run/docker.sock");
        assert_eq!(containerd, Sharing::No);
    }
}
