"""Gives every case of a run the samples of one case of another run, and its sustained level: a run of 1,000 cases
and 10 million sample rows in a minute, to time readers with (docs/benchmarks.md).

usage: multiply-samples.py RUN RUN-WITH-ONE-CASE
"""

import sqlite3
import sys

run, template = sys.argv[1:]
db = sqlite3.connect(f"{run}/run.sqlite")
db.execute("PRAGMA synchronous = OFF")
db.execute("ATTACH ? AS one", (f"{template}/run.sqlite",))
(histograms,) = db.execute("SELECT max(id) FROM main.histograms").fetchone()
attempts = [row[0] for row in db.execute("SELECT attempt_id FROM main.result_attempts ORDER BY attempt_id")]
db.execute("DELETE FROM main.interval_confidences")
db.execute("DELETE FROM main.samples")
db.execute("DELETE FROM main.intervals")
columns = "count, mean_ns, min_ns, p50_ns, p95_ns, p99_ns, p999_ns, max_ns, encoded"
db.execute(f"INSERT INTO main.histograms (id, {columns}) SELECT id + {histograms}, {columns} FROM one.histograms")
(load,) = db.execute("SELECT min(load_id) FROM main.case_loads").fetchone()
(first, last) = db.execute("SELECT min(id), max(id) FROM one.intervals").fetchone()
for number, attempt in enumerate(attempts):
    offset = number * (last - first + 1) - first + 1
    db.execute(
        "INSERT INTO main.intervals (id, attempt_id, load_id, start_ns, end_ns, is_ramp, is_extrapolated)"
        " SELECT id + ?, ?, ?, start_ns, end_ns, is_ramp, is_extrapolated FROM one.intervals ORDER BY id",
        (offset, attempt, load),
    )
    db.execute(
        "INSERT INTO main.samples (interval_id, direction, ios, bytes, errors, latency_id)"
        " SELECT interval_id + ?, direction, ios, bytes, errors, latency_id + ? FROM one.samples"
        " ORDER BY interval_id, direction",
        (offset, histograms),
    )
db.execute(
    "UPDATE main.sustained_levels SET (iops, bw_bytes_per_s) ="
    " (SELECT iops, bw_bytes_per_s FROM one.sustained_levels)"
)
db.commit()
print(*db.execute("SELECT count(*) || ' sample rows' FROM main.samples").fetchone())
