//! How far a command is, by its own word: a line on stderr of the form `signaller: progress 0.4 row 4 of 10`. It is not of the log.

const MARK: &str = "signaller: progress ";

/// How far it is, from 0 to 1000, and what it is at.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Progress<'l> {
    pub permille: u16,
    pub message: Option<&'l str>,
}

impl Progress<'_> {
    /// `None`: the line is one like any other. A share is from 0 to 1, or in percent.
    pub fn read(line: &str) -> Option<Progress<'_>> {
        let rest = line.strip_prefix(MARK)?.trim();
        let (share, message) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (number, of) = share.strip_suffix('%').map_or((share, 1.), |percent| (percent, 100.));
        let share = number.parse::<f64>().ok().map(|number| number / of).filter(|share| (0. ..=1.).contains(share))?;
        Some(Progress {
            permille: (share * 1_000.).round() as u16,
            message: Some(message.trim()).filter(|text| !text.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_a_share_or_is_of_the_log() {
        for (line, told) in [
            ("signaller: progress 0.4 row 4 of 10", Some((400, Some("row 4 of 10")))),
            ("signaller: progress 40% row 4 of 10", Some((400, Some("row 4 of 10")))),
            ("signaller: progress 1", Some((1_000, None))),
            ("signaller: progress 0 ", Some((0, None))),
            ("signaller: progress 12.5%", Some((125, None))),
            ("signaller: progress 1.1", None),
            ("signaller: progress -1%", None),
            ("signaller: progress NaN", None),
            ("signaller: progress", None),
            ("signaller: progress half", None),
            (" signaller: progress 0.4", None),
            ("progress 0.4", None),
        ] {
            let read = Progress::read(line).map(|progress| (progress.permille, progress.message));
            assert_eq!(read, told, "{line}");
        }
    }
}
