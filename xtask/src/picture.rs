//! Draws `docs/picture.svg`, the picture of the README: the path of one call.
//!
//! The layout is set by hand here, and `cargo xtask doc` writes the file. The picture has its own
//! background, so that it is readable on a page of any colour, and a dark scheme.

use std::fmt::Write as _;

/// The path of the picture, from the root of the repository.
pub const PATH: &str = "docs/picture.svg";

const WIDTH: u32 = 940;
const HEIGHT: u32 = 352;
/// The distance between two lines of small text.
const LINE_HEIGHT: u32 = 17;

const STYLE: &str = "\
    text { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif; fill: #1f2328 }
    .name { font-size: 17px; font-weight: 600 }
    .note { font-size: 12.5px }
    .page { fill: #ffffff }
    .weaver { fill: #eef4fb; stroke: #2f6fb3; stroke-width: 1.5 }
    .box { fill: #ffffff; stroke: #57606a; stroke-width: 1.2 }
    .way { fill: none; stroke: #2f6fb3; stroke-width: 2 }
    .tip { fill: #2f6fb3 }
    .record { fill: none; stroke: #57606a; stroke-width: 1.2; stroke-dasharray: 4 4 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .page { fill: #0d1117 }
      .weaver { fill: #131d2b; stroke: #6cb0f5 }
      .box { fill: #1b2129; stroke: #8b949e }
      .way { stroke: #6cb0f5 }
      .tip { fill: #6cb0f5 }
      .record { stroke: #8b949e }
    }";

/// A box with a name and lines of small text.
struct Station {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    name: &'static str,
    notes: &'static [&'static str],
}

const STATIONS: [Station; 7] = [
    Station {
        x: 20,
        y: 70,
        width: 120,
        height: 190,
        name: "Agent",
        notes: &["a model and", "its MCP client"],
    },
    Station {
        x: 215,
        y: 70,
        width: 150,
        height: 80,
        name: "1  Route",
        notes: &["show the few tools", "that fit the task"],
    },
    Station {
        x: 395,
        y: 70,
        width: 150,
        height: 80,
        name: "2  Decide",
        notes: &["by signed policy;", "people can release"],
    },
    Station {
        x: 575,
        y: 70,
        width: 150,
        height: 80,
        name: "3  Execute",
        notes: &["this call, once,", "within its time"],
    },
    Station {
        x: 575,
        y: 180,
        width: 150,
        height: 80,
        name: "4  Firewall",
        notes: &["mask secrets,", "bound the result"],
    },
    Station { x: 215, y: 290, width: 510, height: 38, name: "Log", notes: &[] },
    Station {
        x: 800,
        y: 70,
        width: 120,
        height: 190,
        name: "Tools",
        notes: &["MCP servers,", "HTTP APIs,", "programs"],
    },
];

/// Straight arrows of a call and its result, from one point to another.
const ARROWS: [[(u32, u32); 2]; 6] = [
    [(140, 110), (215, 110)],
    [(365, 110), (395, 110)],
    [(545, 110), (575, 110)],
    [(725, 110), (800, 110)],
    [(800, 220), (725, 220)],
    [(575, 220), (140, 220)],
];

/// Vertical lines to the log, from one point down to the next.
const LOG_LINES: [[(u32, u32); 2]; 2] = [[(470, 150), (470, 290)], [(650, 260), (650, 290)]];

/// Labels outside of boxes: position and text.
const LABELS: [(u32, u32, &str); 4] = [
    (154, 102, "call"),
    (757, 212, "result"),
    (218, 212, "what the model may see"),
    (285, 314, "every decision before its effect, every outcome after it"),
];

/// The picture as SVG.
#[must_use]
pub fn svg() -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-labelledby=\"title\">\n  <title id=\"title\">An agent's call goes \
         through Weaver, which routes, decides, executes, firewalls and logs it, to the tools; the \
         result comes back through the firewall.</title>\n  <style>\n{STYLE}\n  </style>\n  \
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>\n  \
         <rect class=\"weaver\" x=\"190\" y=\"16\" width=\"560\" height=\"324\" rx=\"10\"/>\n"
    );
    // Writing to a string cannot fail.
    let _ = writeln!(out, "  <text class=\"name\" x=\"215\" y=\"48\">Weaver</text>");
    for [(x1, y1), (x2, y2)] in LOG_LINES {
        let _ = writeln!(out, "  <path class=\"record\" d=\"M{x1} {y1}L{x2} {}\"/>", y2 - 8);
        let _ = writeln!(out, "  <path class=\"record\" d=\"M{} {}l6 8l6 -8\"/>", x2 - 6, y2 - 9);
    }
    for way in ARROWS {
        out.push_str(&arrow_svg(way));
    }
    for station in &STATIONS {
        out.push_str(&station_svg(station));
    }
    for (x, y, text) in LABELS {
        let _ = writeln!(out, "  <text class=\"note\" x=\"{x}\" y=\"{y}\">{text}</text>");
    }
    out.push_str("</svg>\n");
    out
}

/// A horizontal line with an arrowhead at its end.
fn arrow_svg([(x1, y1), (x2, _)]: [(u32, u32); 2]) -> String {
    let (end, tip) = if x2 > x1 { (x2 - 9, "l-10 -5v10z") } else { (x2 + 9, "l10 -5v10z") };
    format!(
        "  <path class=\"way\" d=\"M{x1} {y1}H{end}\"/>\n  \
         <path class=\"tip\" d=\"M{x2} {y1}{tip}\"/>\n"
    )
}

fn station_svg(station: &Station) -> String {
    let Station { x, y, width, height, name, notes } = station;
    let mut out = format!(
        "  <rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
         rx=\"6\"/>\n  <text class=\"name\" x=\"{}\" y=\"{}\">{name}</text>\n",
        x + 13,
        y + 25
    );
    for (note, line) in notes.iter().zip(0..) {
        let _ = writeln!(
            out,
            "  <text class=\"note\" x=\"{}\" y=\"{}\">{note}</text>",
            x + 13,
            y + 47 + line * LINE_HEIGHT
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{HEIGHT, LINE_HEIGHT, STATIONS, WIDTH, svg};

    #[test]
    fn the_picture_in_the_repository_is_this_one() {
        let found = include_str!("../../docs/picture.svg");
        assert!(found == svg(), "docs/picture.svg is out of date; run `cargo xtask doc`");
    }

    #[test]
    fn everything_lies_inside_and_holds_its_text() {
        for station in &STATIONS {
            assert!(station.x + station.width <= WIDTH, "{}", station.name);
            assert!(station.y + station.height <= HEIGHT, "{}", station.name);
            let lines = u32::try_from(station.notes.len()).unwrap();
            assert!(25 + lines * (LINE_HEIGHT + 8) <= station.height, "{}", station.name);
            for note in station.notes {
                // A letter of small text is about 7 units wide.
                let long = u32::try_from(note.chars().count()).unwrap() * 7;
                assert!(13 + long <= station.width, "{note}");
            }
        }
    }

    #[test]
    fn every_element_is_closed() {
        let picture = svg();
        for name in ["svg", "style", "text", "title"] {
            let opened = picture.matches(&format!("<{name}")).count();
            assert_eq!(opened, picture.matches(&format!("</{name}>")).count(), "{name}");
        }
    }
}
