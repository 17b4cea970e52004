//! The command line as data: every command, its arguments, its help and an example.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A laboratory for storage arrays: runs a test plan on real block storage or on a simulated array, and reports.
#[derive(Debug, Parser)]
#[command(
    name = "arraylab",
    version,
    about,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Start with:\n  \
        arraylab plans                                                      what can be run\n  \
        arraylab run quick --target file:/tmp/test.img,size=1g --out run    run it on a file\n  \
        arraylab report run                                                 write run/report.html\n\n\
        Results go to stdout, everything else to stderr.\n\
        Exit status:\n  \
        0    done\n  \
        1    a claim, requirement or comparison failed, where that was asked for\n  \
        2    wrong use or input, or refused before anything was written\n  \
        3    the target, the disk or the engine failed after the start; the run is kept\n  \
        130  interrupted; the run is kept"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, in the order in which a newcomer needs them.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the plans that ship
    Plans(ListArgs),
    /// List the arrays that ship; each is a twin
    Arrays(ListArgs),
    /// List the parts that arrays can be made of: hosts, links, controllers, caches, drives
    #[command(after_help = "Example:\n  arraylab parts --kind drives --json")]
    Parts(PartsArgs),
    /// Check an array of parts: its values and where they come from, capacity, ceilings, warnings
    #[command(
        after_help = "Examples:\n  arraylab check all-nvme-raid6\n  arraylab check mine.yaml --json | jq .ceilings"
    )]
    Check(CheckArgs),
    /// Answer what changes of an array give: rate, latency and bottleneck before and after, each with its range
    #[command(
        name = "what-if",
        after_help = "Examples:\n  arraylab what-if composite-flash --load fio:rw=randread,bs=8k,iodepth=32,numjobs=16 --change links.count=4,16\n  \
                      arraylab what-if flashsystem-840 --load flashsystem-840:block-size/bs=8192 --find-bottleneck"
    )]
    WhatIf(WhatIfArgs),
    /// Say which arrays meet a workload's requirements, in which states, with how much headroom and for how long
    #[command(
        after_help = "Examples:\n  arraylab size oltp.yaml --array all-nvme-raid6 --array server-raid-card --require 'p99<2ms' --growth 30%/y:3y\n  \
                      arraylab size fio:rw=randrw,rwmixread=70,bs=8k,rate_iops=2000,numjobs=8,rate_process=poisson --array pool-60-disks \\\n    \
                      --space drives.count=30..60/10 --require 'mean<20ms' --json"
    )]
    Size(SizeArgs),
    /// Show a page on which an array is changed, and what it then does is drawn at once
    #[command(after_help = "Example:\n  arraylab explore flashsystem-840")]
    Explore(ExploreArgs),
    /// Record what this host does with its block devices, by the minute; nothing is written to any of them
    #[command(
        after_help = "Examples:\n  arraylab record --for 7d --out week.rec\n  arraylab record sda sdb --for 24h --out day.rec --names"
    )]
    Record(RecordArgs),
    /// Make a workload of recordings and traces, for `size` and `what-if`
    #[command(
        after_help = "Examples:\n  arraylab workload week.rec --out peak.yaml\n  arraylab workload oltp --out mine.yaml\n  arraylab workload trace.iolog --out traced.yaml"
    )]
    Workload(WorkloadArgs),
    /// Print a shipped plan, array or part as YAML, to read or to start one's own from
    #[command(after_help = "Example:\n  arraylab show plan quick > mine.yaml && arraylab expand mine.yaml")]
    Show(ShowArgs),
    /// Print the JSON Schema of plans, arrays or results
    #[command(after_help = "Example:\n  arraylab schema plan > plan.schema.json")]
    Schema(SchemaArgs),
    /// List the cases of a plan, with the time they take and the bytes they write
    #[command(after_help = "Example:\n  \
        arraylab expand flashsystem-840 --stage block-size --only bs=4k,8k --json")]
    Expand(ExpandArgs),
    /// Carry out a plan on a target
    #[command(after_help = "Examples:\n  \
        arraylab run flashsystem-840 --target twin:flashsystem-840 --set runtime=2\n  \
        arraylab run quick --target file:/tmp/test.img,size=1g --out run\n  \
        arraylab run quick --target /dev/sdx        prints the ID that --overwrite-data needs\n  \
        arraylab run --resume run                   goes on after an interruption")]
    Run(Box<RunArgs>),
    /// Issue load for a run on another machine, which starts this over ssh; messages go over standard input and output
    #[command(
        after_help = "Started by `arraylab run --host NAME=ssh://USER@HOST`; there is nothing to type here."
    )]
    Agent(AgentArgs),
    /// Put the runs of all shards of a plan together: one run, as if one process had carried it out
    #[command(
        after_help = "Example:\n  arraylab run quick --target twin:dorado-2100-g2 --shard 1/2 --out part-1\n  \
        arraylab run quick --target twin:dorado-2100-g2 --shard 2/2 --out part-2\n  \
        arraylab merge part-1 part-2 --out run"
    )]
    Merge(MergeArgs),
    /// Carry out a plan on a twin in shards, here or by HyperQueue, and merge them (needs the Python package)
    #[command(
        disable_help_flag = true,
        after_help = "Example:\n  arraylab sweep raid-levels --target twin:raid-levels --on hyperqueue --shards 50 --out run"
    )]
    Sweep(SweepArgs),
    /// Say how far a run is; works from any shell while it runs
    Status(RunJsonArgs),
    /// Note an event now on a running campaign: a firmware update started, a cable was pulled
    #[command(after_help = "Example:\n  arraylab mark run \"firmware update started\"")]
    Mark(MarkArgs),
    /// Read back what a run with `verify: crc32c` wrote, also after it was killed
    #[command(after_help = "Example:\n  arraylab verify run\n\n\
        Exit status 1 where a block is not what was written; the first are named.")]
    Verify(RunJsonArgs),
    /// Print the results of a run, one line a case
    #[command(after_help = "Example:\n  arraylab results run --json | jq '[.case, .iops]'")]
    Results(ResultsArgs),
    /// Print what was found in the samples of a run: cliffs, knees, limits, dips
    #[command(
        after_help = "Example:\n  arraylab findings run --json | jq 'select(.kind == \"write-cliff\")'"
    )]
    Findings(RunJsonArgs),
    /// Judge the published conclusions on a run: holds, refuted, or not shown
    #[command(
        after_help = "Example:\n  arraylab claims run\n\nExit status 1 where --strict is given and a claim is refuted."
    )]
    Claims(ClaimsArgs),
    /// Write the report of a run
    #[command(after_help = "Examples:\n  \
        arraylab report run --out report.html\n  \
        arraylab report run --format pdf --redact --out report.pdf")]
    Report(ReportArgs),
    /// Pack a run with its report and the hashes of everything into one file that others can check
    #[command(after_help = "Example:\n  arraylab bundle run --out evidence.tar.gz\n\n\
        The same run gives the same bytes. Keep the printed SHA-256 elsewhere: it tells the bundle from another one.")]
    Bundle(BundleArgs),
    /// Check a bundle: its hashes, and every number of its report against the samples in it
    #[command(after_help = "Example:\n  arraylab verify-report evidence.tar.gz\n\n\
        Exit status 1 where anything differs, 2 where the file is no bundle.")]
    VerifyReport(VerifyReportArgs),
    /// List the library of published results, or print one entry
    #[command(after_help = "Examples:\n  \
        arraylab library --where bs=4k --where rw=randread\n  \
        arraylab library show violin-6232\n  \
        arraylab library list --json | jq .id\n\n\
        Different keys narrow, several values of one key widen (bs=4k,8k). A figure that was not published is null in JSON.")]
    Library(LibraryArgs),
    /// Place a run among the published results of the library and the shipped twins, where conditions are comparable
    #[command(after_help = "Examples:\n  \
        arraylab rate run\n  \
        arraylab rate run --json | jq 'select(.comparable)'\n\n\
        Figures are compared at the same block size, mix and access, with outstanding I/Os within a factor of two, not\n\
        cached, and simulated beside measured only with --with-simulated. The others are listed with the reason.")]
    Rate(RateArgs),
    /// Write one page over several runs: a table of what each reached, published figures beside it, and their reports
    #[command(after_help = "Example:\n  arraylab gallery runs/a runs/b --out gallery")]
    Gallery(GalleryArgs),
    /// Say what got better or worse between two runs of the same cases, beyond noise
    #[command(after_help = "Examples:\n  \
        arraylab compare before after\n  \
        arraylab compare before after --regression 5 --junit compare.xml\n\n\
        Exit status 1 where anything got worse by the bound or more.")]
    Compare(CompareArgs),
    /// Turn other tools' files into plans and runs: fio job files and JSON, vdbench parameter files and results
    #[command(after_help = "Examples:\n  \
        arraylab import ssd-test.fio > mine.yaml                 what a plan cannot say is listed on stderr\n  \
        arraylab import output/flatfile.html --out old-run       existing measurements get findings and a report")]
    Import(ImportArgs),
    /// Write a plan or a run as another tool's file: fio job files, vdbench parameter files, fio's JSON, OpenMetrics text
    #[command(after_help = "Examples:\n  \
        arraylab export quick --format fio > quick.fio           what fio cannot say is listed on stderr\n  \
        TARGET=/dev/sdx fio quick.fio\n  \
        arraylab export quick --format vdbench --out parameters\n  \
        arraylab export run --format fio-json --out run.json     for scripts that read fio's results\n  \
        arraylab export run --format openmetrics --out run.om    for Prometheus (`promtool tsdb`)")]
    Export(ExportArgs),
    /// Explain a kind of finding or a data service: what it is, how it is found, and an experiment on a twin that shows it
    #[command(after_help = "Example:\n  arraylab explain write-cliff")]
    Explain(ExplainArgs),
    /// Fit an array's parameters to measured rows, and write the array that comes out
    #[command(after_help = "Examples:\n  \
        arraylab fit raid-levels --to raid-levels/read-512.csv --hold-out 0.3        against the published rows\n  \
        arraylab results run --csv > mine.csv\n  \
        arraylab fit mine.yaml --to mine.csv --parameter seek_min --parameter drives.queue=1..8\n\n\
        The errors on rows fitted to and on rows held out go to stdout, the array to --out.")]
    Fit(FitArgs),
    /// Serve an array over NBD, with real bytes under its real layout
    #[command(after_help = "Examples:\n  \
        arraylab serve raid-levels,capacity=64m --socket /tmp/a.sock --data /tmp/a\n  \
        arraylab serve flashsystem-840,capacity=1g --socket /tmp/a.sock --data /tmp/a --untimed \\\n      \
            --run 'nbdinfo \"$ARRAYLAB_NBD_URI\"'\n\n\
        The address is printed on stdout once the array is ready.")]
    Serve(ServeArgs),
    /// Ask or change a served array: status, set KEY=VALUE, limit VOLUME iops=N, fail N, replace N, power-cut, scrub
    #[command(
        after_help = "Examples:\n  arraylab ctl /tmp/a.sock.ctl status\n  arraylab ctl /tmp/a.sock.ctl fail 3\n  \
        arraylab ctl /tmp/a.sock.ctl limit vol0 iops=1000"
    )]
    Ctl(CtlArgs),
    /// Watch a running campaign or a served array, every second
    #[command(after_help = "Examples:\n  \
        arraylab watch run                      until it has ended\n  \
        arraylab watch /tmp/a.sock.ctl          rates, latencies, limits and busy parts of a served array")]
    Watch(WatchArgs),
    /// Measure this program's own speed
    #[command(after_help = "Examples:\n  arraylab bench sim\n  arraylab bench report --json")]
    Bench(BenchArgs),
}

