//! Plots of decoding rates by decoder and by number of threads (the study's figure 5).

use super::report::Row;
use super::trace::Trace;
use plotters::coord::Shift;
use plotters::prelude::*;

const WIDTH: u32 = 1100;
const HEIGHT: u32 = 460;
const FONT: &str = "sans-serif";

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws the rates as SVG.
///
/// # Errors
/// The drawing library's error, as text.
pub fn svg(rows: &[Row], trace: &Trace) -> Result<String, String> {
    let mut svg = String::new();
    draw(&mut svg, rows, trace).map_err(|error| error.to_string())?;
    Ok(svg)
}

fn draw(svg: &mut String, rows: &[Row], trace: &Trace) -> Drawn {
    let area = SVGBackend::with_string(svg, (WIDTH, HEIGHT)).into_drawing_area();
    area.fill(&WHITE).map_err(|error| error.to_string())?;
    let (left, right) = area.split_horizontally(WIDTH / 2);
    let decoders: Vec<&Row> =
        rows.iter().filter(|row| row.threads == 1 && row.is_decoder()).collect();
    by_decoder(&left, &decoders, trace)?;
    by_threads(&right, rows, &decoders, trace)?;
    area.present().map_err(|error| error.to_string())?;
    Ok(())
}

/// One bar per decoder.
fn by_decoder(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    decoders: &[&Row],
    trace: &Trace,
) -> Drawn {
    let count = decoders.len().max(1);
    let most = most(decoders.iter().copied(), trace);
    let mut chart = ChartBuilder::on(area)
        .caption("One thread", (FONT, 17))
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(54)
        .build_cartesian_2d(0.0..count as f64, 0.0..most)
        .map_err(|error| error.to_string())?;
    let name = |x: &f64| {
        let row = decoders.get(x.floor().max(0.0) as usize);
        row.filter(|_| x.fract() > 0.4).map_or_else(String::new, |row| row.name.clone())
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .y_desc("million messages/s")
        .x_labels(2 * count + 1)
        .x_label_formatter(&name)
        .x_label_style((FONT, 10))
        .draw()
        .map_err(|error| error.to_string())?;
    for (index, row) in decoders.iter().enumerate() {
        let (x, rate) = (index as f64, row.rate(trace) / 1e6);
        let bar = Rectangle::new([(x + 0.2, 0.0), (x + 0.8, rate)], colour(index).filled());
        let label = Text::new(format!("{rate:.1}"), (x + 0.38, rate + most * 0.03), (FONT, 12));
        chart.draw_series([bar]).map_err(|error| error.to_string())?;
        chart.draw_series([label]).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// One line per decoder.
fn by_threads(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    rows: &[Row],
    decoders: &[&Row],
    trace: &Trace,
) -> Drawn {
    let threads_max = rows.iter().map(|row| row.threads).max().unwrap_or(1);
    let most = most(rows.iter().filter(|row| row.is_decoder()), trace);
    let mut chart = ChartBuilder::on(area)
        .caption("By threads", (FONT, 17))
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(54)
        .build_cartesian_2d(0.8..threads_max as f64 + 0.2, 0.0..most)
        .map_err(|error| error.to_string())?;
    let name = |x: &f64| if x.fract() == 0.0 { format!("{x:.0}") } else { String::new() };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_desc("threads")
        .y_desc("million messages/s")
        .x_labels(threads_max.min(16) + 1)
        .x_label_formatter(&name)
        .draw()
        .map_err(|error| error.to_string())?;
    for (index, decoder) in decoders.iter().enumerate() {
        let same = rows.iter().filter(|row| row.name == decoder.name);
        let points: Vec<(f64, f64)> =
            same.map(|row| (row.threads as f64, row.rate(trace) / 1e6)).collect();
        let style = colour(index).stroke_width(2);
        chart
            .draw_series(LineSeries::new(points, style).point_size(4))
            .map_err(|error| error.to_string())?
            .label(decoder.name.clone())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font((FONT, 12))
        .border_style(RGBColor(200, 200, 200))
        .background_style(WHITE.mix(0.8))
        .draw()
        .map_err(|error| error.to_string())?;
    Ok(())
}

/// The upper end of a rate axis.
fn most<'r>(rows: impl Iterator<Item = &'r Row>, trace: &Trace) -> f64 {
    rows.map(|row| row.rate(trace) / 1e6).fold(1.0, f64::max) * 1.15
}

fn colour(index: usize) -> RGBColor {
    let (red, green, blue) = Palette99::pick(index).rgb();
    RGBColor(red, green, blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decoder_is_in_the_picture() {
        let row = |name: &str, threads, ns| Row { name: name.to_owned(), threads, ns, passes: 1 };
        let rows = [row("reference", 1, 2e6), row("bottom-up", 1, 1e6), row("bottom-up", 2, 5e5)];
        let trace = Trace {
            name: String::new(),
            packets: Vec::new(),
            messages: 10_000,
            bytes: 1,
            digest: 0,
        };
        let svg = svg(&rows, &trace).expect("a picture");
        for text in ["<svg", "reference", "bottom-up", "5.0", "10.0", "threads"] {
            assert!(svg.contains(text), "{text}");
        }
    }
}
