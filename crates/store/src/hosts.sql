-- Hosts of a case that several hosts have loaded, in the order of the run, with the counted time of each.
CREATE TABLE IF NOT EXISTS case_hosts (
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    position INTEGER NOT NULL,
    host TEXT NOT NULL,
    duration_ns INTEGER NOT NULL,
    PRIMARY KEY (attempt_id, position)
) STRICT, WITHOUT ROWID;

-- Totals of each host's part of a load.
CREATE TABLE IF NOT EXISTS host_totals (
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    host TEXT NOT NULL,
    load_id INTEGER NOT NULL REFERENCES loads (id),
    direction TEXT NOT NULL CHECK (direction IN ('read', 'write', 'trim')),
    ios INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    latency_id INTEGER NOT NULL REFERENCES histograms (id),
    service_id INTEGER REFERENCES histograms (id),
    PRIMARY KEY (attempt_id, host, load_id, direction)
) STRICT, WITHOUT ROWID;

-- Intervals of each host's part of a load, on the same grid as those of all hosts. A direction without I/Os has no row.
CREATE TABLE IF NOT EXISTS host_samples (
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    host TEXT NOT NULL,
    load_id INTEGER NOT NULL REFERENCES loads (id),
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL CHECK (end_ns >= start_ns),
    is_ramp INTEGER NOT NULL CHECK (is_ramp IN (0, 1)),
    direction TEXT NOT NULL CHECK (direction IN ('read', 'write', 'trim')),
    ios INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    latency_id INTEGER NOT NULL REFERENCES histograms (id),
    service_id INTEGER REFERENCES histograms (id),
    PRIMARY KEY (attempt_id, host, load_id, start_ns, direction)
) STRICT, WITHOUT ROWID;