/// Arguments of `plans` and `arrays`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `parts`.
#[derive(Debug, Args)]
pub struct PartsArgs {
    /// Only parts of this kind: hosts, links, controllers, caches or drives
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// What `show` can print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowKind {
    /// A test plan.
    Plan,
    /// An array description.
    Array,
    /// A part that arrays can be made of.
    Part,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A shipped array's name, or a file
    pub array: String,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `what-if`.
#[derive(Debug, Args)]
pub struct WhatIfArgs {
    /// A shipped array's name, or a file
    pub array: String,
    /// PLAN:STAGE/CASE, fio:rw=…,bs=…, FILE.fio, or a workload file
    #[arg(long, value_name = "SPEC")]
    pub load: String,
    /// Key of the array (as `arraylab check` prints it) or setting of its twin, with other values; repeat for several
    #[arg(long, value_name = "KEY=VALUE[,VALUE]…")]
    pub change: Vec<String>,
    /// Walk the bottlenecks: which part limits, what a quarter more of it gains, which limits then
    #[arg(long)]
    pub find_bottleneck: bool,
    /// Simulations of each answer, with seeds from 1 on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub seeds: u32,
    /// Run directory of all simulations, with the answers as what-if.jsonl and what-if.txt
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// One JSON object a line for each answer
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `size`.
#[derive(Debug, Args)]
pub struct SizeArgs {
    /// A workload file, a named workload (`arraylab workload --list`), or a load that says its rate: PLAN:STAGE/CASE, fio:rw=…,rate_iops=…, FILE.fio
    pub workload: String,
    /// A shipped array's name, or a file; repeat for several
    #[arg(long, value_name = "ARRAY", required = true)]
    pub array: Vec<String>,
    /// Values of a key of the array; several keys make a space of designs
    #[arg(long, value_name = "KEY=FIRST..LAST/STEP|KEY=VALUE,VALUE")]
    pub space: Vec<String>,
    /// Latency that must hold: [read.|write.]mean, p50, p95, p99, p99.9 or p99.99
    #[arg(long, value_name = "MEASURE<LATENCY", required = true)]
    pub require: Vec<String>,
    /// Growth of the workload
    #[arg(long, value_name = "PERCENT%/y:YEARSy")]
    pub growth: Option<String>,
    /// States that are looked at [default: all that the arrays can be in; with --space only healthy]
    #[arg(long, value_name = "STATE", value_parser = ["healthy", "drive-lost", "rebuilding", "controller-lost", "node-lost", "cache-off", "full"])]
    pub state: Vec<String>,
    /// Search all of a space of more than 32 designs, also what cannot be on the Pareto front
    #[arg(long)]
    pub exhaustive: bool,
    /// Simulations of each point, with seeds from 1 on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub seeds: u32,
    /// Run directory of the simulated points, with the answers as size.jsonl and size.txt
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// One JSON object a line for each array, design and state
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `explore`.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    /// The array that the page begins with
    #[arg(default_value = "composite-flash")]
    pub array: String,
    /// Address of the page, on this host alone
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub listen: std::net::SocketAddr,
}

/// Arguments of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Block devices, as sda; all disks without one
    pub device: Vec<String>,
    /// Length of the recording, at most 31 days
    #[arg(long = "for", value_name = "TIME")]
    pub length: String,
    /// The recording, which is not there yet
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Keep the names of devices instead of disk-1, disk-2, …
    #[arg(long)]
    pub names: bool,
}

/// Arguments of `workload`.
#[derive(Debug, Args)]
pub struct WorkloadArgs {
    /// Named workloads (--list); recordings of `arraylab record`; traces: blkparse, fio iolog, MSR Cambridge, SPC; output of iostat -x, sar -d, sadf -j,
    /// esxtop -b, vscsiStats -p all -c, perfmon (CSV) and Prometheus (query_range of node_exporter)
    #[arg(required_unless_present = "list", value_name = "FROM")]
    pub from: Vec<PathBuf>,
    /// Print the named workloads
    #[arg(long, conflicts_with = "from")]
    pub list: bool,
    /// Disk, file or ASU of a trace or output that has several
    #[arg(long, value_name = "NAME")]
    pub unit: Option<String>,
    /// The workload file, which is not there yet [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A plan, an array or a part
    pub kind: ShowKind,
    /// Its name (see `arraylab plans`, `arraylab arrays`, `arraylab parts`)
    pub name: String,
}

/// What `schema` can print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaKind {
    /// Test plans.
    Plan,
    /// Array descriptions.
    Array,
    /// A line of `results --json`.
    Results,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which schema
    pub kind: SchemaKind,
}

