//! Large campaigns: what reading them takes.

use crate::support::{full_or_tenth, json_lines, succeed};

/// Most memory that a command may take for 100,000 cases; a tenth of them may take a fifth of it.
const PEAK_LIMIT_BYTES: u64 = 1_000_000_000;

/// Proves that results, findings and report of a run of 100,000 cases (10,000 in `make test`) stay within their memory.
#[test]
fn memory_is_bounded() {
    let cases = full_or_tenth(100_000);
    let limit_bytes = if cases == 100_000 { PEAK_LIMIT_BYTES } else { PEAK_LIMIT_BYTES / 5 };
    let measured = json_lines(&succeed(&["bench", "campaign", "--json", "--cases", &cases.to_string()]));
    assert_eq!(measured.len(), 3);
    for one in measured {
        let (peak, bytes) = (one["peak_bytes"].as_u64().unwrap(), one["bytes"].as_u64().unwrap());
        assert!(peak <= limit_bytes && bytes > 1_000_000, "{one}");
    }
}
