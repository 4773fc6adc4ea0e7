//! Which addresses may be connected to: those of the public internet, and what was allowed by name. It is asked of the address
//! that a connection is made to, after its name was looked up, so no name leads past it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use thiserror::Error;

/// Networks that are let through though they are not public.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Gate(Vec<Allowed>);

/// `10.0.0.0/8`, `127.0.0.1`, `127.0.0.1:3000`, `fd00::/8`, `[::1]:3000`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Allowed {
    network: IpAddr,
    bits: u32,
    port: Option<u16>,
}

#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{0}` is no address to allow: write one as 10.0.0.7, 10.0.0.7:8080, 10.0.0.0/8, fd00::/8 or [::1]:3000")]
pub struct BadAllowed(String);

impl FromStr for Allowed {
    type Err = BadAllowed;

    fn from_str(text: &str) -> Result<Allowed, BadAllowed> {
        let bad = || BadAllowed(text.to_owned());
        if let Ok(address) = text.parse::<SocketAddr>() {
            let ip = plain(address.ip());
            return Ok(Allowed { network: ip, bits: width(ip), port: Some(address.port()) });
        }
        let (ip, bits) = match text.split_once('/') {
            Some((ip, bits)) => (ip, Some(bits.parse::<u32>().map_err(|_| bad())?)),
            None => (text, None),
        };
        let written: IpAddr = ip.parse().map_err(|_| bad())?;
        let ip = plain(written);
        // A mapped network is the IPv4 network in it.
        let bits = match bits {
            Some(bits) if width(written) != width(ip) => bits.checked_sub(96).ok_or_else(bad)?,
            Some(bits) => bits,
            None => width(ip),
        };
        if bits > width(ip) { Err(bad()) } else { Ok(Allowed { network: ip, bits, port: None }) }
    }
}

impl Allowed {
    fn holds(&self, ip: IpAddr, port: u16) -> bool {
        let (network, ip) = match (self.network, ip) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => (u128::from(network.to_bits()) << 96, u128::from(ip.to_bits()) << 96),
            (IpAddr::V6(network), IpAddr::V6(ip)) => (network.to_bits(), ip.to_bits()),
            _ => return false,
        };
        let same = self.bits == 0 || (network ^ ip) >> (128 - self.bits) == 0;
        same && self.port.is_none_or(|allowed| allowed == port)
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.network, port).fmt(f),
            None => write!(f, "{}/{}", self.network, self.bits),
        }
    }
}

impl Gate {
    pub fn new(allowed: Vec<Allowed>) -> Gate {
        Gate(allowed)
    }

    pub fn lets(&self, address: SocketAddr) -> bool {
        let ip = plain(address.ip());
        is_public(ip) || self.0.iter().any(|allowed| allowed.holds(ip, address.port()))
    }
}

fn width(ip: IpAddr) -> u32 {
    if ip.is_ipv4() { 32 } else { 128 }
}

/// An IPv4 address as that, though it is written as an IPv6 address.
fn plain(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

/// Reachable by everybody, as the registries of special-purpose addresses (RFC 6890) have it.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    const SPECIAL: [(Ipv4Addr, u32); 15] = [
        (Ipv4Addr::new(0, 0, 0, 0), 8),
        (Ipv4Addr::new(10, 0, 0, 0), 8),
        // Shared behind a carrier's NAT.
        (Ipv4Addr::new(100, 64, 0, 0), 10),
        (Ipv4Addr::new(127, 0, 0, 0), 8),
        (Ipv4Addr::new(169, 254, 0, 0), 16),
        (Ipv4Addr::new(172, 16, 0, 0), 12),
        (Ipv4Addr::new(192, 0, 0, 0), 24),
        (Ipv4Addr::new(192, 0, 2, 0), 24),
        (Ipv4Addr::new(192, 88, 99, 0), 24),
        (Ipv4Addr::new(192, 168, 0, 0), 16),
        (Ipv4Addr::new(198, 18, 0, 0), 15),
        (Ipv4Addr::new(198, 51, 100, 0), 24),
        (Ipv4Addr::new(203, 0, 113, 0), 24),
        // Multicast, and what was kept for later, up to the broadcast.
        (Ipv4Addr::new(224, 0, 0, 0), 4),
        (Ipv4Addr::new(240, 0, 0, 0), 4),
    ];
    !SPECIAL.iter().any(|(network, bits)| (network.to_bits() ^ ip.to_bits()) >> (32 - bits) == 0)
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = ip.segments();
    // NAT64: what is behind it is an IPv4 address.
    if [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return is_public_v4(Ipv4Addr::from_bits(u32::from(g) << 16 | u32::from(h)));
    }
    let is_global = a & 0xe000 == 0x2000;
    // Protocol assignments with Teredo, documentation, 6to4 (an IPv4 address is behind it), documentation.
    let is_special = match a {
        0x2001 => b < 0x200 || b == 0xdb8,
        0x2002 => true,
        0x3fff => b < 0x1000,
        _ => false,
    };
    is_global && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_let_through() {
        let gate = Gate::default();
        for (ip, lets) in [
            ("1.1.1.1", true),
            ("93.184.216.34", true),
            ("100.63.255.255", true),
            ("100.128.0.0", true),
            ("172.15.0.1", true),
            ("172.32.0.1", true),
            ("2606:4700::1111", true),
            ("64:ff9b::101:101", true),
            ("::ffff:1.1.1.1", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("127.0.0.1", false),
            ("127.255.0.1", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.168.1.1", false),
            ("198.19.0.1", false),
            ("198.51.100.1", false),
            ("203.0.113.1", false),
            ("224.0.0.1", false),
            ("239.255.255.255", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::127.0.0.1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:169.254.169.254", false),
            ("::ffff:0:127.0.0.1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b::a9fe:a9fe", false),
            ("64:ff9b:1::1", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("3fff::1", false),
            ("fc00::1", false),
            ("fd12::1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(gate.lets(SocketAddr::new(ip.parse().unwrap(), 80)), lets, "{ip}");
        }
    }

    #[test]
    fn what_is_allowed_is_let_through_and_nothing_beside_it() {
        for (allowed, address, lets) in [
            ("10.0.0.0/8", "10.9.9.9:80", true),
            ("10.0.0.0/8", "11.0.0.1:80", true),
            ("10.0.0.0/8", "192.168.0.1:80", false),
            ("127.0.0.1", "127.0.0.1:9", true),
            ("127.0.0.1", "127.0.0.2:9", false),
            ("127.0.0.1:3000", "127.0.0.1:3000", true),
            ("127.0.0.1:3000", "127.0.0.1:3001", false),
            ("127.0.0.1:3000", "[::ffff:127.0.0.1]:3000", true),
            ("::ffff:10.0.0.0/104", "10.1.1.1:1", true),
            ("::ffff:10.0.0.0/104", "192.168.1.1:1", false),
            ("[::1]:3000", "[::1]:3000", true),
            ("fd00::/8", "[fd12::1]:1", true),
            ("fd00::/8", "[fe80::1]:1", false),
            ("0.0.0.0/0", "127.0.0.1:1", true),
            ("0.0.0.0/0", "[::1]:1", false),
            ("::/0", "[::1]:1", true),
        ] {
            let gate = Gate::new(vec![allowed.parse().unwrap()]);
            assert_eq!(gate.lets(address.parse().unwrap()), lets, "{allowed} {address}");
        }
        for text in ["", "localhost", "10.0.0.0/33", "10.0.0.0/x", "fd00::/129", "10.0.0", "::ffff:10.0.0.0/8", "10.0.0.1:99999"]
        {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
    }
}