/// Which cases of a plan, and what to change in them.
#[derive(Debug, Args)]
pub struct SelectionArgs {
    /// Only this stage; may be given several times
    #[arg(long = "stage", value_name = "STAGE")]
    pub stages: Vec<String>,
    /// Only cases with this setting: different keys narrow, several values of a key widen (bs=4k,8k)
    #[arg(long = "only", value_name = "KEY=VALUE[,VALUE]")]
    pub only: Vec<String>,
    /// Override a setting in every case (runtime=10)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Arguments of `expand`.
#[derive(Debug, Args)]
pub struct ExpandArgs {
    /// A shipped plan's name, or a file
    pub plan: String,
    /// Which cases
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// One JSON object a line for each case; totals go to stderr
    #[arg(long)]
    pub json: bool,
}

/// Load generators for real targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineKind {
    /// Our own, with io_uring; threads take its place where io_uring is absent or forbidden.
    Ring,
    /// fio, as installed.
    Fio,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A shipped plan's name, or a file
    #[arg(required_unless_present = "resume")]
    pub plan: Option<String>,
    /// What to run it on: twin:NAME, a path, file:PATH,size=1g, an nbd address, wwn:WWN, serial:NUMBER, or null:1t; several
    /// where the plan has several loads at once
    #[arg(long = "target", value_name = "TARGET", required_unless_present = "resume")]
    pub targets: Vec<String>,
    /// A vendor's promises: a YAML file with the key `require`, whose limits take the place of the plan's
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub promises: Option<PathBuf>,
    /// Directory of the run [default: runs/PLAN-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Which cases
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// A host that issues the load: NAME=ssh://USER@HOST, or NAME=local; several share it. A --target @NAME=TARGET is that
    /// host's alone
    #[arg(long = "host", value_name = "NAME=ADDRESS")]
    pub hosts: Vec<String>,
    /// Copy this program to hosts that do not have the same (to ~/.cache/arraylab there)
    #[arg(long)]
    pub push_binary: bool,
    /// What sets a real array between cases: exec:PROGRAM[,key=value]…, manual, or ctl:SOCKET
    #[arg(long, value_name = "DRIVER")]
    pub array: Option<String>,
    /// Keep only the cases that fit into this time (2h), those of priority 1 first
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_budget: Option<u64>,
    /// Load generator for real targets; ring without it, fio for NBD addresses
    #[arg(long, value_enum)]
    pub engine: Option<EngineKind>,
    /// Seed of addresses, mixes and simulated times
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Carry out part K of N of the cases, those that rest on each other together; `arraylab merge` puts all N together
    #[arg(long, value_name = "K/N", value_parser = parse_shard)]
    pub shard: Option<store::ShardNumber>,
    /// Go on with an interrupted run
    #[arg(long, value_name = "DIR", conflicts_with_all = ["plan", "targets", "out", "shard", "stages", "only", "set", "seed", "engine", "array", "time_budget", "hosts", "push_binary"])]
    pub resume: Option<PathBuf>,
    /// Consent to overwrite the data behind this ID, which a refused run prints
    #[arg(long = "overwrite-data", value_name = "ID")]
    pub overwrite_data: Vec<String>,
    /// Cases simulated at once on a twin; results do not depend on it [default: processors]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Simulate loads on a twin from end to end: none of a long one is taken to be like what went before
    #[arg(long, conflicts_with = "resume")]
    pub exact: bool,
    /// Let a twin's time go by the wall clock, X times as fast (0.001 to 1000), to watch it as one would a real array: one case
    /// after the other, each sample at the end of its interval; results are the same
    #[arg(long, value_name = "X", value_parser = parse_run_speed)]
    pub speed: Option<u64>,
    /// Show the run at this address (127.0.0.1:9101): a page at /, Prometheus text at /metrics; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<std::net::SocketAddr>,
    /// Let other hosts read --metrics, which have no password
    #[arg(long, requires = "metrics")]
    pub metrics_network: bool,
    /// Print the results as JSON lines, as `results --json` does
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `agent`.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Move the agent's clock by so many milliseconds, for tests
    #[arg(long, value_name = "MS", default_value_t = 0, allow_hyphen_values = true, hide = true)]
    pub clock_offset_ms: i64,
}

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The run directories of all shards, in any order
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Directory of the run that comes of them
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// One JSON object: cases of the whole run, shards that are missing, shards that were given more than once
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `sweep`, which the Python package reads.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// PLAN --target T --on local|hyperqueue[:DIR] --shards N --workers W --out DIR [--json]; `arraylab sweep --help` lists all
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub words: Vec<std::ffi::OsString>,
}

