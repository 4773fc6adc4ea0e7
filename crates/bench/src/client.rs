//! A client that costs as little as it can: it shares the machine with the server it measures. One connection, one write
//! a request, and answers whose length is told, which ours always is.

use serde::{Serialize, de::DeserializeOwned};
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::TcpStream;

pub struct Client {
    address: String,
    /// Gone after an error; the next request connects again.
    wire: RefCell<Option<Wire>>,
}

struct Wire {
    stream: TcpStream,
    out: Vec<u8>,
    /// What came in, the rest of it unused.
    buffer: Vec<u8>,
}

struct Response {
    ok: bool,
    body: std::ops::Range<usize>,
}

const ROOM: usize = 64 * 1_024;

impl Client {
    pub fn new(url: &str) -> Client {
        Client { address: url.trim_start_matches("http://").trim_end_matches('/').to_owned(), wire: RefCell::new(None) }
    }

    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, String> {
        self.ask("POST", path, &serde_json::to_vec(body).map_err(|error| error.to_string())?)
    }

    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, String> {
        self.ask("GET", path, &[])
    }

    fn ask<T: DeserializeOwned>(&self, verb: &str, path: &str, body: &[u8]) -> Result<T, String> {
        let mut place = self.wire.borrow_mut();
        let mut wire = match place.take() {
            Some(wire) => wire,
            None => Wire::connect(&self.address).map_err(|error| format!("{}: {error}", self.address))?,
        };
        let response = wire.exchange(&self.address, verb, path, body).map_err(|error| format!("{path}: {error}"))?;
        let text = &wire.buffer[response.body];
        let answer = if response.ok {
            serde_json::from_slice(text).map_err(|error| format!("{path}: {error}"))
        } else {
            Err(format!("{path}: {}", String::from_utf8_lossy(text)))
        };
        *place = Some(wire);
        answer
    }
}

impl Wire {
    fn connect(address: &str) -> io::Result<Wire> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Wire { stream, out: Vec::new(), buffer: vec![0; ROOM] })
    }

    fn exchange(&mut self, host: &str, verb: &str, path: &str, body: &[u8]) -> io::Result<Response> {
        self.out.clear();
        let length = body.len();
        write!(
            self.out,
            "{verb} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        )?;
        self.out.extend_from_slice(body);
        self.stream.write_all(&self.out)?;
        let (mut filled, mut response) = (0, None);
        loop {
            if response.is_none() {
                response = head(&self.buffer[..filled])?;
            }
            match &response {
                Some(Response { body, .. }) if filled >= body.end => break,
                Some(Response { body, .. }) if self.buffer.len() < body.end => self.buffer.resize(body.end, 0),
                None if filled == self.buffer.len() => return Err(io::Error::other("the answer's head has no end")),
                _ => {}
            }
            match self.stream.read(&mut self.buffer[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        response.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// What the head says, once all of it is there.
fn head(bytes: &[u8]) -> io::Result<Option<Response>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let strange = || io::Error::other("the answer is no HTTP with a length");
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| strange())?;
    let (status, fields) = text.split_once("\r\n").ok_or_else(strange)?;
    let length =
        fields.lines().filter_map(|field| field.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.and_then(|(_, value)| value.trim().parse().ok()).ok_or_else(strange)?;
    Ok(Some(Response { ok: status.starts_with("HTTP/1.1 2"), body: end + 4..end + 4 + length }))
}
