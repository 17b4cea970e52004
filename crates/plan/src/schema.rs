//! JSON Schemas of what people write.

use crate::document::PlanDocument;

/// Document with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A test plan.
    Plan,
    /// A storage array.
    Array,
}

/// The JSON Schema (draft 2020-12) by which an editor checks and completes a file.
pub fn schema(kind: Kind) -> serde_json::Value {
    match kind {
        Kind::Plan => schemars::schema_for!(PlanDocument).to_value(),
        Kind::Array => schemars::schema_for!(twin::ArrayDescription).to_value(),
    }
}
