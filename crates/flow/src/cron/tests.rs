use super::*;
use std::collections::BTreeSet;

fn at(text: &str) -> Time {
    Time::from_ms(crate::instant::parse_ms(text).expect(text))
}

fn shown(time: Time) -> String {
    crate::instant::show(time.us()).replace(".000000", "")
}

fn zone(name: &str) -> Zone {
    Zone::parse(name).expect(name)
}

/// The first slots after an instant, day and time of each in the zone.
fn slots(schedule: &str, name: &str, after: &str, count: usize) -> String {
    let (schedule, zone) = (Schedule::parse(schedule).expect(schedule), zone(name));
    let next = |slot: &Time| schedule.next_after(*slot, &zone);
    let slots = std::iter::successors(next(&at(after)), next).take(count);
    let local = |slot: Time| {
        let at = Timestamp::from_microsecond(slot.us()).expect("an instant").to_zoned(zone.zone.clone());
        at.strftime("%a %m-%d %H:%M:%S %:z").to_string().replace(":00 ", " ")
    };
    slots.map(local).collect::<Vec<_>>().join(", ")
}

#[test]
fn schedules_fire_when_people_expect_it() {
    for (schedule, expected) in [
        ("*/20 * * * *", "Sat 01-31 12:20 +00:00, Sat 01-31 12:40 +00:00, Sat 01-31 13:00 +00:00"),
        ("*/30 * * * * *", "Sat 01-31 12:00:30 +00:00, Sat 01-31 12:01 +00:00, Sat 01-31 12:01:30 +00:00"),
        ("5/25 8-18/5 * * *", "Sat 01-31 13:05 +00:00, Sat 01-31 13:30 +00:00, Sat 01-31 13:55 +00:00"),
        ("0 22-1 * * *", "Sat 01-31 22:00 +00:00, Sat 01-31 23:00 +00:00, Sun 02-01 00:00 +00:00"),
        ("0 9 * * MON-FRI", "Mon 02-02 09:00 +00:00, Tue 02-03 09:00 +00:00, Wed 02-04 09:00 +00:00"),
        ("0 9 * * fri-mon", "Sun 02-01 09:00 +00:00, Mon 02-02 09:00 +00:00, Fri 02-06 09:00 +00:00"),
        ("0 9 * * 6-7", "Sun 02-01 09:00 +00:00, Sat 02-07 09:00 +00:00, Sun 02-08 09:00 +00:00"),
        ("0 9 * * 0-7/3", "Sun 02-01 09:00 +00:00, Wed 02-04 09:00 +00:00, Sat 02-07 09:00 +00:00"),
        ("0 0 1 JAN,jul ?", "Wed 07-01 00:00 +00:00, Fri 01-01 00:00 +00:00, Thu 07-01 00:00 +00:00"),
        ("0 0 L * *", "Sat 02-28 00:00 +00:00, Tue 03-31 00:00 +00:00, Thu 04-30 00:00 +00:00"),
        ("0 0 L-2 * *", "Thu 02-26 00:00 +00:00, Sun 03-29 00:00 +00:00, Tue 04-28 00:00 +00:00"),
        ("0 0 LW * *", "Fri 02-27 00:00 +00:00, Tue 03-31 00:00 +00:00, Thu 04-30 00:00 +00:00"),
        ("0 0 1W * *", "Mon 02-02 00:00 +00:00, Mon 03-02 00:00 +00:00, Wed 04-01 00:00 +00:00"),
        ("0 0 31W * *", "Tue 03-31 00:00 +00:00, Fri 05-29 00:00 +00:00, Fri 07-31 00:00 +00:00"),
        ("0 0 1W 8 *", "Mon 08-03 00:00 +00:00, Mon 08-02 00:00 +00:00, Tue 08-01 00:00 +00:00"),
        ("0 0 * * 5#2", "Fri 02-13 00:00 +00:00, Fri 03-13 00:00 +00:00, Fri 04-10 00:00 +00:00"),
        ("0 0 * * MON#5", "Mon 03-30 00:00 +00:00, Mon 06-29 00:00 +00:00, Mon 08-31 00:00 +00:00"),
        ("0 0 * * 5L", "Fri 02-27 00:00 +00:00, Fri 03-27 00:00 +00:00, Fri 04-24 00:00 +00:00"),
        ("0 0 13 * 5", "Fri 02-06 00:00 +00:00, Fri 02-13 00:00 +00:00, Fri 02-20 00:00 +00:00"),
        ("0 0 29 2 *", "Tue 02-29 00:00 +00:00, Sun 02-29 00:00 +00:00, Fri 02-29 00:00 +00:00"),
        ("@daily", "Sun 02-01 00:00 +00:00, Mon 02-02 00:00 +00:00, Tue 02-03 00:00 +00:00"),
        ("@Hourly", "Sat 01-31 13:00 +00:00, Sat 01-31 14:00 +00:00, Sat 01-31 15:00 +00:00"),
        ("@weekly", "Sun 02-01 00:00 +00:00, Sun 02-08 00:00 +00:00, Sun 02-15 00:00 +00:00"),
    ] {
        assert_eq!(slots(schedule, "UTC", "2026-01-31T12:00:00.5Z", 3), expected, "{schedule}");
    }
}

