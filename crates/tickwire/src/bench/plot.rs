//! Plots of times: horizontal bars on a logarithmic axis, as SVG.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Pixels.
const WIDTH: i32 = 960;
const LEFT: i32 = 230;
const RIGHT: i32 = 70;
const TOP: i32 = 64;
const BOTTOM: i32 = 40;
const BAR: i32 = 13;
const GAP: i32 = 10;
const FONT: &str = "sans-serif";

/// Owner of the times in a series. Each family has one hue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Blue.
    Tickwire,
    /// Grey.
    Peer,
}

/// Bars of one colour.
pub struct BarSeries {
    /// Name in the legend.
    pub name: String,
    /// Family, which determines the hue.
    pub family: Family,
}

/// Bars in groups.
pub struct Bars {
    /// Heading.
    pub title: String,
    /// Title of the axis, with the unit.
    pub axis: String,
    /// All series, at most [`SHADES`] of each family.
    pub series: Vec<BarSeries>,
    /// Groups from top to bottom: a name, and bars with the index of their series and their length,
    /// which is above 0.
    pub groups: Vec<(String, Vec<(usize, f64)>)>,
}

/// Number of series of one family that have different shades.
pub const SHADES: usize = 3;

/// A colour for white pages, and its replacement if the reader prefers dark pages.
#[derive(Clone, Copy)]
struct Shade {
    light: RGBColor,
    dark: RGBColor,
}

const fn shade(light: (u8, u8, u8), dark: (u8, u8, u8)) -> Shade {
    Shade { light: RGBColor(light.0, light.1, light.2), dark: RGBColor(dark.0, dark.1, dark.2) }
}

const INK: Shade = shade((36, 41, 47), (230, 237, 243));
const GRID: Shade = shade((208, 215, 222), (48, 54, 61));
const BLUES: [Shade; SHADES] = [
    shade((9, 105, 218), (88, 166, 255)),
    shade((128, 188, 255), (31, 111, 235)),
    shade((182, 227, 255), (12, 45, 107)),
];
const GREYS: [Shade; SHADES] = [
    shade((87, 96, 106), (177, 186, 196)),
    shade((140, 149, 159), (118, 131, 144)),
    shade((191, 197, 204), (86, 94, 103)),
];

/// Returns the style sheet for dark pages. Its rules replace each light colour, which is an
/// attribute of a shape, by the dark one.
fn style() -> String {
    let hex = |RGBColor(red, green, blue): RGBColor| format!("#{red:02X}{green:02X}{blue:02X}");
    let mut rules = String::new();
    for Shade { light, dark } in [INK, GRID].into_iter().chain(BLUES).chain(GREYS) {
        let (light, dark) = (hex(light), hex(dark));
        rules += &format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}");
    }
    format!("<style>@media(prefers-color-scheme:dark){{{rules}}}</style>")
}

/// Scale from lengths to positions in the picture.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    /// The range from the power of ten at or below the shortest bar to the one at or above the longest.
    fn of(bars: &Bars) -> Self {
        let lengths = || bars.groups.iter().flat_map(|(_, group)| group).map(|(_, length)| *length);
        let least = lengths().fold(f64::INFINITY, f64::min).log10().floor();
        let most = lengths().fold(1.0, f64::max).log10().ceil();
        let least = if least.is_finite() { least } else { 0.0 };
        Self { least, most: most.max(least + 1.0) }
    }

    fn x(&self, length: f64) -> i32 {
        let share = (length.log10() - self.least) / (self.most - self.least);
        LEFT + (share.clamp(0.0, 1.0) * f64::from(WIDTH - LEFT - RIGHT)) as i32
    }

    /// The powers of ten on the axis.
    fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        (self.least as i32..=self.most as i32).map(|power| 10f64.powi(power))
    }
}

