//! Entry of the library: a system, its test, and the published rows.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

/// Published results of one system in one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Name of the file.
    #[serde(default)]
    pub id: String,
    /// The system, as its test names it.
    pub system: String,
    /// The publication.
    pub source: String,
    /// Year or day of the publication; `None` where it is not known.
    pub date: Option<String>,
    /// Drives or flash modules that hold data, parity or spare space.
    #[serde(default)]
    pub drives: Option<u64>,
    /// Ports to hosts.
    #[serde(default)]
    pub host_ports: Option<u64>,
    /// Conditions of all rows, in words.
    pub conditions: Vec<String>,
    /// Remarks of the publication that are no rows.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Facts that the publication does not state.
    pub missing: Vec<String>,
    /// Figures.
    pub rows: Vec<Row>,
}

/// Kind of a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// One measured point.
    Level,
    /// Largest of all points with these settings.
    Maximum,
    /// Lowest latency of all points with these settings.
    LowestLatency,
    /// Rate after the write cliff.
    Sustained,
    /// Figure that the vendor declares, and that nobody measured here.
    Declared,
}

/// Value of a setting as a publication states it.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// One value.
    One(u64),
    /// The same figure at each of several values.
    AnyOf(Vec<u64>),
    /// A range or a word that names no value: `16-64K`, `large`.
    Words(String),
}

impl Choice {
    /// Returns true if the figure was measured at this value.
    pub fn has(&self, value: u64) -> bool {
        match self {
            Choice::One(one) => *one == value,
            Choice::AnyOf(all) => all.contains(&value),
            Choice::Words(_) => false,
        }
    }

    /// The value where there is just one.
    pub fn one(&self) -> Option<u64> {
        match self {
            Choice::One(one) => Some(*one),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Choice, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            One(u64),
            AnyOf(Vec<u64>),
            Words(String),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::One(one) => Choice::One(one),
            Written::AnyOf(all) => Choice::AnyOf(all),
            Written::Words(words) => Choice::Words(words),
        })
    }
}

/// A published figure with its conditions. Sizes in bytes, shares in percent, rates a second, latencies in nanoseconds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Kind of the figure.
    pub figure: FigureKind,
    /// `randread`, `randwrite`, `randrw` or one of the sequential patterns.
    pub rw: String,
    /// Block size.
    #[serde(default)]
    pub bs: Option<Choice>,
    /// Share of reads.
    pub rwmixread: u64,
    /// fio's I/O engine.
    #[serde(default)]
    pub ioengine: Option<String>,
    /// Queue depth of each job.
    #[serde(default)]
    pub iodepth: Option<Choice>,
    /// Number of jobs.
    #[serde(default)]
    pub numjobs: Option<u64>,
    /// Servers that issued the load.
    #[serde(default)]
    pub servers: Option<u64>,
    /// Length of the measurement.
    #[serde(default)]
    pub runtime_s: Option<u64>,
    /// RAID level.
    #[serde(default)]
    pub raid: Option<u64>,
    /// Disks of the RAID set.
    #[serde(default)]
    pub disks: Option<u64>,
    /// `on` or `off`.
    #[serde(default)]
    pub write_cache: Option<String>,
    /// Kind of volume, where the system has several.
    #[serde(default)]
    pub volume: Option<String>,
    /// Kind of host, where the system has several.
    #[serde(default)]
    pub host: Option<String>,
    /// I/Os a second.
    #[serde(default)]
    pub iops: Option<f64>,
    /// Mean latency; of a mix over all I/Os.
    #[serde(default)]
    pub latency_ns: Option<f64>,
    /// Mean latency of the reads of a mix.
    #[serde(default)]
    pub read_latency_ns: Option<f64>,
    /// Mean latency of the writes of a mix.
    #[serde(default)]
    pub write_latency_ns: Option<f64>,
    /// Bytes a second.
    #[serde(default)]
    pub bw_bytes_per_s: Option<f64>,
    /// Remark of the publication.
    #[serde(default)]
    pub says: Option<String>,
    /// File and line of `published/`.
    pub from: String,
    /// Address of the public page that the figure is from.
    #[serde(default)]
    pub address: Option<String>,
    /// Words of that page that have the figure.
    #[serde(default)]
    pub quote: Option<String>,
}

impl Row {
    /// Mean latency over all I/Os: as published, else of both directions by their shares.
    pub fn mean_latency_ns(&self) -> Option<f64> {
        let share = self.rwmixread as f64 / 100.0;
        let of_both = || Some(self.read_latency_ns? * share + self.write_latency_ns? * (1.0 - share));
        self.latency_ns.or_else(of_both)
    }

    /// The row as JSON. A figure or setting that is not published is null; fields beyond those of every row are there
    /// only where they say something.
    pub fn to_json(&self) -> Value {
        let mut fields = Map::new();
        let one = |choice: &Option<Choice>| choice.as_ref().and_then(Choice::one);
        fields.insert("rw".into(), json!(self.rw));
        fields.insert("bs".into(), json!(one(&self.bs)));
        fields.insert("iops".into(), number(self.iops));
        fields.insert("latency_ns".into(), number(self.latency_ns));
        fields.insert("bw_bytes_per_s".into(), number(self.bw_bytes_per_s));
        fields.insert("rwmixread".into(), json!(self.rwmixread));
        fields.insert("ioengine".into(), json!(self.ioengine));
        fields.insert("iodepth".into(), json!(one(&self.iodepth)));
        fields.insert("numjobs".into(), json!(self.numjobs));
        fields.insert("servers".into(), json!(self.servers));
        fields.insert("figure".into(), json!(self.figure));
        for (name, choice) in [("bs", &self.bs), ("iodepth", &self.iodepth)] {
            match choice {
                Some(Choice::AnyOf(all)) => fields.insert(format!("{name}_any_of"), json!(all)),
                Some(Choice::Words(words)) => fields.insert(format!("{name}_published"), json!(words)),
                _ => None,
            };
        }
        let further = [
            ("runtime_s", self.runtime_s.map(Value::from)),
            ("raid", self.raid.map(Value::from)),
            ("disks", self.disks.map(Value::from)),
            ("write_cache", self.write_cache.clone().map(Value::from)),
            ("volume", self.volume.clone().map(Value::from)),
            ("host", self.host.clone().map(Value::from)),
            ("read_latency_ns", self.read_latency_ns.map(|value| number(Some(value)))),
            ("write_latency_ns", self.write_latency_ns.map(|value| number(Some(value)))),
            ("says", self.says.clone().map(Value::from)),
            ("address", self.address.clone().map(Value::from)),
            ("quote", self.quote.clone().map(Value::from)),
        ];
        for (name, value) in further {
            if let Some(value) = value {
                fields.insert(name.into(), value);
            }
        }
        fields.insert("from".into(), json!(format!("published/{}", self.from)));
        Value::Object(fields)
    }
}

/// A whole number without a fraction.
fn number(value: Option<f64>) -> Value {
    match value {
        Some(value) if value.fract() == 0.0 && value.abs() < 9e15 => json!(value as i64),
        other => json!(other),
    }
}

impl Serialize for Row {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}