#[test]
fn an_hour_that_is_skipped_or_comes_twice_fires_as_people_expect_it() {
    // In Berlin clocks go from 2 to 3 on 2026-03-29 and from 3 back to 2 on 2026-10-25.
    let (spring, autumn) = ("2026-03-28T23:30:00Z", "2026-10-24T22:30:00Z");
    for (schedule, after, expected) in [
        ("30 2 * * *", spring, "Sun 03-29 03:00 +02:00, Mon 03-30 02:30 +02:00, Tue 03-31 02:30 +02:00"),
        ("0,20,40 2 * * *", spring, "Sun 03-29 03:00 +02:00, Mon 03-30 02:00 +02:00, Mon 03-30 02:20 +02:00"),
        ("0 3 * * *", spring, "Sun 03-29 03:00 +02:00, Mon 03-30 03:00 +02:00, Tue 03-31 03:00 +02:00"),
        ("30 2,3 * * *", spring, "Sun 03-29 03:00 +02:00, Sun 03-29 03:30 +02:00, Mon 03-30 02:30 +02:00"),
        ("0 */2 * * *", spring, "Sun 03-29 03:00 +02:00, Sun 03-29 04:00 +02:00, Sun 03-29 06:00 +02:00"),
        ("30 * * * *", spring, "Sun 03-29 01:30 +01:00, Sun 03-29 03:30 +02:00, Sun 03-29 04:30 +02:00"),
        ("30 2 * * *", autumn, "Sun 10-25 02:30 +02:00, Mon 10-26 02:30 +01:00, Tue 10-27 02:30 +01:00"),
        ("0 3 * * *", autumn, "Sun 10-25 03:00 +01:00, Mon 10-26 03:00 +01:00, Tue 10-27 03:00 +01:00"),
        ("0 */2 * * *", autumn, "Sun 10-25 02:00 +02:00, Sun 10-25 04:00 +01:00, Sun 10-25 06:00 +01:00"),
        ("30 * * * *", autumn, "Sun 10-25 01:30 +02:00, Sun 10-25 02:30 +02:00, Sun 10-25 02:30 +01:00"),
        // From within the hour that comes the second time.
        ("30 2 * * *", "2026-10-25T01:10:00Z", "Mon 10-26 02:30 +01:00, Tue 10-27 02:30 +01:00, Wed 10-28 02:30 +01:00"),
        ("30 2 * * *", "2026-03-29T00:59:59Z", "Sun 03-29 03:00 +02:00, Mon 03-30 02:30 +02:00, Tue 03-31 02:30 +02:00"),
        ("30 2 * * *", "2026-03-29T01:00:00Z", "Mon 03-30 02:30 +02:00, Tue 03-31 02:30 +02:00, Wed 04-01 02:30 +02:00"),
    ] {
        assert_eq!(slots(schedule, "Europe/Berlin", after, 3), expected, "{schedule} {after}");
    }
    // Samoa had no 30 December 2011.
    let samoa = slots("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", 2);
    assert_eq!(samoa, "Sat 12-31 00:00 +14:00, Sun 12-30 12:00 +14:00");
}