/// A time on the command line, in nanoseconds.
fn parse_time(text: &str) -> Result<u64, String> {
    match units::parse_nanos(text) {
        Ok(0) => Err("a time above 0 is needed, for example 2h".into()),
        Ok(time_ns) => Ok(time_ns),
        Err(error) => Err(error.to_string()),
    }
}

/// A shard on the command line.
fn parse_shard(text: &str) -> Result<store::ShardNumber, String> {
    store::ShardNumber::parse(text).ok_or_else(|| {
        format!("K/N is needed, K from 1 to N and N at most {}, for example 2/50", store::SHARDS_LIMIT)
    })
}

/// A speed on the command line, in millionths of the wall clock's.
fn parse_run_speed(text: &str) -> Result<u64, String> {
    text.parse().ok().and_then(load::speed_millionths).ok_or_else(|| {
        let (least, most) = (load::SPEEDS.start(), load::SPEEDS.end());
        format!("a speed between {least} and {most} is needed; 1 is the array's own, 10 ten times as fast")
    })
}

/// Arguments of `fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// An array: a shipped name or a file
    pub array: String,
    /// Measured rows: published tables of the plan, or what `arraylab results RUN --csv` prints
    #[arg(long, value_name = "CSV", required = true, num_args = 1..)]
    pub to: Vec<String>,
    /// Which cases of the plan count, and with which settings
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// A setting of the twin in every case, as in twin:NAME,KEY=VALUE (reserve=off)
    #[arg(long = "twin", value_name = "KEY=VALUE")]
    pub switches: Vec<String>,
    /// A parameter to fit, by the end of its path, and its bounds [default: every number whose origin is `fitted`, from
    /// half to twice its value]
    #[arg(long = "parameter", value_name = "NAME[=LEAST..MOST]")]
    pub parameters: Vec<String>,
    /// Share of the measured cases that the parameters are not fitted to, from 0 to below 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = parse_share)]
    pub hold_out: f64,
    /// Fit as often as this, each time without one fold of the cases, and print how well each is predicted unseen; writes
    /// no array
    #[arg(long, value_name = "K", conflicts_with_all = ["hold_out", "out", "overwrite"],
        value_parser = clap::value_parser!(u32).range(2..))]
    pub folds: Option<u32>,
    /// Decides which cases are held out
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The plan that says what the tables mean [default: the plan with the array's name]
    #[arg(long)]
    pub plan: Option<String>,
    /// How often all rows are simulated at most
    #[arg(long, value_name = "N", default_value_t = 300,
        value_parser = clap::value_parser!(u32).range(2..=i64::from(fit::EVALUATIONS_LIMIT)))]
    pub evaluations: u32,
    /// Time after which the best so far is taken; what comes out then depends on the machine
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_budget: Option<u64>,
    /// Simulated time of each case; rows about what lasts take all of their case's own
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    pub simulate: u64,
    /// Rows simulated at once; the result does not depend on it [default: processors]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// The array that comes out [default: NAME-fitted.yaml]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(long)]
    pub overwrite: bool,
    /// Print one JSON object a line: each figure, then the fit
    #[arg(long)]
    pub json: bool,
}

