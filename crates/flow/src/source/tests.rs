use super::*;
use proptest::prelude::*;

fn told(text: &str) -> String {
    match parse_all(text.as_bytes()) {
        Ok(documents) => documents.iter().map(Value::to_json_text).collect::<Vec<_>>().join(" --- "),
        Err(problem) => problem.to_string(),
    }
}

#[test]
fn yaml_and_json_are_read_as_they_stand() {
    for (text, expected) in [
        ("a: 1", r#"{"a":1}"#),
        ("a: 1\n---\nb: 2\n---\n", r#"{"a":1} --- {"b":2}"#),
        ("[1, -2, +3, 0x1f, 0o17, 1.5, 1e3, .5, -0, 9223372036854775807]", "[1,-2,3,31,15,1.5,1000.0,0.5,0,9223372036854775807]"),
        ("[true, False, yes, no, on, off, y]", r#"[true,false,"yes","no","on","off","y"]"#),
        ("[null, ~, Null, nil]", "[null,null,null,\"nil\"]"),
        (
            "['1', \"true\", 1.2.3, 1_000, 12:30, 2026-01-01, +, ., 1e, e5, 0x, 08]",
            r#"["1","true","1.2.3","1_000","12:30","2026-01-01","+",".","1e","e5","0x",8]"#,
        ),
        ("a: |\n  x\n  y\nb: >\n  x\n  y\n", r#"{"a":"x\ny\n","b":"x y\n"}"#),
        ("1: x\ntrue: y", r#"{"1":"x","true":"y"}"#),
        ("{\"a\":{\"b\":[1,\t2],\n\t\"c\":\"\\u00e9\\/\\n\"}}", r#"{"a":{"b":[1,2],"c":"é/\n"}}"#),
        (r#"{"a":"\ud83d\ude00!","b":"\\ud83d\\ude00","c":"\u00e9"}"#, r#"{"a":"😀!","b":"\\ud83d\\ude00","c":"é"}"#),
        ("\u{feff}a: 1", r#"{"a":1}"#),
        ("a: 1\r\nb: 2\r\n", r#"{"a":1,"b":2}"#),
        ("# nothing but this\na: b # c\n", r#"{"a":"b"}"#),
    ] {
        assert_eq!(told(text), expected, "{text:?}");
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
    let large = " ".repeat(SOURCE_BYTES_MAX + 1);
    let laughs = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
    let many = "--- 1\n".repeat(DOCUMENTS_MAX + 1);
    for (text, expected) in [
        ("", "1:1: there is nothing in this file"),
        ("---\n---\n", "1:1: there is nothing in this file"),
        (large.as_str(), "1:1: the file has 1048577 bytes; at most 1048576 are read"),
        (deep.as_str(), "1:65: lists and maps lie more than 64 deep in each other"),
        (laughs, "1:4: anchors (&name) are not supported\n  write the value out where it is used"),
        (many.as_str(), "1:1: a file may hold at most 100 documents"),
        ("a: *x", "1:4: aliases (*name) are not supported\n  quote a text that begins with `*`"),
        ("b: !!str 5", "1:4: tags (!name) are not supported\n  quote the value if it is meant as text"),
        ("a: 1\nb:\n  c: 2\n  c: 3", "4:3: the key `c` occurs twice"),
        ("<<: {a: 1}", "1:1: merge keys (<<) are not supported\n  `defaults` holds for all nodes"),
        ("? [a]\n: b", "1:3: a key must be a text"),
        ("a: b: c", "1:5: this is not YAML: mapping values are not allowed in this context\n  quote a text that holds `: `"),
        ("a: [1, 2", "2:1: this is not YAML: while parsing a flow sequence, expected ',' or ']'"),
        ("a: 0xfffffffffffffffff", "1:4: `0xfffffffffffffffff` does not fit into 64 bits\n  quote it to make it text"),
        ("a: .inf", "1:4: `.inf` is not a number that JSON knows\n  quote it to make it text"),
        ("a: 1e999", "1:4: `1e999` is too large a number\n  quote it to make it text"),
        ("a: \"x", "1:4: this is not YAML: while scanning a quoted scalar, found unexpected end of stream"),
        (
            "{\"a\": \"\\ud83d\"}",
            "1:7: an escape such as \\ud83d is half a character: it comes with its other half, or not at all",
        ),
        (&"[".repeat(400), "1:256: lists and maps lie more than 64 deep in each other"),
        (&r#"{"a":"#.repeat(400), "1:1276: lists and maps lie more than 64 deep in each other"),
        ("{\"a\": 1\n\"b\": 2}", "2:1: this is not JSON: expected `,` or `}`"),
        ("a: 1\n\tb: 2", "1:4: this is not YAML: while scanning a plain scalar, found a tab"),
    ] {
        assert_eq!(told(text), expected, "{:?}", short(text));
    }
    assert_eq!(parse_all(b"a: 1\nb: \xff").unwrap_err().to_string(), "2:4: the file is not UTF-8 text");
    assert_eq!(parse(b"a: 1\n---\nb: 1").unwrap_err().to_string(), "3:1: there are 2 documents; one is expected here");
}

#[test]
fn what_is_called_json_is_held_to_it() {
    for (text, expected) in [
        ("{\"a\": [1, 2]}\n", None),
        ("\u{feff}{\"a\": \"\\ud83d\\ude00\"}", None),
        ("{\n  \"a\": 1,\n}", Some("3:1: this is not JSON: trailing comma")),
        ("a: 1", Some("1:1: this is not JSON: expected value")),
        ("", Some("1:1: this is not JSON: EOF while parsing a value")),
    ] {
        assert_eq!(not_json(text).map(|problem| problem.to_string()).as_deref(), expected, "{text}");
    }
}

#[test]
fn an_integer_that_64_bits_do_not_hold_keeps_its_digits() {
    let document =
        parse(b"{a: 99999999999999999999, b: -099999999999999999999, c: +18446744073709551615}").expect("it can be read");
    let expected = r#"{"a":99999999999999999999,"b":-99999999999999999999,"c":18446744073709551615}"#;
    assert_eq!(document.to_json_text(), expected);
}

#[test]
fn every_value_knows_its_place() {
    let document = parse(b"a:\n  - x: 1\n    \xc3\xbc: 'two'\n  - [3]\n").expect("it can be read");
    let Data::List(list) = &document.get("a").expect("there is a").data else { panic!("a is a list") };
    let two = list[0].get("ü").expect("there is one");
    assert_eq!((two.at.line, two.at.column, two.at.path.to_string().as_str()), (3, 8, "a[0].ü"));
    let Data::List(inner) = &list[1].data else { panic!("a[1] is a list") };
    assert_eq!((inner[0].at.line, inner[0].at.column, inner[0].at.path.to_string().as_str()), (4, 6, "a[1][0]"));
}

/// Bytes that look like YAML more often than chance would have it.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just("a"),
        Just("b: "),
        Just("- "),
        Just("\n"),
        Just("  "),
        Just("\t"),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(": "),
        Just("'"),
        Just("\""),
        Just("\\u"),
        Just("\\"),
        Just("|"),
        Just(">"),
        Just("&x "),
        Just("*x"),
        Just("!!int "),
        Just("? "),
        Just("---\n"),
        Just("...\n"),
        Just("#"),
        Just("%YAML"),
        Just("1"),
        Just("0x"),
        Just("~"),
        Just("true"),
        Just("<<"),
        Just("\r"),
        Just("\u{feff}"),
        Just("é"),
        Just("\u{85}"),
        Just("\0"),
        Just("@"),
        Just("`"),
    ];
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        proptest::collection::vec(word, 0..60).prop_map(|words| words.concat().into_bytes()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn no_bytes_make_it_panic(bytes in soup()) {
        let _ = parse_all(&bytes);
    }

    #[test]
    fn json_is_yaml(value in json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("it is JSON")] {
            let text = format!("{{\"only\":{text}}}");
            let read = parse(text.as_bytes()).map_err(|problem| TestCaseError::fail(format!("{problem}: {text}")))?;
            let only = read.get("only").expect("it was written");
            prop_assert_eq!(&only.to_json(), &value);
            prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&only.to_json_text()).expect("it is JSON"), &value);
        }
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (-1e9..1e9f64).prop_map(Into::into),
        "\\PC{0,12}".prop_map(Into::into),
        "[a-z\\n\\t\"\\\\/: #{}\\[\\],&*!|>'%@`-]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::btree_map("\\PC{0,8}", inner, 0..5).prop_map(|map| map
                .into_iter()
                .filter(|(key, _)| key != "<<")
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}