#[test]
fn what_is_no_schedule_is_told() {
    for (text, expected) in [
        (
            "",
            "a schedule has five fields (minute, hour, day of the month, month, day of the week) or six with seconds first; this has 0",
        ),
        (
            "* * * *",
            "a schedule has five fields (minute, hour, day of the month, month, day of the week) or six with seconds first; this has 4",
        ),
        ("61 * * * *", "`61` in the minutes: a number from 0 to 59 is expected"),
        ("* 24 * * *", "`24` in the hours: a number from 0 to 23 is expected"),
        ("* * 0 * *", "`0` in the days of the month: a number from 1 to 31 is expected"),
        ("* * 9-3 * *", "`9-3` in the days of the month: a range goes from the lower to the higher"),
        ("* * * FOO *", "`FOO` in the months: a number from 1 to 12 or a name from JAN to DEC is expected"),
        ("* * * * 8", "`8` in the days of the week: a number from 0 to 7 or a name from SUN to SAT is expected"),
        ("* * * * 1#6", "`1#6` in the days of the week: #1 to #5 is expected"),
        ("*/0 * * * *", "`*/0` in the minutes: a step is a number from 1 to 59"),
        ("*/99 * * * *", "`*/99` in the minutes: a step is a number from 1 to 59"),
        ("1,,2 * * * *", "`` in the minutes: a number from 0 to 59 is expected"),
        ("* * L-31 * *", "`L-31` in the days of the month: L-1 to L-30 is expected"),
        ("* * 32W * *", "`32W` in the days of the month: a day such as 15W is expected"),
        ("0 0 30 2 *", "`0 0 30 2 *` never fires: there is no such day"),
        ("@reboot", "`@reboot` is none of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly"),
        ("-1 * * * *", "`` in the minutes: a number from 0 to 59 is expected"),
    ] {
        assert_eq!(Schedule::parse(text).expect_err(text), expected, "{text}");
    }
    assert_eq!(Schedule::parse(&"1,".repeat(500)).expect_err("too long"), "a schedule has at most 256 bytes");
    assert!(Zone::parse("Europe/Atlantis").is_none());
    assert_eq!(zone("europe/berlin").name(), "Europe/Berlin");
}

/// A schedule read once more, the plain way, by its sets: minutes, hours, days of the month, months, weekdays.
struct Plain {
    written: &'static str,
    minutes: Vec<i8>,
    hours: Vec<i8>,
    days: Option<Vec<i8>>,
    weekdays: Option<Vec<i8>>,
}

impl Plain {
    fn fits(&self, wall: jiff::civil::DateTime) -> bool {
        let of_month = self.days.as_ref().map(|days| days.contains(&wall.day()));
        let of_week = self.weekdays.as_ref().map(|days| days.contains(&wall.weekday().to_sunday_zero_offset()));
        let day = match (of_month, of_week) {
            (Some(month), Some(week)) => month || week,
            (one, other) => one.or(other).unwrap_or(true),
        };
        day && self.minutes.contains(&wall.minute()) && self.hours.contains(&wall.hour())
    }
}

fn plain() -> Vec<Plain> {
    let all: Vec<i8> = (0..24).collect();
    let every = |step: usize, most: i8| (0..=most).step_by(step).collect::<Vec<i8>>();
    let schedule = |written, minutes, hours, days, weekdays| Plain { written, minutes, hours, days, weekdays };
    vec![
        schedule("*/15 * * * *", every(15, 59), all.clone(), None, None),
        schedule("7 * * * 0,3", vec![7], all, None, Some(vec![0, 3])),
        schedule("30 2 * * *", vec![30], vec![2], None, None),
        schedule("*/20 0-3 * * *", every(20, 59), vec![0, 1, 2, 3], None, None),
        schedule("0 */6 * * *", vec![0], every(6, 23), None, None),
        schedule("45 1 1,30 * 0", vec![45], vec![1], Some(vec![1, 30]), Some(vec![0])),
        schedule("0 0 * * *", vec![0], vec![0], None, None),
    ]
}

#[test]
fn slots_are_those_of_a_walk_from_minute_to_minute() {
    const MINUTES: i64 = 2 * 366 * 24 * 60;
    for (name, from) in [
        ("UTC", "2026-01-01T00:00:00Z"),
        ("Europe/Berlin", "2025-12-31T23:00:00Z"),
        ("America/New_York", "2026-01-01T05:00:00Z"),
        ("Australia/Lord_Howe", "2026-01-01T00:00:00Z"),
        ("Pacific/Apia", "2010-06-01T11:00:00Z"),
        ("Africa/Casablanca", "2025-01-01T00:00:00Z"),
        ("America/Santiago", "2026-01-01T03:00:00Z"),
    ] {
        let (zone, start) = (zone(name), at(from).us() / 1_000_000);
        let schedules = plain();
        let mut walked: Vec<Vec<i64>> = vec![Vec::new(); schedules.len()];
        let wall = |minute: i64| {
            let at = Timestamp::from_second(start + minute * 60).expect("an instant");
            zone.zone.to_datetime(at)
        };
        let (mut last, mut furthest) = (wall(-1), wall(-1));
        for minute in 0..MINUTES {
            let now = wall(minute);
            let even = now.minute() == last.minute() + 1 && now.hour() == last.hour();
            let ahead = if even { 1 } else { now.since((jiff::Unit::Minute, last)).expect("they are close").get_minutes() };
            let skipped = (1..ahead).map(|ahead| last + jiff::Span::new().minutes(ahead)).collect::<Vec<_>>();
            for (schedule, walked) in schedules.iter().zip(&mut walked) {
                let by_wall = schedule.hours.len() < 24;
                let made_up = by_wall && skipped.iter().any(|skipped| schedule.fits(*skipped));
                let again = by_wall && now <= furthest;
                if made_up || schedule.fits(now) && !again {
                    walked.push(start + minute * 60);
                }
            }
            (last, furthest) = (now, furthest.max(now));
        }
        for (plain, walked) in schedules.iter().zip(walked) {
            let schedule = Schedule::parse(plain.written).expect(plain.written);
            let until = instant(start + (MINUTES - 1) * 60);
            let next = |slot: &Time| schedule.next_after(*slot, &zone).filter(|slot| *slot <= until);
            let found: Vec<i64> =
                std::iter::successors(next(&instant(start - 1)), next).map(|slot| slot.us() / 1_000_000).collect();
            let differ = found.iter().zip(&walked).find(|(found, walked)| found != walked);
            let differ = differ.map(|(found, walked)| (shown(instant(*found)), shown(instant(*walked))));
            assert!(found == walked, "{name} {}: {differ:?}, {} and {}", plain.written, found.len(), walked.len());
            assert!(found.len() > 20);
        }
    }
}