impl Bars {
    /// The plot as an SVG file.
    ///
    /// # Errors
    /// The drawing library's error, as text.
    pub fn svg(&self) -> Result<String, String> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|error| error.to_string())?;
        let start = svg.find('>').ok_or("no SVG was drawn")? + 1;
        svg.insert_str(start, &style());
        Ok(svg)
    }

    fn height(&self) -> i32 {
        let of_group = |(_, bars): &(String, Vec<_>)| bars.len() as i32 * BAR + GAP;
        TOP + BOTTOM + self.groups.iter().map(of_group).sum::<i32>()
    }

    /// The colour of a series: the next shade of its family.
    fn colour(&self, index: usize) -> RGBColor {
        let Some(BarSeries { family, .. }) = self.series.get(index) else { return INK.light };
        let shades = match family {
            Family::Tickwire => BLUES,
            Family::Peer => GREYS,
        };
        let before = self.series[..index].iter().filter(|series| series.family == *family);
        shades[before.count() % SHADES].light
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error + '_>> {
        let height = self.height();
        let area = SVGBackend::with_string(svg, (WIDTH as u32, height as u32)).into_drawing_area();
        let text = |size: i32, horizontal, vertical| {
            (FONT, size).into_font().color(&INK.light).pos(Pos::new(horizontal, vertical))
        };
        area.draw(&Text::new(self.title.clone(), (12, 8), text(17, HPos::Left, VPos::Top)))?;
        let scale = Scale::of(self);
        for tick in scale.ticks() {
            let x = scale.x(tick);
            let line = vec![(x, TOP - 6), (x, height - BOTTOM)];
            area.draw(&PathElement::new(line, GRID.light))?;
            let label = text(12, HPos::Center, VPos::Top);
            area.draw(&Text::new(tick.to_string(), (x, height - BOTTOM + 4), label))?;
        }
        let axis = text(12, HPos::Right, VPos::Top);
        area.draw(&Text::new(self.axis.clone(), (WIDTH - 12, height - 18), axis))?;

        let width_of = |series: &BarSeries| 32 + 7 * series.name.len() as i32;
        let width: i32 = self.series.iter().map(width_of).sum();
        let mut x = LEFT.min(WIDTH - width).max(12);
        for (index, series) in self.series.iter().enumerate() {
            let corner = [(x, TOP - 28), (x + 11, TOP - 17)];
            area.draw(&Rectangle::new(corner, self.colour(index).filled()))?;
            let label = text(12, HPos::Left, VPos::Top);
            area.draw(&Text::new(series.name.clone(), (x + 15, TOP - 29), label))?;
            x += width_of(series);
        }
        let mut y = TOP;
        for (name, bars) in &self.groups {
            let middle = y + bars.len() as i32 * BAR / 2;
            let label = text(13, HPos::Right, VPos::Center);
            area.draw(&Text::new(name.clone(), (LEFT - 8, middle), label))?;
            for (series, length) in bars {
                let end = scale.x(*length);
                let corners = [(LEFT, y), (end, y + BAR - 2)];
                area.draw(&Rectangle::new(corners, self.colour(*series).filled()))?;
                let label = text(11, HPos::Left, VPos::Center);
                area.draw(&Text::new(format!("{length:.0}"), (end + 4, y + BAR / 2 - 1), label))?;
                y += BAR;
            }
            y += GAP;
        }
        area.present()?;
        drop(area);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, family: Family) -> BarSeries {
        BarSeries { name: name.to_owned(), family }
    }

    #[test]
    fn the_names_of_all_series_are_within_the_picture() {
        let names = ["Tickwire, generated code", "Tickwire, templates at run time"];
        let ours = names.map(|name| series(name, Family::Tickwire));
        let peers = ["mfast-generated", "mfast", "openfast"].map(|name| series(name, Family::Peer));
        let plot = Bars {
            title: String::new(),
            axis: String::new(),
            series: ours.into_iter().chain(peers).collect(),
            groups: vec![("feed".to_owned(), (0..5).map(|index| (index, 10.0)).collect())],
        };
        let svg = plot.svg().expect("draws");
        let last = &svg[..svg.find("openfast").expect("named")];
        let (_, start) = last.rsplit_once("<text x=\"").expect("has a place");
        let (x, _) = start.split_once('"').expect("a number");
        let end = x.parse::<i32>().expect("a number") + 7 * "openfast".len() as i32;
        assert!(end <= WIDTH, "ends at {end}");
    }

    #[test]
    fn longer_times_have_longer_bars_and_every_name_is_there() {
        let bars = Bars {
            title: "Decoding".to_owned(),
            axis: "ns".to_owned(),
            series: vec![series("ours", Family::Tickwire), series("theirs", Family::Peer)],
            groups: vec![("feed".to_owned(), vec![(0, 20.0), (1, 400.0)])],
        };
        let scale = Scale::of(&bars);
        assert_eq!(scale.ticks().collect::<Vec<_>>(), [10.0, 100.0, 1000.0]);
        assert!(scale.x(20.0) < scale.x(400.0));
        assert_eq!((scale.x(10.0), scale.x(1000.0)), (LEFT, WIDTH - RIGHT));
        let svg = bars.svg().expect("a picture");
        for text in ["Decoding", "feed", "ours", "theirs", "400"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn dark_pages_change_every_colour_that_is_drawn() {
        let bars = Bars {
            title: "Decoding".to_owned(),
            axis: "ns".to_owned(),
            series: vec![series("ours", Family::Tickwire), series("theirs", Family::Peer)],
            groups: vec![("feed".to_owned(), vec![(0, 20.0), (1, 400.0)])],
        };
        let svg = bars.svg().expect("a picture");
        let (style, drawn) = svg.split_once("</style>").expect("a style");
        let mut colours = 0;
        for attribute in ["fill=\"#", "stroke=\"#"] {
            for (at, _) in drawn.match_indices(attribute) {
                let rule = format!("[{}]", &drawn[at..at + attribute.len() + 7]);
                assert!(style.contains(&rule), "{rule}");
                colours += 1;
            }
        }
        assert!(colours > 10, "{colours}");
    }

    #[test]
    fn no_bars_are_a_picture_too() {
        let bars = Bars {
            title: String::new(),
            axis: String::new(),
            series: Vec::new(),
            groups: Vec::new(),
        };
        assert!(bars.svg().expect("a picture").starts_with("<svg"));
    }
}
