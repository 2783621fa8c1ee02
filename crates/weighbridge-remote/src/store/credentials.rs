//! What the environment says about a store, and what was found there: errors say it later.

use crate::store::address::Scheme;

/// Looks a variable of the environment up.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Variables that hold credentials, or say where they are. One of them is enough.
pub(crate) fn credential_variables(scheme: Scheme) -> &'static [&'static str] {
    match scheme {
        Scheme::S3 => &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_METADATA_ENDPOINT",
        ],
        Scheme::Gs => &[
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_BEARER_TOKEN",
        ],
        Scheme::Az => &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_TOKEN",
            "AZURE_CLIENT_SECRET",
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_USE_AZURE_CLI",
            "IDENTITY_ENDPOINT",
        ],
    }
}

/// Variables that belong to credentials, but are none by themselves.
pub(crate) fn other_variables(scheme: Scheme) -> &'static [&'static str] {
    match scheme {
        Scheme::S3 => &[
            "AWS_SESSION_TOKEN",
            "AWS_DEFAULT_REGION",
            "AWS_REGION",
            "AWS_ROLE_ARN",
            "AWS_ROLE_SESSION_NAME",
            "AWS_ENDPOINT_URL_STS",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
            "AWS_REQUEST_PAYER",
            "AWS_SERVER_SIDE_ENCRYPTION",
            "AWS_SSE_KMS_KEY_ID",
        ],
        Scheme::Gs => &[],
        Scheme::Az => &["AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_AUTHORITY_HOST"],
    }
}

/// How requests are signed.
pub(crate) struct Credentials {
    /// Nothing is configured: requests are not signed.
    pub(crate) is_anonymous: bool,
    /// Describes the credentials, for errors about access.
    pub(crate) tried: String,
}

/// What the environment has. Machines in a cloud could be asked for credentials too; but where
/// there is no such machine, that takes seconds, so it has to be configured.
pub(crate) fn find(scheme: Scheme, env: Lookup<'_>) -> Credentials {
    let variables = credential_variables(scheme);
    let set: Vec<&str> = variables.iter().copied().filter(|name| is_set(env, name)).collect();
    let switches = ["AWS_SKIP_SIGNATURE", "GOOGLE_SKIP_SIGNATURE", "AZURE_SKIP_SIGNATURE"];
    let of_scheme = switches[scheme as usize];
    let unsigned = |why: String| Credentials {
        is_anonymous: true,
        tried: format!("requests are not signed because {why}"),
    };
    let switch = env(of_scheme).unwrap_or_default().to_ascii_lowercase();
    if matches!(&*switch, "1" | "true" | "yes" | "on") {
        return unsigned(format!("{of_scheme} is set"));
    }
    let file = (scheme == Scheme::Gs).then(|| application_default(env)).flatten();
    let not_read = match scheme {
        Scheme::S3 => "; profiles in ~/.aws are not read",
        _ => "",
    };
    if set.is_empty() && file.is_none() {
        return unsigned(format!("none of {} is set{not_read}", variables.join(", ")));
    }
    let by = file.filter(|_| set.is_empty()).unwrap_or_else(|| set.join(" and "));
    Credentials { is_anonymous: false, tried: format!("requests are signed with {by}{not_read}") }
}

pub(crate) fn is_set(env: Lookup<'_>, name: &str) -> bool {
    env(name).is_some_and(|value| !value.is_empty())
}

/// The file that `gcloud auth application-default login` writes, if it is there.
fn application_default(env: Lookup<'_>) -> Option<String> {
    // The first is where Windows keeps such files.
    let folder = match env("APPDATA") {
        Some(folder) => std::path::PathBuf::from(folder),
        None => std::path::PathBuf::from(env("HOME")?).join(".config"),
    };
    let file = folder.join("gcloud/application_default_credentials.json");
    file.is_file().then(|| file.display().to_string())
}
