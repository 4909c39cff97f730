//! The whole state as JSON, for people who look into a session. Its form may change at any time.

use lilt_model::secret::Redactor;
use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::record::redact;
use crate::state::State;

/// Without the secrets that the Tiltfile named.
pub fn dump(state: &State) -> Value {
    match serde_json::to_value(state) {
        Ok(mut value) => {
            redact(&mut value, &Redactor::new(&state.secrets));
            value
        }
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// A map whose keys are no texts, as a list of pairs.
pub(crate) fn pairs<'a, K: Serialize + 'a, V: Serialize + 'a, S: Serializer>(
    map: &'a std::collections::BTreeMap<K, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(map.len()))?;
    for pair in map {
        list.serialize_element(&pair)?;
    }
    list.end()
}
