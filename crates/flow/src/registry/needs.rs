//! What a registry takes for granted and its text cannot show: workflows, and variables of the environment.

use super::Registry;
use super::handler::{Does, Mode};
use super::webhook::Webhook;
use kernel::names::{HandlerName, WorkflowName};

impl Registry {
    /// Workflows that handlers start, with the first handler that names each, in the order of the file. Handlers that are not live
    /// start none.
    pub fn workflows(&self) -> Vec<(&WorkflowName, &HandlerName)> {
        let mut named: Vec<(&WorkflowName, &HandlerName)> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for route in self.routes.iter().filter(|route| route.handler.mode == Mode::Live) {
            if let Does::Workflow(workflow) = &route.handler.does
                && seen.insert(workflow)
            {
                named.push((workflow, &route.handler.name));
            }
        }
        named
    }

    /// What cannot work because variables of the environment are not set, each in a sentence.
    pub fn unset(&self, is_set: impl Fn(&str) -> bool) -> Vec<String> {
        let webhooks = self.webhooks().filter_map(|webhook| unset_of(webhook, &is_set));
        let forwards = self.routes.iter().filter(|route| route.handler.mode == Mode::Live).filter_map(|route| {
            let Does::Forward(forward) = &route.handler.does else { return None };
            let variables = forward.url.variables().chain(forward.headers.iter().flat_map(|(_, value)| value.variables()));
            let mut unset: Vec<&str> = variables.filter(|name| !is_set(name)).collect();
            unset.sort_unstable();
            unset.dedup();
            let name = &route.handler.name;
            (!unset.is_empty()).then(|| format!("handler `{name}` cannot forward: {} not set", variables_are(&unset)))
        });
        webhooks.chain(forwards).collect()
    }
}

fn unset_of(webhook: &Webhook, is_set: impl Fn(&str) -> bool) -> Option<String> {
    let unset: Vec<&str> = webhook.secrets.iter().map(|secret| &*secret.env).filter(|name| !is_set(name)).collect();
    match unset.len() {
        0 => None,
        all if all == webhook.secrets.len() => {
            Some(format!("webhook `{}` refuses every request: {} not set", webhook.name, variables_are(&unset)))
        }
        _ => Some(format!("webhook `{}` takes its other secrets only: {} not set", webhook.name, variables_are(&unset))),
    }
}

/// `A is`, `A and B are`.
fn variables_are(names: &[&str]) -> String {
    match names {
        [one] => format!("variable {one} is"),
        many => format!("variables {} are", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::tests::compiled;

    #[test]
    fn what_a_registry_needs_is_told_once_each() {
        let registry = compiled(
            "
handlers:
  a: {on: x, workflow: w}
  b: {on: x, workflow: w}
  c: {on: x, workflow: v}
  shadow: {on: x, workflow: u, mode: shadow}
  f: {on: x, forward: {url: 'https://${env:HOST}/${env:HOST}', headers: {authorization: 'Bearer ${env:TOKEN}'}}}
  off: {on: x, forward: 'https://${env:OTHER}', mode: off}
webhooks:
  hub: {provider: github, secret: '${env:HUB}'}
  two: {provider: github, secrets: ['${env:NEW}', '${env:OLD}']}
",
        );
        let workflows: Vec<String> =
            registry.workflows().iter().map(|(workflow, handler)| format!("{workflow} {handler}")).collect();
        assert_eq!(workflows, ["w a", "v c"]);
        assert_eq!(
            registry.unset(|name| name == "OLD"),
            [
                "webhook `hub` refuses every request: variable HUB is not set",
                "webhook `two` takes its other secrets only: variable NEW is not set",
                "handler `f` cannot forward: variables HOST, TOKEN are not set",
            ]
        );
        assert!(registry.unset(|_| true).is_empty());
    }
}
