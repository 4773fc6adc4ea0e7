//! Workers inside the server. They lease, report and are told to stop as any other worker is; what they are given to do
//! is done here. Nothing is decided here, and nothing here knows how a task came to be.

mod client;
pub mod forward;
pub mod http;
pub mod inside;
pub mod process;
pub mod redis;
pub mod secrets;

pub use client::{
    Allowed, Answered, BadAllowed, Client, Cut, Found, Gate, Lookup, NoClient, NotAnswered, Refused, Sending, system,
};
