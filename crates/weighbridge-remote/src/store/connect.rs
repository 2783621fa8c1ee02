//! A connection to a store, as the environment and the settings want it.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use crate::{Error, Result};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::SpawnedReqwestConnector;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, Certificate, ClientOptions, RetryConfig};

use crate::runtime::runtime;
use crate::settings::Remote;
use crate::store::address::{Address, Scheme};
use crate::store::bucket::{Bucket, Connected};
use crate::store::credentials::{self, Credentials, Lookup, credential_variables, other_variables};

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Reading. A server that says nothing for as long as the settings allow has failed.
    Read,
    /// Writing. While a part is sent, the server has nothing to say, so it gets ten times as long.
    Write,
}

/// Connects to the store of an address, with what the environment says. Nothing is sent yet.
pub fn connect(address: &Address, settings: &Remote, purpose: Purpose) -> Result<Arc<Bucket>> {
    connect_with(address, settings, purpose, &|name| std::env::var(name).ok())
}

/// Connects with a given environment.
pub fn connect_with(
    address: &Address,
    settings: &Remote,
    purpose: Purpose,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<Bucket>> {
    let found = credentials::find(address.scheme, env);
    let certificates = settings.ca_file.as_deref().map_or(Ok(Vec::new()), certificates)?;
    let making = Making { address, settings, purpose, env, found: &found, certificates };
    let store = match address.scheme {
        Scheme::S3 => making.s3(),
        Scheme::Gs => making.gs(),
        Scheme::Az => making.az(),
    };
    let store = store.map_err(|error| error.in_file(FilePath::new(&address.to_string())))?;
    Ok(Arc::new(Bucket::new(store, address, found.tried, settings.clone())))
}

/// All that a connection is made from.
struct Making<'a> {
    address: &'a Address,
    settings: &'a Remote,
    purpose: Purpose,
    env: Lookup<'a>,
    found: &'a Credentials,
    certificates: Vec<Certificate>,
}

/// Where the environment may name a server.
fn endpoint_variables(scheme: Scheme) -> &'static [&'static str] {
    match scheme {
        Scheme::S3 => &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"],
        Scheme::Gs => &["GOOGLE_BASE_URL"],
        Scheme::Az => &["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"],
    }
}

const ACCOUNT: [&str; 2] = ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"];

/// A builder of `object_store` with what those of all kinds of stores take. They have these methods in
/// common, but no trait.
macro_rules! configured {
    ($of:expr, $builder:ty, |$to:ident, $at:ident| $with_endpoint:expr) => {{
        let endpoint = $of.endpoint()?;
        let mut builder = <$builder>::new();
        for (name, value) in $of.variables() {
            if let Ok(key) = name.parse() {
                builder = builder.with_config(key, value);
            }
        }
        builder = builder
            .with_skip_signature($of.found.is_anonymous)
            .with_client_options($of.options(endpoint.as_deref()))
            .with_retry($of.retry());
        if let Some($at) = endpoint {
            let $to = builder;
            builder = $with_endpoint;
        }
        builder
    }};
}

/// The store of a builder, which a child of this process can build again.
macro_rules! connected {
    ($of:expr, $builder:expr) => {{
        let (builder, tried) = ($builder, $of.found.tried.clone());
        Connected::new(move || {
            let built = builder.clone().with_http_connector(connector()?).build();
            Ok(Arc::new(built.map_err(|error| unusable(&error, &tried))?))
        })
    }};
}

impl Making<'_> {
    fn s3(&self) -> Result<Connected> {
        // Without a region it is us-east-1, which is what servers of others expect.
        let builder = configured!(self, AmazonS3Builder, |to, at| to.with_endpoint(at));
        connected!(self, builder.with_bucket_name(&self.address.bucket))
    }

    /// By the word of `object_store` only: nothing here is tested against a server.
    fn gs(&self) -> Result<Connected> {
        let builder = configured!(self, GoogleCloudStorageBuilder, |to, at| to.with_base_url(&at));
        connected!(self, builder.with_bucket_name(&self.address.bucket))
    }

    fn az(&self) -> Result<Connected> {
        let builder = configured!(self, MicrosoftAzureBuilder, |to, at| to.with_endpoint(at));
        let account = ACCOUNT.iter().find_map(|name| self.value(name)).ok_or_else(|| {
            Error::usage("the storage account is not set").hint("set AZURE_STORAGE_ACCOUNT_NAME")
        })?;
        connected!(self, builder.with_account(account).with_container_name(&self.address.bucket))
    }

    fn value(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }

    /// What is passed on: a list of our own, so that no variable can switch verification off.
    fn variables(&self) -> Vec<(String, String)> {
        let scheme = self.address.scheme;
        let names = credential_variables(scheme).iter().chain(other_variables(scheme));
        let passed = |name: &str| match name {
            "AZURE_STORAGE_KEY" => "azure_storage_account_key".to_owned(),
            _ => name.to_ascii_lowercase(),
        };
        names.filter_map(|name| Some((passed(name), self.value(name)?))).collect()
    }

    /// The server, if the environment names one.
    fn endpoint(&self) -> Result<Option<String>> {
        let names = endpoint_variables(self.address.scheme);
        let found = names.iter().find_map(|name| Some((*name, self.value(name)?)));
        let Some((name, endpoint)) = found else { return Ok(None) };
        let url = reqwest::Url::parse(&endpoint).map_err(|_| {
            Error::usage(format!("{name} is not a web address such as https://host"))
        })?;
        let encrypted = url.scheme() == "https";
        if !encrypted
            && (url.scheme() != "http" || !(self.settings.allow_http || is_loopback(&url)))
        {
            let host = url.host_str().unwrap_or_default();
            let why = format!("{name} names {host} without encryption (plain http)");
            return Err(Error::usage(why).hint("use an https address, or allow plain http"));
        }
        Ok(Some(endpoint))
    }

    fn options(&self, endpoint: Option<&str>) -> ClientOptions {
        let timeout = self.settings.timeout;
        let silence = match self.purpose {
            Purpose::Read => timeout,
            Purpose::Write => timeout.saturating_mul(10),
        };
        let options = ClientOptions::new()
            .with_connect_timeout(timeout)
            .with_timeout_disabled()
            .with_read_timeout(silence)
            .with_allow_http(endpoint.is_some_and(|endpoint| !endpoint.starts_with("https:")));
        self.certificates.iter().cloned().fold(options, ClientOptions::with_root_certificate)
    }

    fn retry(&self) -> RetryConfig {
        let longest = Duration::from_secs(15).min(self.settings.max_wait);
        RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(200).min(longest),
                max_backoff: longest,
                base: 2.0,
            },
            max_retries: usize::try_from(self.settings.retries).unwrap_or(usize::MAX),
            retry_timeout: self.settings.max_wait,
        }
    }
}

