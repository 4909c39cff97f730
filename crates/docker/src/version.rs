//! Negotiates the API version and detects the engine's builder.

use http::{HeaderMap, Method};
use lilt_model::Failure;

use crate::address::Address;
use crate::transport::{self, Payload};

/// The oldest supported API: Docker 20.10.
const OLDEST: ApiVersion = ApiVersion(1, 41);
/// The newest API that this crate was written for; newer engines support it.
const NEWEST: ApiVersion = ApiVersion(1, 54);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ApiVersion(pub(crate) u32, pub(crate) u32);

#[derive(Debug)]
pub(crate) struct Ping {
    pub(crate) version: ApiVersion,
    pub(crate) buildkit: bool,
}

/// Returns the version in `DOCKER_API_VERSION`.
pub(crate) fn configured_version(
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<ApiVersion>, Failure> {
    let Some(text) = environment("DOCKER_API_VERSION").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    match ApiVersion::parse(text.trim_start_matches('v')) {
        Some(version) => Ok(Some(version)),
        None => Err(Failure::environment(format!("DOCKER_API_VERSION={text} is no version of Docker's API"))
            .hint("it looks like 1.41; unset it, and the newest that both sides speak is used")),
    }
}

/// Requests version and builder of an engine.
pub(crate) async fn ping_engine(address: &Address, fixed: Option<ApiVersion>) -> Result<Ping, Failure> {
    let response =
        transport::send(address, Method::GET, "/_ping", HeaderMap::new(), Payload::empty()).await?;
    let header = |name: &str| response.headers.get(name).and_then(|value| value.to_str().ok());
    let Some(offered) = header("Api-Version").and_then(ApiVersion::parse) else {
        return Err(Failure::environment(format!("what listens at {address} is not a Docker engine"))
            .hint("check DOCKER_HOST and `docker context show`"));
    };
    let buildkit = header("Builder-Version") == Some("2");
    if let Some(version) = fixed {
        return Ok(Ping { version, buildkit });
    }
    if offered < OLDEST {
        return Err(Failure::environment(format!(
            "the Docker engine at {address} is too old: it speaks API {}.{}, at least {}.{} is needed",
            offered.0, offered.1, OLDEST.0, OLDEST.1
        ))
        .hint("update Docker to 20.10 or later"));
    }
    Ok(Ping { version: offered.min(NEWEST), buildkit })
}

impl ApiVersion {
    fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        Some(Self(major.parse().ok()?, minor.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_are_ordered_as_numbers() {
        assert!(ApiVersion::parse("1.9") < ApiVersion::parse("1.41"));
        assert_eq!(ApiVersion::parse("nonsense"), None);
    }
}
