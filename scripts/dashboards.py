#!/usr/bin/env python3
"""Builds dashboards/*.json with Grafana's own builder library, which knows the schema of what Grafana imports.

    python3 -m venv /tmp/grafana && /tmp/grafana/bin/pip install 'grafana-foundation-sdk==1769699998!10.1.0'
    /tmp/grafana/bin/python scripts/dashboards.py

The files are kept, so that whoever imports them needs neither; a test evaluates every query of them in Prometheus.
"""

import json
from pathlib import Path

from grafana_foundation_sdk.builders import bargauge, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableHide

SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
RATE = "$__rate_interval"


def per_second(name, by, selector=""):
    return f"sum by ({by}) (rate(arraylab_{name}_total{selector}[{RATE}]))"


def query(expression, legend):
    return prometheus.Dataquery().expr(expression).legend_format(legend)


def panel(builder, title, unit, *queries, height=8, span=12):
    built = builder.title(title).unit(unit).datasource(SOURCE).height(height).span(span)
    for number, one in enumerate(queries):
        built = built.with_target(one.ref_id(chr(ord("A") + number)))
    return built


def lines(title, unit, *queries, **place):
    return panel(timeseries.Panel().min(0), title, unit, *queries, **place)


def bars(title, unit, *queries, **place):
    return panel(bargauge.Panel().min(0), title, unit, *queries, **place)


def number(title, unit, *queries, **place):
    return panel(stat.Panel(), title, unit, *queries, **place)


def board(title, uid, about, *panels, variables=()):
    source = dashboard.DatasourceVariable("source").label("Prometheus").type("prometheus")
    built = (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(about)
        .tags(["arraylab"])
        .refresh("5s")
        .time("now-15m", "now")
        .timezone("browser")
        .with_variable(source)
    )
    for variable in variables:
        built = built.with_variable(variable)
    for one in panels:
        built = built.with_panel(one)
    return built


def latency(selector, by):
    ios = per_second("volume_ios", by, selector)
    return f"{per_second('volume_latency_seconds', by, selector)} / ({ios} > 0)"


def home():
    return board(
        "arraylab: home",
        "arraylab-home",
        "A served array at a glance: a bar for each service and node, volumes, and how late replies leave.",
        bars("Services: busy", "percentunit", query(per_second("service_busy_seconds", "node, service"), "{{node}} {{service}}")),
        bars("Services: requests", "reqps", query(per_second("service_requests", "node, service"), "{{node}} {{service}}")),
        bars("Services: memory asked of their slice", "bytes", query("sum by (node, service) (arraylab_service_memory_bytes)", "{{node}} {{service}}")),
        bars("Services: processors asked of their slice", "short", query("sum by (node, service) (arraylab_service_processors)", "{{node}} {{service}}")),
        bars("Nodes: processors busy", "short", query(per_second("node_processors_busy_seconds", "node"), "{{node}}")),
        bars(
            "Nodes: network",
            "Bps",
            query(per_second("node_sent_bytes", "node"), "{{node}} sends"),
            query(per_second("node_received_bytes", "node"), "{{node}} receives"),
        ),
        lines("Volumes: I/Os a second", "iops", query(per_second("volume_ios", "volume, direction"), "{{volume}} {{direction}}")),
        lines("Volumes: mean latency", "s", query(latency("", "volume, direction"), "{{volume}} {{direction}}")),
        number("Connections", "short", query("arraylab_array_connections", ""), height=4, span=6),
        number("Drives that do not hold all data", "short", query("count(arraylab_array_drive_present == 0) or vector(0)", ""), height=4, span=6),
        number("Replies late, median and p99", "s", query('arraylab_lateness_seconds{q=~"0.5|0.99"}', "{{q}}"), height=4, span=12),
    )


def drives():
    return board(
        "arraylab: drive back end",
        "arraylab-drives",
        "What each drive of the model is given and what it makes of it.",
        lines("Reads", "iops", query(per_second("drive_reads", "drive"), "{{drive}}")),
        lines("Writes", "iops", query(per_second("drive_writes", "drive"), "{{drive}}")),
        lines("Bytes read", "Bps", query(per_second("drive_read_bytes", "drive"), "{{drive}}")),
        lines("Bytes written", "Bps", query(per_second("drive_written_bytes", "drive"), "{{drive}}")),
        lines("Hard disks: share of time seeking", "percentunit", query(per_second("drive_seek_seconds", "drive"), "{{drive}}")),
        lines("Hard disks: share of time transferring", "percentunit", query(per_second("drive_transfer_seconds", "drive"), "{{drive}}")),
        lines("Queue", "short", query("arraylab_drive_queue", "{{drive}}")),
        lines("Flash: erases", "ops", query(per_second("drive_erases", "drive"), "{{drive}}")),
        bars("Present", "short", query("arraylab_array_drive_present", "{{drive}}"), span=24),
    )


def volume():
    of = '{volume="$volume"}'
    chosen = (
        dashboard.QueryVariable("volume")
        .label("Volume")
        .datasource(SOURCE)
        .query("label_values(arraylab_volume_size_bytes, volume)")
        .hide(VariableHide.DONT_HIDE)
    )
    return board(
        "arraylab: volume with its limit",
        "arraylab-volume",
        "One volume: what it does, what it may do, and what its limit holds back.",
        lines(
            "I/Os a second and limit",
            "iops",
            query(f"sum(rate(arraylab_volume_ios_total{of}[{RATE}]))", "I/Os"),
            query(f"arraylab_volume_limit_iops{of}", "limit"),
        ),
        lines(
            "Bytes a second and limit",
            "Bps",
            query(f"sum(rate(arraylab_volume_bytes_total{of}[{RATE}]))", "bytes"),
            query(f"arraylab_volume_limit_bytes_per_second{of}", "limit"),
        ),
        lines("Mean latency", "s", query(latency(of, "direction"), "{{direction}}")),
        lines(
            "Waiting",
            "short",
            query(f"arraylab_volume_queue{of}", "under way"),
            query(f"arraylab_volume_held_back{of}", "held back by the limit"),
        ),
        number("Size", "bytes", query(f"arraylab_volume_size_bytes{of}", ""), height=4, span=24),
        variables=[chosen],
    )


def main():
    directory = Path(__file__).resolve().parent.parent / "dashboards"
    for name, made in [("home", home()), ("drives", drives()), ("volume", volume())]:
        text = json.dumps(json.loads(JSONEncoder(sort_keys=True, indent=2).encode(made.build())), indent=2, sort_keys=True)
        (directory / f"{name}.json").write_text(text + "\n")


main()
