//! The server measured by its own description: what is sent and what comes back must be what `/openapi.json` says.

#![allow(dead_code, reason = "each test file uses a part of this")]

use jsonschema::Validator;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

pub struct Described {
    pub document: Value,
    validators: RefCell<HashMap<String, Rc<Validator>>>,
}

/// One operation of the description.
pub struct Operation<'a> {
    pub method: &'a str,
    pub template: &'a str,
    pub says: &'a Value,
}

impl Described {
    pub fn new(document: Value) -> Described {
        Described { document, validators: RefCell::default() }
    }

    pub fn operations(&self) -> Vec<Operation<'_>> {
        let paths = self.document["paths"].as_object().expect("there are paths");
        let each = paths.iter().flat_map(|(template, item)| {
            let methods = item.as_object().expect("a path has methods");
            methods.iter().map(move |(method, says)| Operation { method, template, says })
        });
        each.collect()
    }

    /// The operation a request is of; a path written out wins over one with a hole.
    pub fn operation(&self, method: &str, path: &str) -> Option<Operation<'_>> {
        let path = path.split('?').next().unwrap_or_default();
        let fits = |template: &str| {
            let (ours, theirs) = (path.split('/'), template.split('/'));
            ours.clone().count() == theirs.clone().count() && ours.zip(theirs).all(|(a, b)| a == b || b.starts_with('{'))
        };
        let mut found: Vec<Operation<'_>> = self.operations();
        found.retain(|operation| operation.method.eq_ignore_ascii_case(method) && fits(operation.template));
        found.into_iter().min_by_key(|operation| operation.template.matches('{').count())
    }

    /// What `value` does not fulfil of `schema`; empty when it fits.
    pub fn faults(&self, schema: &Value, value: &Value) -> Vec<String> {
        let validator = self.validators.borrow().get(&schema.to_string()).cloned();
        let validator = validator.unwrap_or_else(|| {
            // References point into the document, so the schema is put where it is.
            let whole = json!({"allOf": [schema], "components": self.document["components"]});
            let options = jsonschema::draft202012::options().should_validate_formats(true);
            let built = Rc::new(options.build(&whole).unwrap_or_else(|error| panic!("{schema}: {error}")));
            self.validators.borrow_mut().insert(schema.to_string(), built.clone());
            built
        });
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }

    /// The schema of a request's body; `None` where it takes none.
    pub fn request_schema<'a>(&self, operation: &Operation<'a>) -> Option<&'a Value> {
        operation.says.pointer("/requestBody/content/application~1json/schema")
    }

    #[track_caller]
    pub fn check_request(&self, operation: &Operation<'_>, body: &Value) {
        // A text, or what somebody else sends, has no schema of ours, JSON though it may be.
        let free = ["text~1yaml", "application~1octet-stream"];
        if free.iter().any(|kind| operation.says.pointer(&format!("/requestBody/content/{kind}")).is_some()) {
            return;
        }
        let schema = self.request_schema(operation).unwrap_or_else(|| panic!("{} takes no body", operation.template));
        let faults = self.faults(schema, body);
        assert!(faults.is_empty(), "{} {} was sent {body}: {faults:?}", operation.method, operation.template);
    }

    /// The answer's status is described, and its body is as described.
    #[track_caller]
    pub fn check_answer(&self, operation: &Operation<'_>, status: u16, body: &Value) {
        let responses = &operation.says["responses"];
        let described = responses.get(status.to_string()).or_else(|| responses.get("default").filter(|_| status >= 400));
        let described =
            described.unwrap_or_else(|| panic!("{} {}: {status} is not described", operation.method, operation.template));
        let Some(schema) = described.pointer("/content/application~1json/schema") else { return };
        let faults = self.faults(schema, body);
        assert!(faults.is_empty(), "{} {} answered {status} {body}: {faults:?}", operation.method, operation.template);
    }
}
