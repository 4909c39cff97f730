//! Provides registry credentials for the engine while it pulls base images.

use bollard_buildkit_proto::moby::filesync::v1::auth_server::Auth;
use bollard_buildkit_proto::moby::filesync::v1::{
    CredentialsRequest, CredentialsResponse, FetchTokenRequest, FetchTokenResponse, GetTokenAuthorityRequest,
    GetTokenAuthorityResponse, VerifyTokenAuthorityRequest, VerifyTokenAuthorityResponse,
};
use tonic::{Request, Response, Status};

use crate::credentials::Credentials;

pub(super) struct CredentialProvider {
    credentials: Credentials,
}

impl CredentialProvider {
    pub(super) fn new(credentials: Credentials) -> Self {
        Self { credentials }
    }
}

#[tonic::async_trait]
impl Auth for CredentialProvider {
    async fn credentials(
        &self,
        request: Request<CredentialsRequest>,
    ) -> Result<Response<CredentialsResponse>, Status> {
        let answer = match self.credentials.login(&request.get_ref().host).await {
            None => CredentialsResponse::default(),
            // BuildKit treats a secret without a user name as an identity token.
            Some(login) if !login.identity_token.is_empty() => {
                CredentialsResponse { username: String::new(), secret: login.identity_token }
            }
            Some(login) => CredentialsResponse { username: login.username, secret: login.password },
        };
        Ok(Response::new(answer))
    }

    // Fetching registry tokens here would keep passwords from a remote BuildKit. Without it, BuildKit requests the
    // credentials above, as engines have done for years.

    async fn fetch_token(
        &self,
        _: Request<FetchTokenRequest>,
    ) -> Result<Response<FetchTokenResponse>, Status> {
        Err(Status::unimplemented("tokens are fetched by the engine"))
    }

    async fn get_token_authority(
        &self,
        _: Request<GetTokenAuthorityRequest>,
    ) -> Result<Response<GetTokenAuthorityResponse>, Status> {
        Err(Status::unimplemented("tokens are fetched by the engine"))
    }

    async fn verify_token_authority(
        &self,
        _: Request<VerifyTokenAuthorityRequest>,
    ) -> Result<Response<VerifyTokenAuthorityResponse>, Status> {
        Err(Status::unimplemented("tokens are fetched by the engine"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the test writes the file that is read")]
    async fn known_registries_get_credentials_and_others_none() {
        let directory = tempfile::tempdir().unwrap();
        let config = r#"{"auths": {"https://index.docker.io/v1/": {"username": "me", "password": "secret"},
            "token.example.com": {"identitytoken": "abc"}}}"#;
        std::fs::write(directory.path().join("config.json"), config).unwrap();
        let logins = CredentialProvider::new(Credentials::in_directory(Some(directory.path())));
        for (host, username, secret) in [
            ("registry-1.docker.io", "me", "secret"),
            ("token.example.com", "", "abc"),
            ("other.example.com", "", ""),
        ] {
            let answer =
                logins.credentials(Request::new(CredentialsRequest { host: host.to_owned() })).await.unwrap();
            let answer = answer.into_inner();
            assert_eq!((answer.username.as_str(), answer.secret.as_str()), (username, secret), "{host}");
        }
    }
}