/// The store's own words name what is wrong with a variable; they do not quote secrets.
fn unusable(error: &object_store::Error, tried: &str) -> Error {
    let why = crate::store::fault::reason(error);
    Error::usage(format!("invalid object store configuration: {why}")).hint(tried)
}

/// The certificates of a file.
fn certificates(file: &FilePath) -> Result<Vec<Certificate>> {
    let pem = std::fs::read(file).map_err(|e| Error::io(e, "cannot read").in_file(file))?;
    let found = Certificate::from_pem_bundle(&pem).unwrap_or_default();
    if found.is_empty() {
        let error = Error::usage("no PEM certificates found").in_file(file);
        return Err(error.hint("a PEM file has lines with BEGIN CERTIFICATE"));
    }
    Ok(found)
}

fn connector() -> Result<SpawnedReqwestConnector> {
    // Whoever comes first; it is an error only if another part of the process was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = runtime().map_err(|e| Error::io(e, "cannot start threads for requests"))?;
    Ok(SpawnedReqwestConnector::new(runtime.handle().clone()))
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(address: &str, settings: &Remote, vars: &[(&str, &str)]) -> Result<Arc<Bucket>> {
        let env = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        connect_with(&Address::parse(address).unwrap(), settings, Purpose::Read, &env)
    }

    #[test]
    fn plain_http_is_for_this_machine_only() {
        let usual = Remote::default();
        for host in
            ["http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9", "https://minio.lan"]
        {
            attempt("s3://b/k", &usual, &[("AWS_ENDPOINT_URL", host)]).map(drop).unwrap();
        }
        let far = [("AWS_ENDPOINT_URL", "http://user:pw@minio.lan:9000")];
        let error = attempt("s3://b/k", &usual, &far).map(drop).unwrap_err();
        assert_eq!(
            error.to_string(),
            "s3://b/k: AWS_ENDPOINT_URL names minio.lan without encryption (plain http)"
        );
        // The environment cannot allow what the caller did not.
        let both = [far[0], ("AWS_ALLOW_HTTP", "true")];
        assert!(attempt("s3://b/k", &usual, &both).is_err());
        let allowed = Remote { allow_http: true, ..usual };
        attempt("s3://b/k", &allowed, &far).map(drop).unwrap();
    }

    #[test]
    fn accounts_and_credentials_are_found_in_the_environment() {
        let usual = Remote::default();
        let error = attempt("az://c/k", &usual, &[]).map(drop).unwrap_err();
        assert!(error.to_string().contains("storage account"), "{error}");
        for name in ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"] {
            attempt("az://c/k", &usual, &[(name, "me")]).map(drop).unwrap();
        }
        let half = [("AWS_ACCESS_KEY_ID", "id")];
        let error = attempt("s3://b/k", &usual, &half).map(drop).unwrap_err();
        assert!(error.to_string().to_lowercase().contains("secret"), "{error}");
        attempt("gs://b/k", &usual, &[]).map(drop).unwrap();
    }

    #[test]
    fn what_was_tried_is_said() {
        let tried = |scheme, vars: &[(&str, &str)]| {
            let env =
                |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
            let found = credentials::find(scheme, &env);
            (found.is_anonymous, found.tried)
        };
        let (anonymous, said) = tried(Scheme::S3, &[]);
        assert!(
            anonymous && said.contains("AWS_ACCESS_KEY_ID") && said.contains("~/.aws"),
            "{said}"
        );
        let (anonymous, said) =
            tried(Scheme::S3, &[("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "y")]);
        assert!(
            !anonymous && said.starts_with("requests are signed with AWS_ACCESS_KEY_ID"),
            "{said}"
        );
        assert!(
            tried(Scheme::Az, &[("AZURE_SKIP_SIGNATURE", "true"), ("AZURE_STORAGE_KEY", "y")]).0
        );
    }

    #[test]
    fn a_file_of_certificates_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let settings = Remote { ca_file: Some(file.clone()), ..Remote::default() };
        assert!(attempt("s3://b/k", &settings, &[]).is_err());
        std::fs::write(&file, "nothing").unwrap();
        let error = attempt("s3://b/k", &settings, &[]).map(drop).unwrap_err();
        assert!(error.to_string().contains("no PEM certificates"), "{error}");
    }
}