/// A share of a whole that leaves something.
fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err("a share from 0 to below 1 is needed, for example 0.3".into()),
    }
}

/// Arguments of commands that read a run and can print JSON.
#[derive(Debug, Args)]
pub struct RunJsonArgs {
    /// Directory of the run
    pub run: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bundle`.
#[derive(Debug, Args)]
pub struct BundleArgs {
    /// Directory of the run
    pub run: PathBuf,
    /// The file to write, which must not be there yet [default: NAME-OF-THE-RUN.tar.gz]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Put pseudonyms (host-1, serial-2) for names of devices, hosts and people, addresses and paths, in all members
    #[arg(long)]
    pub redact: bool,
}

/// Arguments of `verify-report`.
#[derive(Debug, Args)]
pub struct VerifyReportArgs {
    /// A file that `arraylab bundle` wrote
    pub bundle: PathBuf,
    /// One JSON object a line: each difference, then a summary
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `library`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct LibraryArgs {
    /// What of the library
    #[command(subcommand)]
    pub command: Option<LibraryCommand>,
    /// Without a word: as `library list`
    #[command(flatten)]
    pub list: LibraryListArgs,
}

/// Verbs of `library`.
#[derive(Debug, Subcommand)]
pub enum LibraryCommand {
    /// List entries
    List(LibraryListArgs),
    /// Print one entry with its conditions, rows and what its publication does not state
    Show(LibraryShowArgs),
}

/// Arguments of `library list`.
#[derive(Debug, Args)]
pub struct LibraryListArgs {
    /// Only entries, and of them only rows, with this value: id, system, source, date; rw, bs, rwmixread, iodepth, servers, …
    #[arg(long = "where", value_name = "KEY=VALUE[,VALUE]")]
    pub conditions: Vec<String>,
    /// One JSON object a line for each entry
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `library show`.
#[derive(Debug, Args)]
pub struct LibraryShowArgs {
    /// Identifier of the entry (see `arraylab library`)
    pub id: String,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `rate`.
#[derive(Debug, Args)]
pub struct RateArgs {
    /// Directory of the run
    pub run: PathBuf,
    /// Let simulated figures stand beside measured ones
    #[arg(long)]
    pub with_simulated: bool,
    /// One JSON object a line: each quantity of the run, then each entry of the library
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `mark`.
#[derive(Debug, Args)]
pub struct MarkArgs {
    /// Directory of the run
    pub run: PathBuf,
    /// What happened
    pub text: String,
}

/// Arguments of `claims`.
#[derive(Debug, Args)]
pub struct ClaimsArgs {
    /// Directory of the run
    pub run: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// End with status 1 where a claim is refuted
    #[arg(long)]
    pub strict: bool,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Directories of the runs, the first the one that the others are compared with
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// One JSON object a line for each case
    #[arg(long)]
    pub json: bool,
    /// Change for the worse, in percent, that is a regression
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0)]
    pub regression: f64,
    /// Also write JUnit XML, for continuous integration
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print the trend of each headline and case over the runs, and what changed in the inventory between them
    #[arg(long)]
    pub trend: bool,
    /// Also write a report of two to eight runs side by side: HTML, or by the ending .md, .json or .pdf
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Replace serial numbers, WWNs, host and user names, addresses and paths in the report, and the runs' names, by pseudonyms
    #[arg(long, requires = "report")]
    pub redact: bool,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Job files, parameter files and results; what each is shows in its content
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Directory of the plans, or of the run that results become [default: stdout, runs/import-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Formats of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Of a plan: fio job files.
    Fio,
    /// Of a plan: vdbench parameter files.
    Vdbench,
    /// Of a run: results, samples, counters and events, each as a file of comma-separated values.
    Csv,
    /// Of a run: the JSON that fio prints.
    FioJson,
    /// Of a run: metrics of every interval, for Prometheus and others.
    Openmetrics,
    /// Of a run: the Python package writes it.
    Parquet,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A shipped plan's name, a plan's file, or the directory of a run
    #[arg(value_name = "PLAN|RUN")]
    pub source: String,
    /// What to write: fio or vdbench of a plan; fio-json or openmetrics of a run
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// Which cases of a plan
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Where to write: of a plan a directory, with a file for each stage; of a run a file [default: stdout, all in one]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A kind of finding, as `arraylab findings` names it, or a data service: thin, reduction, snapshots, drive-cache, tier,
    /// mirror, replication, limits, volume-manager, wear, protocol
    pub finding: String,
}

/// Arguments of `results`.
#[derive(Debug, Args)]
pub struct ResultsArgs {
    /// Directory of the run
    pub run: PathBuf,
    /// One JSON object a line for each case
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Comma-separated values with the same fields
    #[arg(long)]
    pub csv: bool,
}

/// Formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One self-contained page.
    Html,
    /// Text with tables.
    Md,
    /// One object: sentences, tiles and tables, each number with its value, unit and source
    Json,
    /// The page on paper, by an installed browser: chromium, google-chrome, or the program of ARRAYLAB_BROWSER
    Pdf,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Directory of the run
    pub run: PathBuf,
    /// Where to write it [default: report.html, report.md or report.pdf in the run's directory; json goes to stdout]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What to write
    #[arg(long, value_enum, default_value = "html")]
    pub format: ReportFormat,
    /// Put pseudonyms (host-1, serial-2) for names of devices, hosts and people, addresses and paths
    #[arg(long)]
    pub redact: bool,
}

/// Arguments of `gallery`.
#[derive(Debug, Args)]
pub struct GalleryArgs {
    /// Directories of runs
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Directory for index.html and the reports; made where it is not there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Also write the figures of the runs, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub figures: Option<PathBuf>,
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// A shipped array's name, or a file; settings after commas: raid, layout, disks, segment, capacity (of one drive)
    #[arg(value_name = "ARRAY[,KEY=VALUE]")]
    pub array: String,
    /// Unix socket to listen on
    #[arg(long, value_name = "PATH", conflicts_with = "listen", required_unless_present = "listen")]
    pub socket: Option<PathBuf>,
    /// Loopback address and port to listen on
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
    /// Encrypt: directory of ca-cert.pem, server-cert.pem and server-key.pem; clients need a certificate
    #[arg(long, value_name = "DIR")]
    pub tls: Option<PathBuf>,
    /// Directory that keeps the bytes; it survives stop and start
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Control socket [default: the served socket's path with .ctl behind]
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Also make a block device /dev/ublkbN of the array, or of one volume (a build with ublk, and its kernel driver)
    #[arg(long, value_name = "VOLUME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub ublk: Option<String>,
    /// Answer as fast as it goes, not at the array's modelled speed
    #[arg(long)]
    pub untimed: bool,
    /// Loopback address (127.0.0.1:9101; port 0 takes a free one) of a page at / and Prometheus text at /metrics
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<std::net::SocketAddr>,
    /// File of the token that the page's buttons need; made where it is not there. By default `token` in --data
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub token_file: Option<PathBuf>,
    /// How much faster than the clock the model's time goes
    #[arg(long, value_name = "X", conflicts_with = "untimed")]
    pub speed: Option<f64>,
    /// Start, run this command, stop, and end with its exit status
    #[arg(long, value_name = "COMMAND")]
    pub run: Option<String>,
    /// A file or device for the first drive; again for the second, and so on
    #[arg(long = "drive", value_name = "PATH")]
    pub drives: Vec<PathBuf>,
    /// Consent to overwrite the data behind this ID
    #[arg(long = "overwrite-data", value_name = "ID")]
    pub overwrite_data: Vec<String>,
}

/// Arguments of `ctl`.
#[derive(Debug, Args)]
pub struct CtlArgs {
    /// Control socket of the served array
    #[arg(value_name = "CONTROL_SOCKET")]
    pub socket: PathBuf,
    /// What to do
    #[arg(required = true, value_name = "VERB")]
    pub verb: Vec<String>,
    /// The answer as JSON also in a terminal; into a pipe or a file it always is
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Directory of a run, or control socket of a served array
    #[arg(value_name = "RUN|CONTROL_SOCKET")]
    pub what: PathBuf,
    /// Look once and end
    #[arg(long)]
    pub once: bool,
    /// One JSON object a line each time
    #[arg(long)]
    pub json: bool,
}

/// What `bench` can measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BenchKind {
    /// Simulated I/Os a second of one core's time, and the memory that shipped arrays take.
    Sim,
    /// The engine of our own beside fio: cost of an I/O, and IOPS of one thread.
    Ring,
    /// A served array beside nbdkit's memory plugin.
    Serve,
    /// Time and size of the report of a 1,000-case run.
    Report,
    /// Time and memory of results, findings and report of a run of 10,000 cases with counters.
    Campaign,
    /// What it costs to watch a host with 200 block devices every second.
    Probe,
    /// Fast-forward beside exact simulation over random arrays, loads and events: errors, claimed confidence, time saved.
    FastForward,
    /// Published rows beside what the twins give, fitted and unseen (`docs/validation.md`): minutes.
    Validation,
}

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure
    pub kind: BenchKind,
    /// For serve, only the scenarios whose name contains this, for example `randwrite`
    #[arg(long, value_name = "TEXT")]
    pub scenario: Option<String>,
    /// For sim, also the time that each shipped plan takes on its twin with two threads: many minutes
    #[arg(long)]
    pub plans: bool,
    /// For validation, writes the summary, the tables and pictures of published against simulated figures into this directory
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// For fast-forward, the seed of the random cases
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// For fast-forward, how many cases in which something is skipped [default: 60]; for campaign, cases of the run [default: 10000]
    #[arg(long, value_name = "N")]
    pub cases: Option<u64>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}
