//! Expression → what is said when the values do not fit.

use super::World;

fn check(table: &[(&str, &str)]) {
    let world = World::new();
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(source, expected)| {
            let told = match world.eval(source) {
                Ok(json) => format!("value {json}"),
                Err(error) => error,
            };
            (told != format!("{source}: {expected}")).then(|| format!("expected {source}: {expected}\n     but {told}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn an_integer_beyond_64_bits_is_not_computed_with() {
    const WHERE: &str = "where input.wide = 18446744073709551616";
    let wide = "an integer beyond 64 bits";
    let table = [
        ("input.wide * 2", format!("`*` does not go between {wide} and int, {WHERE}")),
        ("input.wide > 1.5", format!("{wide} and double have no order, {WHERE}")),
        ("input.wide == 1.8446744073709552e19", format!("{wide} and double cannot be compared, {WHERE}")),
        ("1 in [input.wide]", format!("int and {wide} cannot be compared, {WHERE}")),
        ("-input.wide", format!("`-` needs an int or a double, not {wide}, {WHERE}")),
        ("sum([input.wide])", format!("`+` does not go between int and {wide}, {WHERE}")),
        ("max(input.wide, 1)", format!("{wide} and {wide} have no order, {WHERE}")),
        ("int(input.wide)", format!("`int` cannot be made of {wide} 18446744073709551616, {WHERE}")),
        ("type(input.wide)", format!("`type` does not take ({wide}), {WHERE}")),
        ("{input.wide: 1}", format!("{wide} cannot be a key, {WHERE}")),
        ("input.wide ? 1 : 2", format!("a condition must be true or false, not {wide}, {WHERE}")),
    ];
    check(&table.each_ref().map(|(source, told)| (*source, told.as_str())));
}

#[test]
fn failures_name_the_key_and_show_the_values() {
    check(&[
        (
            "output.totl > 1",
            "no key `totl` in output; there is `total`, where output = {\"items\":[{\"sku\":\"a-1\"}],\"total\":5}",
        ),
        ("output.items[0].size > 1", "no key `size` in output.items[0], where output.items[0] = {\"sku\":\"a-1\"}"),
        ("output.items[1].sku", "no index 1 in a list of 1, where output.items = [{\"sku\":\"a-1\"}]"),
        ("output.items[-1]", "no index -1 in a list of 1, where output.items = [{\"sku\":\"a-1\"}]"),
        ("input.none.x", "no key `x`: input.none is null, where input.none = null"),
        ("input.name.first", "no key `first`: input.name is string, where input.name = \"Zoë\""),
        (
            "input['dash-kye']['a']",
            "no key `dash-kye` in input; there is `dash-key`, where input = {\"amount\":120,\"big\":18446744073709551615,\"dash-key\":7,\"empty\":{},\"list\":[3,1,2],\"min\":-9223372036854775808,\"mixed\":[1,\"a\",null,2.5],\"name\":\"Zoë\",\"nested\":{\"a\":{\"b\":[10,20,{\"c\":\"deep\"}]}},\"none\":null,…",
        ),
        ("nodes.hold.output.x", "node `hold` has no output: it is skipped; test it with has(nodes.hold.output)"),
        (
            "input.orders.map(o, o.opne)",
            "no key `opne`; there is `open`, where o = {\"id\":1,\"open\":3,\"tags\":[\"x\"]}, input.orders = [{\"id\":1,\"open\":3,\"tags\":[\"x\"]},{\"id\":2,\"open\":0,\"tags\":[]},{\"id\":3,\"open\":9,\"tags\":[\"x\",\"y\"]}]",
        ),
        ("index + 1", "there is no `index` here"),
    ]);
}

#[test]
fn failures_of_types_and_numbers() {
    check(&[
        ("input.name > 3", "string and int have no order, where input.name = \"Zoë\""),
        ("input.none + 1", "`+` does not go between null and int, where input.none = null"),
        ("1 + 'a'", "`+` does not go between int and string; make a string of it with string()"),
        ("[1] + 1", "`+` does not go between list and int"),
        ("1 / input.zero", "1 / 0 has no result, where input.zero = 0"),
        ("1 % 0", "1 % 0 has no result"),
        ("9223372036854775807 + 1", "9223372036854775807 + 1 is beyond the ints"),
        ("input.min / -1", "-9223372036854775808 / -1 is beyond the ints, where input.min = -9223372036854775808"),
        ("-(input.min)", "-(-9223372036854775808) is beyond the ints, where input.min = -9223372036854775808"),
        ("1u - 2u", "1 - 2 is beyond the uints"),
        (
            "input.big * input.big",
            "18446744073709551615 * 18446744073709551615 is beyond the uints, where input.big = 18446744073709551615",
        ),
        ("1.5 % 1.0", "`%` needs integers, not doubles"),
        ("1.0 / 0.0", "JSON has no number for inf"),
        ("!dyn(1)", "`!` needs true or false, not int"),
        ("dyn(1) ? 2 : 3", "a condition must be true or false, not int"),
        ("true && dyn(1)", "a condition must be true or false, not int"),
        (
            "input.nothing && true",
            "no key `nothing` in input, where input = {\"amount\":120,\"big\":18446744073709551615,\"dash-key\":7,\"empty\":{},\"list\":[3,1,2],\"min\":-9223372036854775808,\"mixed\":[1,\"a\",null,2.5],\"name\":\"Zoë\",\"nested\":{\"a\":{\"b\":[10,20,{\"c\":\"deep\"}]}},\"none\":null,…",
        ),
        ("[0].all(x, 1 / x > 0)", "1 / 0 has no result, where x = 0"),
        ("[1].filter(x, x)", "a condition must be true or false, not int, where x = 1"),
        ("(1).map(x, x)", "only over a list or a map's keys, not over int"),
        ("'a' in 'abc'", "`in` looks into a list or a map, not into string; for a part of a string there is `contains`"),
        ("{[1]: 2}", "list cannot be a key"),
        ("{'a': 1, 'a': 2}", "the key `a` is there twice"),
        ("{1: 1, '1': 2}", "in JSON, the key `1` would be there twice"),
        ("1[0]", "only lists and maps have `[…]`, not int"),
        ("[1]['a']", "a list's index must be an int, not string"),
        ("has(input.name.x)", "`has` asks for `x` of a map, not of string, where input.name = \"Zoë\""),
    ]);
}

#[test]
fn failures_of_functions() {
    check(&[
        ("size(1)", "`size` does not take (int)"),
        ("'a'.contains(1)", "`contains` does not take (string, int)"),
        ("int('x')", "`int` cannot be made of string \"x\""),
        ("int(1e30)", "`int` cannot be made of double 1e+30"),
        ("uint(-1)", "`uint` cannot be made of int -1"),
        ("string(null)", "`string` cannot be made of null"),
        ("bool('maybe')", "`bool` cannot be made of string \"maybe\""),
        ("'abc'.substring(2, 1)", "substring(2, 1) is not within a string of 3 characters"),
        ("'abc'.substring(4)", "substring(4) is not within a string of 3 characters"),
        ("['a', 1].join()", "`join` needs strings; element 1 is int"),
        ("'a'.matches('(' + '')", "the pattern is not a regular expression: unclosed group"),
        ("min([])", "an empty list has no min"),
        ("max([1, 'a'])", "string and int have no order"),
        ("min([null])", "null and null have no order"),
        ("sort([1, 'a'])", "int and string have no order"),
        ("sort([double('NaN')])", "NaN has no order"),
        ("sum(['a'])", "`+` does not go between int and string; make a string of it with string()"),
        ("range(-1)", "range(-1): the count must lie between 0 and 10000"),
        ("range(10001)", "range(10001): the count must lie between 0 and 10000"),
    ]);
}
