/// Name of a template set of so many dictionary entries that a reset clears only those that were used.
const MANY_ENTRIES: &str = "many entries";

/// Returns the set's templates. They use entries at the start, in the middle, at the end, and at both ends; one
/// resets, one encodes without a copy of its entries, and one has references to all others.
fn many_entries() -> String {
    let fields = |name: &str, count: usize, of: &str, operator: &str| -> String {
        let field = |n| format!("<{of} name='{name}{n}' presence='optional'><{operator}/></{of}>");
        (0..count).map(field).collect()
    };
    let plain: String =
        (0..20).map(|n| format!("<uInt32 name='p{n}'><copy value='3'/></uInt32>")).collect();
    let bodies = [
        ("name='First'", fields("f", 30, "uInt32", "copy")),
        ("name='Plain'", plain),
        ("name='Numbers'", fields("n", 10, "uInt64", "delta")),
        ("name='Clear' reset='yes'", fields("c", 10, "int32", "delta")),
        (
            "name='Outer'",
            fields("o", 6, "uInt32", "delta")
                + "<sequence name='r'><templateRef/></sequence><sequence name='s'><templateRef/></sequence>"
                + &fields("q", 6, "uInt32", "copy"),
        ),
        (
            "name='Texts'",
            ["copy", "tail", "delta"]
                .map(|operator| fields(operator, 4, "string", operator))
                .concat()
                + &fields("d", 4, "decimal", "copy"),
        ),
        (
            "name='Entries'",
            format!(
                "<sequence name='entries'>{}{}</sequence>",
                fields("e", 6, "uInt32", "copy"),
                fields("g", 4, "uInt32", "increment")
            ),
        ),
        (
            "name='Both'",
            fields("f", 1, "uInt32", "copy") + &fields("l", 30, "uInt32", "increment value='1'"),
        ),
        ("name='Last'", fields("l", 30, "uInt32", "increment value='1'")),
    ];
    let template = |(id, (attributes, body)): (usize, (&str, String))| {
        format!("<template {attributes} id='{}'>{body}</template>", id + 1)
    };
    format!(
        "<templates>{}</templates>",
        bodies.into_iter().enumerate().map(template).collect::<String>()
    )
}