#[test]
fn the_newest_slots_of_a_stretch_are_told() {
    let (berlin, daily) = (zone("Europe/Berlin"), Schedule::parse("30 2 * * *").expect("a schedule"));
    let (after, until) = (at("2026-03-27T01:30:00Z"), at("2026-03-30T00:30:00Z"));
    let between = |most| {
        let slots = daily.slots_between(after, until, &berlin, most);
        (slots.newest.into_iter().map(shown).collect::<Vec<_>>().join(" "), slots.more)
    };
    let all = "2026-03-28T01:30:00Z 2026-03-29T01:00:00Z 2026-03-30T00:30:00Z";
    assert_eq!(between(5), (all.to_owned(), false));
    assert_eq!(between(3), (all.to_owned(), false));
    assert_eq!(between(2), (all[21..].to_owned(), true));
    assert_eq!(between(1), (all[42..].to_owned(), true));
    assert_eq!(between(0), (String::new(), true));
    assert_eq!(daily.slots_between(after, after.plus_ms(1_000), &berlin, 5), Slots::default());
    assert_eq!(daily.slots_between(until, after, &berlin, 5), Slots::default());
    // Nobody walks through a year of seconds to find the last of them.
    let every_second = Schedule::parse("* * * * * *").expect("a schedule");
    let year = every_second.slots_between(at("2025-01-01T00:00:00Z"), at("2026-01-01T00:00:00.5Z"), &Zone::utc(), 2);
    assert_eq!(year.newest.into_iter().map(shown).collect::<Vec<_>>(), ["2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z"]);
}

#[test]
fn jitter_is_the_same_for_the_same_slot_and_spread_over_others() {
    let slot = |minute: u64| Time::ZERO.plus_ms(minute * 60_000);
    assert_eq!(jitter_ms("a", slot(1), 0), 0);
    assert_eq!(jitter_ms("a", slot(1), 60_000), jitter_ms("a", slot(1), 60_000));
    let all: Vec<u64> = (0..10_000).map(|minute| jitter_ms("a", slot(minute), 9)).collect();
    for wait in 0..=9 {
        let count = all.iter().filter(|found| **found == wait).count();
        assert!((850..1_150).contains(&count), "{wait}: {count}");
    }
    let names: BTreeSet<u64> = ["a", "b", "c", "d"].map(|name| jitter_ms(name, slot(1), 1_000_000)).into();
    assert_eq!(names.len(), 4);
}

#[test]
fn no_text_makes_it_panic() {
    let parts =
        ["*", "0", "59", "7", "L", "W", "#", "-", "/", ",", "?", " ", "JAN", "mon", "@", "15W", "L-3", "99999999999", "ü"];
    let mut seed = 1_u64;
    let mut below = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % most
    };
    let mut fine = 0;
    for _ in 0..20_000 {
        let item = |below: &mut dyn FnMut(usize) -> usize| {
            (0..1 + below(6) / 3).map(|_| parts[below(parts.len() * 2).saturating_sub(parts.len())]).collect::<String>()
        };
        let text = (0..5 + below(2)).map(|_| item(&mut below)).collect::<Vec<_>>().join(" ");
        if let Ok(schedule) = Schedule::parse(&text) {
            fine += 1;
            let next = schedule.next_after(at("2026-01-01T00:00:00Z"), &Zone::utc());
            assert!(next.is_some(), "{text}");
        }
    }
    assert!(fine > 20, "{fine}");
    let schedule = Schedule::parse("* * * * *").expect("a schedule");
    for us in [i64::MIN, i64::MAX, 0, -1] {
        let _ = schedule.next_after(Time::from_us(us), &zone("Europe/Berlin"));
    }
}
