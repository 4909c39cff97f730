//! Provides secrets for build steps. They never become part of the image.

use std::collections::BTreeMap;
use std::sync::Arc;

use bollard_buildkit_proto::moby::buildkit::secrets::v1::secrets_server::Secrets;
use bollard_buildkit_proto::moby::buildkit::secrets::v1::{GetSecretRequest, GetSecretResponse};
use tonic::{Request, Response, Status};

pub(super) struct SecretProvider {
    secrets: Arc<BTreeMap<String, Vec<u8>>>,
}

impl SecretProvider {
    pub(super) fn new(secrets: BTreeMap<String, Vec<u8>>) -> Self {
        Self { secrets: Arc::new(secrets) }
    }
}

#[tonic::async_trait]
impl Secrets for SecretProvider {
    async fn get_secret(
        &self,
        request: Request<GetSecretRequest>,
    ) -> Result<Response<GetSecretResponse>, Status> {
        let id = &request.get_ref().id;
        match self.secrets.get(id) {
            Some(data) => Ok(Response::new(GetSecretResponse { data: data.clone() })),
            // With this code, BuildKit continues without the secret unless it is required.
            None => Err(Status::not_found(format!("secret {id} not found"))),
        }
    }
}
