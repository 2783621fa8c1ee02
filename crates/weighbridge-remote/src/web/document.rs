//! A document that is fetched whole.

use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};

use crate::web::client::{Ask, Auth, Client};
use crate::web::fault::Fault;
use crate::web::retry::Tries;

/// Where a document is, and how large it may be.
pub(crate) struct Document<'a> {
    pub(crate) url: &'a Url,
    pub(crate) auth: Option<&'a Auth>,
    pub(crate) trusted: &'a Url,
    pub(crate) most: usize,
}

impl Document<'_> {
    /// Its headers and its bytes. What a refusal means is for the caller to say.
    pub(crate) async fn fetch(
        &self,
        client: &Client,
        refusal: impl Fn(StatusCode, &HeaderMap) -> Fault,
    ) -> Result<(HeaderMap, Vec<u8>), Fault> {
        let mut tries = Tries::new(client.settings());
        loop {
            match self.try_fetch(client, &refusal).await {
                Ok(found) => return Ok(found),
                Err(fault) => tries.pause(fault).await?,
            }
        }
    }

    async fn try_fetch(
        &self,
        client: &Client,
        refusal: &impl Fn(StatusCode, &HeaderMap) -> Fault,
    ) -> Result<(HeaderMap, Vec<u8>), Fault> {
        let ask = Ask {
            url: self.url,
            range: None,
            tag: None,
            auth: self.auth,
            trusted: Some(self.trusted),
        };
        let mut answer = client.send(&ask).await?;
        let status = answer.response.status();
        if status != StatusCode::OK {
            return Err(refusal(status, answer.response.headers()));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.response.chunk().await? {
            if bytes.len() + chunk.len() > self.most {
                let message = format!("the server's answer has more than {} bytes", self.most);
                return Err(Fault::unsupported(message));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok((answer.response.headers().clone(), bytes))
    }
}
