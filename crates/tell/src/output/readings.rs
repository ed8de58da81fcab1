//! The points that models can be read in several ways on, as text.

use std::fmt::Write;

use fencepost_check::LoadedModel;
use fencepost_check::model::readings::Point;
use fencepost_check::model::shipped::OfModel;

/// Each point with its values and its question, by models.
pub fn list(models: &[OfModel]) -> String {
    let mut text = String::new();
    for OfModel { model, points } in models {
        let between = if text.is_empty() { "" } else { "\n" };
        // PTX's points have a section each, those of another model one source.
        let (is_ptx, source) = match points.first() {
            Some(first) if first.id.is_none() => (false, first.sections.as_ref()),
            _ => (true, "points of the PTX ISA; S1 to S15 number them, to cite them by"),
        };
        let source = if source.is_empty() { String::new() } else { format!(": {source}") };
        let _ = writeln!(text, "{between}model {model}{source}");
        for point in points {
            let _ = writeln!(text, "  {}", line(point));
            if !point.question.is_empty() {
                let _ = writeln!(text, "      {}", point.question);
            }
            if is_ptx {
                let _ = writeln!(text, "      {}, PTX ISA {}", point.id.unwrap_or(""), point.sections);
            }
        }
    }
    text
}

/// `async-cta = issuing | any-in-cluster  (default issuing, contested)`.
fn line(point: &Point) -> String {
    let standing = if point.is_contested() { "contested" } else { "settled" };
    format!("{} = {}  (default {}, {standing})", point.name, point.values.join(" | "), point.default)
}

/// The readings of a model as comments, so that what is printed with its text stays a model.
pub fn of_model(model: &LoadedModel) -> String {
    if model.points.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n// The readings of this model (`fencepost readings` says more):\n");
    for point in &model.points {
        let _ = writeln!(text, "//   {}", line(point));
    }
    text
}
