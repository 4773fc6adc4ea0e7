//! Requests on their way in, and who waits for which answer.

use engine::{Request, Ticket};
use kernel::command::{Command, Grant};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub enum Sender {
    /// A client; what it will send again when it hears nothing.
    Client {
        again: Option<Command>,
    },
    Worker(usize),
    /// Who hands tasks over to runs: asks for some, or for a run for this one.
    Launcher {
        grant: Option<Box<Grant>>,
    },
    /// A door that tells and does not listen.
    Door,
}

#[derive(Default)]
pub struct Mail {
    tickets: u64,
    pub inbox: Vec<(Ticket, Request)>,
    pub waiting: BTreeMap<Ticket, Sender>,
}

impl Mail {
    pub fn send(&mut self, sender: Sender, request: Request) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.waiting.insert(ticket, sender);
        self.inbox.push((ticket, request));
        ticket
    }

    /// The engine is gone, and with it every connection.
    pub fn cut(&mut self) -> Vec<Sender> {
        self.inbox.clear();
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}
