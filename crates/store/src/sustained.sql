-- Sustained level of a case that is done, kept at its end: readers need no samples for it.
CREATE TABLE IF NOT EXISTS sustained_levels (
    attempt_id INTEGER PRIMARY KEY REFERENCES attempts (id),
    method INTEGER NOT NULL,
    iops REAL,
    bw_bytes_per_s REAL,
    CHECK ((iops IS NULL) = (bw_bytes_per_s IS NULL))
) STRICT;

-- The events of one case are read at its end, for its sustained level.
CREATE INDEX IF NOT EXISTS events_of_attempt ON events (attempt_id);
