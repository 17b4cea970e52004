-- The schema of run.sqlite, version 1. Documented in docs/run-directory.md.
-- Times end in _ns. at_ns is the run's clock (since the run was created); start_ns, end_ns and case_at_ns count
-- from the start of the case's load; utc_ns counts from 1970.

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL,
    arraylab_version TEXT NOT NULL,
    started_utc_ns INTEGER NOT NULL,
    clock_start_ns INTEGER NOT NULL,
    monotonic_start_ns INTEGER NOT NULL,
    boot_id TEXT NOT NULL
) STRICT;

CREATE TABLE session_ends (
    session_id INTEGER PRIMARY KEY REFERENCES sessions (id),
    at_ns INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('done', 'failed', 'interrupted')),
    message TEXT
) STRICT;

CREATE TABLE cases (
    id INTEGER PRIMARY KEY,
    plan TEXT NOT NULL,
    stage TEXT NOT NULL,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    estimated_duration_ns INTEGER NOT NULL,
    estimated_write_bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    case_id INTEGER NOT NULL REFERENCES cases (id),
    attempt INTEGER NOT NULL CHECK (attempt > 0),
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    started_at_ns INTEGER NOT NULL,
    started_utc_ns INTEGER NOT NULL,
    UNIQUE (case_id, attempt)
) STRICT;

CREATE TABLE outcomes (
    attempt_id INTEGER PRIMARY KEY REFERENCES attempts (id),
    case_id INTEGER NOT NULL REFERENCES cases (id),
    status TEXT NOT NULL CHECK (status IN ('done', 'failed', 'refused', 'not-settable')),
    engine TEXT NOT NULL,
    target TEXT NOT NULL,
    duration_ns INTEGER NOT NULL,
    error TEXT,
    finished_at_ns INTEGER NOT NULL,
    simulated_ns INTEGER,
    carried_ns INTEGER,
    confidence_95 REAL
) STRICT;
CREATE INDEX outcomes_of_case ON outcomes (case_id);
CREATE UNIQUE INDEX a_case_is_done_once ON outcomes (case_id) WHERE status = 'done';

CREATE TABLE loads (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE histograms (
    id INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    mean_ns REAL NOT NULL,
    min_ns INTEGER,
    p50_ns INTEGER,
    p95_ns INTEGER,
    p99_ns INTEGER,
    p999_ns INTEGER,
    max_ns INTEGER,
    encoded BLOB NOT NULL
) STRICT;

CREATE TABLE case_loads (
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    position INTEGER NOT NULL,
    load_id INTEGER NOT NULL REFERENCES loads (id),
    target TEXT,
    duration_ns INTEGER,
    cpu_ns INTEGER,
    PRIMARY KEY (attempt_id, position),
    UNIQUE (attempt_id, load_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE totals (
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    load_id INTEGER NOT NULL REFERENCES loads (id),
    direction TEXT NOT NULL CHECK (direction IN ('read', 'write', 'trim')),
    ios INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    latency_id INTEGER NOT NULL REFERENCES histograms (id),
    service_id INTEGER REFERENCES histograms (id),
    PRIMARY KEY (attempt_id, load_id, direction)
) STRICT, WITHOUT ROWID;

CREATE TABLE intervals (
    id INTEGER PRIMARY KEY,
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    load_id INTEGER NOT NULL REFERENCES loads (id),
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL CHECK (end_ns >= start_ns),
    is_ramp INTEGER NOT NULL CHECK (is_ramp IN (0, 1)),
    is_extrapolated INTEGER NOT NULL CHECK (is_extrapolated IN (0, 1))
) STRICT;
CREATE INDEX intervals_of_attempt ON intervals (attempt_id, load_id, start_ns);

CREATE TABLE samples (
    interval_id INTEGER NOT NULL REFERENCES intervals (id),
    direction TEXT NOT NULL CHECK (direction IN ('read', 'write', 'trim')),
    ios INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    latency_id INTEGER NOT NULL REFERENCES histograms (id),
    service_id INTEGER REFERENCES histograms (id),
    PRIMARY KEY (interval_id, direction)
) STRICT, WITHOUT ROWID;

CREATE TABLE counter_series (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    entity TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (source, entity, name)
) STRICT;

CREATE TABLE counter_times (
    id INTEGER PRIMARY KEY,
    attempt_id INTEGER REFERENCES attempts (id),
    at_ns INTEGER NOT NULL,
    case_at_ns INTEGER
) STRICT;
CREATE INDEX counter_times_of_attempt ON counter_times (attempt_id);

CREATE TABLE counters (
    time_id INTEGER NOT NULL REFERENCES counter_times (id),
    series_id INTEGER NOT NULL REFERENCES counter_series (id),
    value REAL NOT NULL,
    PRIMARY KEY (time_id, series_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    at_ns INTEGER NOT NULL,
    attempt_id INTEGER REFERENCES attempts (id),
    case_at_ns INTEGER,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    data TEXT
) STRICT;

CREATE TABLE warnings (
    id INTEGER PRIMARY KEY,
    at_ns INTEGER NOT NULL,
    attempt_id INTEGER REFERENCES attempts (id),
    text TEXT NOT NULL
) STRICT;
CREATE INDEX warnings_of_attempt ON warnings (attempt_id);

CREATE TABLE settings_changed (
    id INTEGER PRIMARY KEY,
    at_ns INTEGER NOT NULL,
    attempt_id INTEGER REFERENCES attempts (id),
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    before_value TEXT,
    after_value TEXT
) STRICT;

-- The attempt of each case that counts: the last one that came to an outcome.
CREATE VIEW result_attempts AS
    SELECT case_id, max(attempt_id) AS attempt_id FROM outcomes GROUP BY case_id;

-- Every sample of the attempts that count, with its latencies.
CREATE VIEW sample_values AS
    SELECT result_attempts.case_id, loads.name AS load, intervals.start_ns, intervals.end_ns, intervals.is_ramp, intervals.is_extrapolated,
           samples.direction, samples.ios, samples.bytes, samples.errors,
           histograms.mean_ns, histograms.p50_ns, histograms.p95_ns, histograms.p99_ns, histograms.p999_ns,
           histograms.min_ns, histograms.max_ns, histograms.encoded AS histogram
    FROM result_attempts
    JOIN intervals ON intervals.attempt_id = result_attempts.attempt_id
    JOIN loads ON loads.id = intervals.load_id
    JOIN samples ON samples.interval_id = intervals.id
    JOIN histograms ON histograms.id = samples.latency_id;

-- Every counter of the attempts that count.
CREATE VIEW counter_values AS
    SELECT result_attempts.case_id, counter_times.at_ns, counter_times.case_at_ns,
           counter_series.source, counter_series.entity, counter_series.name, counters.value
    FROM result_attempts
    JOIN counter_times ON counter_times.attempt_id = result_attempts.attempt_id
    JOIN counters ON counters.time_id = counter_times.id
    JOIN counter_series ON counter_series.id = counters.series_id;
