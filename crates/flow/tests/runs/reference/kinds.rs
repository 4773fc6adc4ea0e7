//! What the node of each type comes to, once it is entered.

use super::*;
use crate::outcomes::Answer;

/// Which way it went and what it gave; `None`: it failed.
type Came = Result<Option<(Way, Seen)>, Vague>;

impl Reference<'_> {
    pub(super) fn kind(&mut self, id: &str, node: &Json, here: &Here<'_>) -> Came {
        let key = instance(&here.around.run, &here.around.path, id);
        self.causes.clear();
        let passed = || here.output.clone().expect("a node has something before it");
        match node["type"].as_str().expect("a type is a text") {
            "branch" if node.get("route").is_some() => self.route(node, here),
            "branch" => {
                for (at, rule) in node["rules"].as_array().expect("rules are a list").iter().enumerate() {
                    match self.truth(rule["when"].as_str().expect("`when` is a text"), here)? {
                        Ok(true) => return Ok(Some((Way::Rule(at), passed()))),
                        Ok(false) => {}
                        Err(_) => return Ok(None),
                    }
                }
                Ok(Some((Way::Default, passed())))
            }
            "join" => Ok(Some((Way::Done, passed()))),
            "transform" => Ok(self.either(&node["value"], here)?.ok().map(|value| (Way::Done, value))),
            "filter" => self.filter(node, here),
            "aggregate" => self.aggregate(node, here),
            "sleep" => self.sleep(node, here),
            "approval" => self.approval(node, &key, here),
            "loop" => self.turns(id, node, here),
            "each" => self.items(id, node, here),
            "workflow" => {
                let input = match node.get("with") {
                    Some(with) => self.template(with, here)?,
                    None => Ok(passed()),
                };
                let workflow = node["run"].as_str().expect("`run` is a text");
                let Ok(input) = input else { return Ok(None) };
                if !self.workflows.contains_key(workflow) {
                    return Ok(None);
                }
                match self.run(&called(&key, workflow), workflow, input)? {
                    End::Done(output) => Ok(Some((Way::Done, output))),
                    End::Failed(causes) => self.failed(causes),
                }
            }
            _ => self.work(node, &key, here),
        }
    }

    fn failed(&mut self, causes: BTreeSet<String>) -> Came {
        self.causes = causes;
        Ok(None)
    }

    fn work(&mut self, node: &Json, key: &str, here: &Here<'_>) -> Came {
        for (_, value) in node.get("key").and_then(Json::as_object).into_iter().flatten() {
            match self.template(value, here)? {
                Ok(Seen::Value(Json::String(text))) if !text.is_empty() => {}
                Ok(Seen::Value(Json::Number(_))) => {}
                Ok(Seen::Depends) => return Err(Vague(format!("the key {value}"))),
                _ => return Ok(None),
            }
        }
        let input = match node.get("with") {
            Some(with) => self.template(with, here)?.ok(),
            None => here.output.clone(),
        };
        self.inputs.insert(key.to_owned(), input.clone());
        if input.is_none() {
            return Ok(None);
        }
        // Without a policy of its own a node whose worker is lost is tried three times; one that fails is not.
        let policy = node.get("retry").map(|retry| retry["attempts"].as_u64().expect("attempts is a number"));
        let work = self.outcomes.work(key);
        let (lost, failing) = (u64::from(work.lost), u64::from(work.failing));
        if lost + failing >= policy.unwrap_or(3) || (policy.is_none() && failing > 0) {
            return self.failed([key.to_owned()].into());
        }
        Ok(Some((Way::Done, Seen::Value(work.output))))
    }

    fn route(&mut self, node: &Json, here: &Here<'_>) -> Came {
        let Some(Seen::Value(named)) = &here.output else { return Err(Vague("a route".into())) };
        let named = if let Json::Object(map) = named { map.get("next") } else { Some(named) };
        let to = ids(node["route"].get("to"));
        let way = named.and_then(Json::as_str).filter(|named| to.iter().any(|to| to == named));
        Ok(way.map(|way| (Way::Named(way.to_owned()), here.output.clone().expect("it was looked at"))))
    }

    fn list(&mut self, items: &Json, here: &Here<'_>) -> Result<Option<Vec<Json>>, Vague> {
        match self.either(items, here)? {
            Ok(Seen::Depends) => Err(Vague(items.to_string())),
            Ok(Seen::Value(Json::Array(list))) => Ok(Some(list)),
            _ => Ok(None),
        }
    }

    /// Each of the items under the name `item`.
    fn each_as_item(&self, list: &[Json], source: &str, here: &Here<'_>) -> Result<Option<Vec<Json>>, Vague> {
        let mut given = Vec::new();
        for item in list {
            let around = Around { item: Some((Seen::Value(item.clone()), 0)), ..here.around.clone() };
            let inner = Here { around: &around, output: here.output.clone(), ..*here };
            match self.eval(source, &inner)? {
                Ok(Seen::Value(value)) => given.push(value),
                Ok(Seen::Depends) => return Err(Vague(source.to_owned())),
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(given))
    }

    fn filter(&mut self, node: &Json, here: &Here<'_>) -> Came {
        let Some(list) = self.list(&node["items"], here)? else { return Ok(None) };
        let kept = self.each_as_item(&list, node["where"].as_str().expect("`where` is a text"), here)?;
        let Some(kept) = kept.filter(|kept| kept.iter().all(Json::is_boolean)) else { return Ok(None) };
        let left = list.into_iter().zip(kept).filter(|(_, kept)| *kept == json!(true)).map(|(item, _)| item);
        Ok(Some((Way::Done, Seen::Value(left.collect()))))
    }

    fn aggregate(&mut self, node: &Json, here: &Here<'_>) -> Came {
        let Some(mut list) = self.list(&node["items"], here)? else { return Ok(None) };
        if let Some(of) = node.get("of") {
            match self.each_as_item(&list, of.as_str().expect("`of` is a text"), here)? {
                Some(mapped) => list = mapped,
                None => return Ok(None),
            }
        }
        let numbers = || list.iter().map(|item| item.as_i64().expect("lists are of numbers"));
        let op = node["op"].as_str().expect("`op` is a text");
        let value = match op {
            "count" => json!(list.len()),
            "sum" => json!(numbers().sum::<i64>()),
            "min" => json!(numbers().min()),
            "max" => json!(numbers().max()),
            "collect" => json!(list),
            "first" => json!(list.first()),
            "last" => json!(list.last()),
            other => panic!("{other} is not generated"),
        };
        Ok(Some((Way::Done, Seen::Value(value))))
    }

    fn sleep(&mut self, node: &Json, here: &Here<'_>) -> Came {
        let is_plain = |text: &Json| text.as_str().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()));
        let written = node.get("for").or(node.get("until")).expect("a sleep has one of them");
        let given = if is_plain(written) { Ok(Seen::Value(written.clone())) } else { self.either(written, here)? };
        let slept = match (node.get("for"), given) {
            (_, Ok(Seen::Depends)) => return Err(Vague(written.to_string())),
            (_, Err(_)) => false,
            (Some(_), Ok(Seen::Value(value))) => is_plain(written) || value.as_i64().is_some_and(|ms| ms >= 0),
            // The instants that are generated are instants.
            (None, Ok(Seen::Value(value))) => value.is_string(),
        };
        Ok(slept.then(|| (Way::Done, here.output.clone().expect("a node has something before it"))))
    }

    fn approval(&mut self, node: &Json, key: &str, here: &Here<'_>) -> Came {
        if let Some(message) = node.get("message")
            && self.template(message, here)?.is_err()
        {
            return Ok(None);
        }
        let said = |approved: bool| Seen::Value(json!({"approved": approved, "by": "ann", "comment": ""}));
        let answer = self.outcomes.answer(key);
        Ok(match answer {
            Answer::No if node.get("on_reject").is_some() => Some((Way::Reject, said(false))),
            Answer::No => return self.failed([key.to_owned()].into()),
            Answer::Never if node.get("timeout").is_none() => Some((Way::Done, said(true))),
            Answer::Never if node.get("on_timeout").is_some() => Some((Way::Timeout, here.output.clone().expect("see above"))),
            Answer::Never => return self.failed([key.to_owned()].into()),
            Answer::Yes => Some((Way::Done, said(true))),
        })
    }

    fn below(&self, id: &str, index: usize, here: &Here<'_>) -> Around {
        let around = here.around;
        let dot = if around.path.is_empty() { "" } else { "." };
        let settled = here.settled.expect("a node is being entered");
        let mut outer = around.outer.clone();
        outer.extend(here.nodes.iter().filter(|(id, _)| settled.contains(*id)).map(|(id, node)| (id.clone(), node.clone())));
        Around { path: format!("{}{dot}{id}[{index}]", around.path), outer, ..around.clone() }
    }

    fn turns(&mut self, id: &str, node: &Json, here: &Here<'_>) -> Came {
        let mut last = match node.get("init") {
            None => Seen::Value(Json::Null),
            Some(init) => match self.either(init, here)? {
                Ok(init) => init,
                Err(_) => return Ok(None),
            },
        };
        let most = node["max_iterations"].as_u64().expect("max_iterations is a number") as usize;
        for turn in 0..most {
            let below = self.below(id, turn, here);
            let around = Around { entry: last.clone(), last: Some((turn, last)), ..below };
            let body = self.body(id, node, &around);
            let output = match self.frame(&body, &around)? {
                End::Done(output) => output,
                End::Failed(causes) => return self.failed(causes),
            };
            let nodes = std::mem::take(&mut self.ended);
            self.causes.clear();
            let after = Here { around: &around, output: Some(output.clone()), nodes: &nodes, settled: None };
            match self.truth(node["until"].as_str().expect("`until` is a text"), &after)? {
                Ok(true) => return Ok(Some((Way::Done, output))),
                Ok(false) => last = output,
                Err(_) => return Ok(None),
            }
        }
        Ok(node.get("on_max").map(|_| (Way::Max, last)))
    }

    fn items(&mut self, id: &str, node: &Json, here: &Here<'_>) -> Came {
        let Some(list) = self.list(&node["items"], here)? else { return Ok(None) };
        let first = self.nodes.len();
        let (mut outputs, mut failed, mut causes) = (Vec::new(), 0, BTreeSet::new());
        for (index, item) in list.into_iter().enumerate() {
            let item = Seen::Value(item);
            let around = Around { entry: item.clone(), item: Some((item, index)), ..self.below(id, index, here) };
            let body = self.body(id, node, &around);
            match self.frame(&body, &around)? {
                End::Done(output) => outputs.push(output),
                End::Failed(by) => {
                    failed += 1;
                    causes.extend(by);
                    outputs.push(Seen::Value(Json::Null));
                }
            }
        }
        let tolerated =
            node.get("on_failure").and_then(|then| then.get("tolerate")).map_or(0, |most| most.as_u64().expect("a number"));
        if failed > tolerated {
            if node.get("on_failure").is_none_or(|then| then != "wait_all") {
                self.broken_off(first);
            }
            return self.failed(causes);
        }
        let known = |output| if let Seen::Value(value) = output { Some(value) } else { None };
        let outputs: Option<Vec<Json>> = outputs.into_iter().map(known).collect();
        Ok(Some((Way::Done, outputs.map_or(Seen::Depends, |list| Seen::Value(Json::Array(list))))))
    }
}
