//! All shipped models at once: their readings for `fencepost readings`, and their bytes for the cache.

use crate::model::load::Models;
use crate::model::purpose::Purpose;
use crate::model::readings::{Point, table};
use crate::model::shipped_readings::words;

/// The points of one shipped model.
#[derive(Clone, Debug)]
pub struct OfModel {
    pub model: &'static str,
    pub points: Vec<Point>,
}

/// Every point of every shipped model that has some; the whole model of PTX comes first, with all of [`table`].
pub fn readings() -> Vec<OfModel> {
    let whole = Models::default_for(Purpose::PtxSinceClusters);
    let mut all = vec![OfModel { model: whole, points: table() }];
    for name in Models::names().into_iter().filter(|name| *name != whole) {
        let Some(model) = Models::shipped(name) else { continue };
        let mut points = model.points.clone();
        points.retain(|point| point.id.is_none());
        for point in &mut points {
            if let Some(words) = words(name, &point.name) {
                words.question.clone_into(&mut point.question);
                point.sections = words.source;
            }
        }
        if !points.is_empty() {
            all.push(OfModel { model: name, points });
        }
    }
    all
}

/// The points of all shipped models as JSON, one array.
pub fn readings_json() -> String {
    #[derive(serde::Serialize)]
    struct Row {
        model: &'static str,
        #[serde(flatten)]
        point: Point,
    }
    let rows = readings().into_iter().flat_map(|of| {
        let row = move |point| Row { model: of.model, point };
        of.points.into_iter().map(row)
    });
    let rows: Vec<Row> = rows.collect();
    let mut text = serde_json::to_string_pretty(&rows).expect("invariant: a point has string keys only");
    text.push('\n');
    text
}

/// The bytes of each shipped model as they should be, by the name of its file in `crates/check/src/model/compiled`. None if a
/// model cannot be written.
pub fn fresh() -> Option<Vec<(String, Vec<u8>)>> {
    let one = |name: &'static str| {
        let model = Models::from_text(name)?;
        Some((format!("{name}.bin"), model.to_keep().bytes(model.tree())?))
    };
    Models::names().into_iter().map(one).collect()
}
