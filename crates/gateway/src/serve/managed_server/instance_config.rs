//! How the dedicated instances of a server are configured.

use std::sync::Arc;

use weaver_drivers::mcp::UpstreamConfig;

use super::ManagedServerContext;
use crate::config;
use crate::serve::instance_id::InstanceId;
use crate::serve::instance_key::InstanceKey;
use crate::serve::server_events::InstanceRef;
use crate::serve::upstream_config::{InstanceOwner, upstream_config_for};

/// Makes the configuration of a dedicated instance.
pub(super) type ConfigureInstance =
    Box<dyn Fn(&InstanceKey, InstanceId) -> UpstreamConfig + Send + Sync>;

/// Makes the configurations of dedicated instances: with the folder of their clients, and their
/// login.
pub(super) fn dedicated_config_factory(
    config: &config::UpstreamSettings,
    shared: &ManagedServerContext<'_>,
) -> ConfigureInstance {
    let (config, gateway_config) = (config.clone(), Arc::clone(shared.gateway_config));
    let (launcher, redactor) = (shared.launcher.clone(), shared.redactor.clone());
    let (events, clients) = (shared.events.clone(), shared.connected_clients.run_clients.clone());
    Box::new(move |key, id| {
        let gateway = InstanceOwner::gateway(&gateway_config);
        let (folder, principal) = match key {
            InstanceKey::Run(run) => (gateway.folder, clients.principal_of(run)),
            InstanceKey::Folder(folder) => (folder.as_path(), gateway.principal.cloned()),
        };
        let owner = InstanceOwner { folder, principal: principal.as_ref() };
        let connection = upstream_config_for(owner, &config, &gateway_config, &launcher);
        let connection = UpstreamConfig { redactor: Some(redactor.clone()), ..connection };
        events.attach(InstanceRef { server: config.name.clone(), id }, None, connection)
    })
}
