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

/// Bars in groups.
pub struct Bars {
    /// Heading.
    pub title: String,
    /// Title of the axis, with the unit.
    pub axis: String,
    /// Groups from top to bottom: a name, and bars with the name of their series and their length,
    /// which is above 0.
    pub groups: Vec<(String, Vec<(String, f64)>)>,
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
        Ok(svg)
    }

    fn height(&self) -> i32 {
        let of_group = |(_, bars): &(String, Vec<_>)| bars.len() as i32 * BAR + GAP;
        TOP + BOTTOM + self.groups.iter().map(of_group).sum::<i32>()
    }

    /// The series in the order of their first bars, which is also the order of the colours.
    fn series(&self) -> Vec<&str> {
        let mut series: Vec<&str> = Vec::new();
        for (name, _) in self.groups.iter().flat_map(|(_, bars)| bars) {
            if !series.contains(&name.as_str()) {
                series.push(name);
            }
        }
        series
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error + '_>> {
        let height = self.height();
        let area = SVGBackend::with_string(svg, (WIDTH as u32, height as u32)).into_drawing_area();
        area.fill(&WHITE)?;
        let text = |size: i32, horizontal, vertical| {
            (FONT, size).into_font().color(&BLACK).pos(Pos::new(horizontal, vertical))
        };
        area.draw(&Text::new(self.title.clone(), (12, 8), text(17, HPos::Left, VPos::Top)))?;
        let scale = Scale::of(self);
        for tick in scale.ticks() {
            let x = scale.x(tick);
            let line = vec![(x, TOP - 6), (x, height - BOTTOM)];
            area.draw(&PathElement::new(line, RGBColor(216, 216, 216)))?;
            let label = text(12, HPos::Center, VPos::Top);
            area.draw(&Text::new(tick.to_string(), (x, height - BOTTOM + 4), label))?;
        }
        let axis = text(12, HPos::Right, VPos::Top);
        area.draw(&Text::new(self.axis.clone(), (WIDTH - 12, height - 18), axis))?;

        let series = self.series();
        let colour = |name: &str| {
            let index = series.iter().position(|known| *known == name).unwrap_or(0);
            Palette99::pick(index).to_rgba()
        };
        let width_of = |name: &str| 32 + 7 * name.len() as i32;
        let width: i32 = series.iter().map(|name| width_of(name)).sum();
        let mut x = LEFT.min(WIDTH - width).max(12);
        for name in &series {
            let corner = [(x, TOP - 28), (x + 11, TOP - 17)];
            area.draw(&Rectangle::new(corner, colour(name).filled()))?;
            let label = text(12, HPos::Left, VPos::Top);
            area.draw(&Text::new((*name).to_owned(), (x + 15, TOP - 29), label))?;
            x += width_of(name);
        }
        let mut y = TOP;
        for (name, bars) in &self.groups {
            let middle = y + bars.len() as i32 * BAR / 2;
            let label = text(13, HPos::Right, VPos::Center);
            area.draw(&Text::new(name.clone(), (LEFT - 8, middle), label))?;
            for (series, length) in bars {
                let end = scale.x(*length);
                let corners = [(LEFT, y), (end, y + BAR - 2)];
                area.draw(&Rectangle::new(corners, colour(series).filled()))?;
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

    #[test]
    fn the_names_of_many_series_are_all_within_the_picture() {
        let names = ["generated", "dynamic-compiled", "dynamic-wide", "dynamic-scalar", "visitor"];
        let names = names.into_iter().chain(["projection", "openfast", "fastlib"]);
        let bars = names.map(|name| (name.to_owned(), 10.0)).collect();
        let plot = Bars {
            title: String::new(),
            axis: String::new(),
            groups: vec![("feed".to_owned(), bars)],
        };
        let svg = plot.svg().expect("draws");
        let last = &svg[..svg.find("fastlib").expect("named")];
        let (_, start) = last.rsplit_once("<text x=\"").expect("has a place");
        let (x, _) = start.split_once('"').expect("a number");
        let end = x.parse::<i32>().expect("a number") + 7 * "fastlib".len() as i32;
        assert!(end <= WIDTH, "ends at {end}");
    }

    #[test]
    fn longer_times_have_longer_bars_and_every_name_is_there() {
        let bars = vec![("ours".to_owned(), 20.0), ("theirs".to_owned(), 400.0)];
        let groups = vec![("feed".to_owned(), bars)];
        let bars = Bars { title: "Decoding".to_owned(), axis: "ns".to_owned(), groups };
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
    fn no_bars_are_a_picture_too() {
        let bars = Bars { title: String::new(), axis: String::new(), groups: Vec::new() };
        assert!(bars.svg().expect("a picture").starts_with("<svg"));
    }
}
