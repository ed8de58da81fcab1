//! All shipped models at once: their readings for `fencepost readings`, and their bytes for the cache.

use crate::model::load::{LoadedModel, Models};
use crate::model::purpose::Purpose;
use crate::model::readings::{Point, table};

/// Points of one model.
#[derive(Clone, Debug)]
pub struct OfModel {
    pub model: String,
    pub points: Vec<Point>,
}

/// The points of a model: those of PTX that it has, and its own.
pub fn readings_of(model: &LoadedModel) -> Vec<OfModel> {
    let (ptx, own): (Vec<Point>, Vec<Point>) = model.points.iter().cloned().partition(|point| point.id.is_some());
    let groups = [ptx, own].into_iter().filter(|points| !points.is_empty());
    groups.map(|points| OfModel { model: model.name.clone(), points }).collect()
}

/// Every point of every shipped model that has some; the whole model of PTX comes first, with all of [`table`].
pub fn readings() -> Vec<OfModel> {
    let whole = Models::default_for(Purpose::PtxSinceClusters);
    let mut all = vec![OfModel { model: whole.to_owned(), points: table() }];
    for name in Models::names().into_iter().filter(|name| *name != whole) {
        let Some(model) = Models::shipped(name) else { continue };
        let mut points = model.points.clone();
        points.retain(|point| point.id.is_none());
        if !points.is_empty() {
            all.push(OfModel { model: name.to_owned(), points });
        }
    }
    all
}

/// Points as JSON, one array.
pub fn readings_json(models: Vec<OfModel>) -> String {
    #[derive(serde::Serialize)]
    struct Row {
        model: String,
        #[serde(flatten)]
        point: Point,
    }
    let rows = models.into_iter().flat_map(|of| {
        let row = move |point| Row { model: of.model.clone(), point };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reading_of_a_shipped_model_has_a_question_and_a_source() {
        let mut count = 0;
        for OfModel { model, points } in readings() {
            for point in points {
                assert!(point.question.ends_with('?') && !point.sections.is_empty(), "{model}: {}", point.name);
                count += 1;
            }
        }
        assert!(count > 30, "{count}");
    }
}
