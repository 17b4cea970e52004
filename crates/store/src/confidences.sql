-- Half the width of the 95 % confidence interval of the rate of an interval of which a part was skipped, as a share.
CREATE TABLE IF NOT EXISTS interval_confidences (
    interval_id INTEGER PRIMARY KEY REFERENCES intervals (id),
    rate_confidence_95 REAL NOT NULL
) STRICT;

-- The same for mean latency and 99th percentile of a case.
CREATE TABLE IF NOT EXISTS latency_confidences (
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    direction TEXT NOT NULL CHECK (direction IN ('read', 'write')),
    mean_confidence_95 REAL NOT NULL,
    p99_confidence_95 REAL NOT NULL,
    PRIMARY KEY (attempt_id, direction)
) STRICT, WITHOUT ROWID;
