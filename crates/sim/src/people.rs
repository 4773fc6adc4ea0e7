//! People and workers: what they send, and what becomes of the answers on their way back.

use crate::client::{self, Client};
use crate::mail::Sender;
use crate::worker::House;
use crate::world::World;
use engine::{Answer, Request, Ticket};

/// Steps between two crowds.
const CROWD_EVERY: usize = 25;

impl World {
    pub(crate) fn ask(&mut self) {
        if !self.unsure.is_empty() && self.chance.permille(300) {
            let at = self.chance.below(self.unsure.len());
            let again = self.unsure.swap_remove(at);
            self.fault("request_resent");
            self.mail.send(Sender::Client { again: Some(again.clone()) }, Request::Command(again));
            return;
        }
        let requests = self.client().requests();
        self.send(requests);
    }

    /// In a big world a crowd comes now and then, each of another kind than the last.
    pub(crate) fn crowd(&mut self) {
        if self.temper.big && self.step % CROWD_EVERY == 7 && self.model.live() < self.temper.live_max {
            let kind = self.step / CROWD_EVERY;
            let requests = self.client().crowd(kind);
            self.send(requests);
        }
    }

    pub(crate) fn client(&mut self) -> Client<'_> {
        Client {
            chance: &mut self.chance,
            temper: &self.temper,
            model: &self.model,
            tasks: &self.tasks,
            bulks: &self.bulks,
            runs: &self.runs,
            events: &self.happened,
            now: self.now,
            inputs: &mut self.inputs,
        }
    }

    pub(crate) fn send(&mut self, requests: Vec<Request>) {
        for request in requests {
            self.mail.send(Sender::Client { again: client::again(&request) }, request);
        }
    }

    /// What a worker has told is put away at the door, which keeps its leases alive meanwhile, whatever becomes of the worker.
    fn beat(&mut self, at: usize) {
        let mut leases = self.workers[at].leases();
        if leases.is_empty() || self.temper.beats == 0 || !self.chance.permille(self.temper.beats) {
            return;
        }
        leases.retain(|_| self.chance.permille(700));
        if leases.is_empty() {
            return;
        }
        self.fault("beaten_for");
        self.mail.send(Sender::Door, Request::Beat { leases });
    }

    pub(crate) fn work(&mut self, at: usize) {
        self.beat(at);
        let faults = self.temper.faults.clone();
        let worker = &mut self.workers[at];
        if let Some(until) = worker.away_until {
            if self.now < until {
                return;
            }
            worker.away_until = None;
        }
        if self.chance.permille(faults.worker_crash) {
            let until = self.now.plus_ms(self.chance.between(0, 40_000));
            let poll = worker.poll;
            worker.crash(&mut self.chance, &self.temper, until);
            self.fault("worker_crashed");
            return self.hang_up(poll);
        }
        if self.chance.permille(faults.worker_odd / 8) {
            worker.away_until = Some(self.now.plus_ms(self.chance.between(0, 60_000)));
            return self.fault("worker_silent");
        }
        match worker.poll {
            Some(poll) if self.chance.permille(faults.poll_gone) => {
                worker.poll = None;
                self.hang_up(Some(poll));
            }
            // It mostly waits; sometimes it comes again although its earlier poll is not answered.
            Some(_) if !self.chance.permille(30) => {}
            _ if self.chance.permille(400) => {
                let work = worker.work(&mut self.chance, &self.temper, &mut self.coverage, self.now);
                let request = Request::Work(work);
                let ticket = self.mail.send(Sender::Worker(at), request.clone());
                self.workers[at].poll = Some(ticket);
                self.hold_at_the_door(ticket, &request);
            }
            _ => {}
        }
    }

    /// The connection of a poll breaks; the door may notice.
    pub(crate) fn hang_up(&mut self, poll: Option<Ticket>) {
        let Some(poll) = poll else { return };
        if self.mail.waiting.remove(&poll).is_some() && self.chance.permille(700) {
            self.fault("poll_gone");
            self.mail.send(Sender::Door, Request::Gone { poll });
        }
    }

    pub(crate) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        let Some(sender) = self.mail.waiting.remove(&ticket) else { return self.undelivered(&answer) };
        self.tell(|| format!("{} hears {answer:?}", ticket.0));
        let faults = self.temper.faults.clone();
        if self.chance.permille(faults.answer_lost) {
            self.fault("answer_lost");
            return self.unheard(sender);
        }
        let twice = self.chance.permille(faults.answer_doubled);
        if twice {
            self.fault("answer_doubled");
        }
        match (sender, &answer) {
            (Sender::Worker(at), Answer::Worked(worked)) => {
                let worker = &mut self.workers[at];
                if !worked.deliveries.is_empty() && self.chance.permille(faults.undelivered) {
                    worker.poll = None;
                    return self.undelivered(&answer);
                }
                if worker.poll == Some(ticket) {
                    worker.poll = None;
                }
                let times = if worker.away_until.is_some() { 0 } else { 1 + usize::from(twice) };
                for _ in 0..times {
                    let house = House { temper: &self.temper, blobs: &self.blobs, unfit: &self.unfit };
                    worker.hear(worked, &mut self.chance, &house, &mut self.coverage, self.now);
                }
            }
            (sender, Answer::UnknownOutcome | Answer::Stopping) => self.unheard(sender),
            (Sender::Launcher { grant }, answer) => self.launched(grant, answer),
            _ => {}
        }
    }

    /// Nobody is there to take the grants: the door says so.
    fn undelivered(&mut self, answer: &Answer) {
        let Answer::Worked(worked) = answer else { return };
        if !worked.deliveries.is_empty() && self.chance.permille(800) {
            let grants = worked.deliveries.iter().map(|delivery| (delivery.grant.task, delivery.grant.fence)).collect();
            self.fault("undelivered");
            self.mail.send(Sender::Door, Request::Undelivered { grants });
        }
    }

    /// Its answer never came.
    pub(crate) fn unheard(&mut self, sender: Sender) {
        match sender {
            Sender::Client { again: Some(again) } => self.unsure.push(again),
            Sender::Worker(at) => self.workers[at].poll = None,
            Sender::Launcher { grant } => self.unlaunched(grant.is_none()),
            _ => {}
        }
    }
}
