//! fio job files as plans: one stage for each group of jobs that run at once.

use crate::draft::{Draft, DraftLoad, DraftSearch, DraftStage, Line, Settings, unique_name};
use crate::options::{MappedJob, OptionLine, map_job};
use crate::{FileKind, ImportError, ImportedPlan, NamedTarget, NotCarried, file};
use fio::{JobSection, read_job_file};
use std::path::{Path, PathBuf};

/// The longest file that a job file may include.
const INCLUDE_LIMIT_BYTES: u64 = 4 << 20;

/// Makes a plan of a job file.
pub(crate) fn import(path: &Path, text: &str) -> Result<ImportedPlan, ImportError> {
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    let mut include = |name: &str| read_include(&directory.join(name));
    let jobs = read_job_file(text, &mut include).map_err(|error| ImportError::Invalid {
        path: error.file.as_deref().map_or_else(|| path.to_owned(), |file| directory.join(file)),
        line: error.line,
        column: 1,
        message: error.reason,
        hint: None,
    })?;
    let name = file::stem(path);
    let mut importer = Importer { path, directory: &directory, targets: Vec::new(), not_carried: Vec::new() };
    let mut taken = Vec::new();
    let mut stages = Vec::new();
    for group in groups(&jobs) {
        let members: Vec<Member> = group.iter().filter_map(|job| importer.member(job)).collect();
        if let Some(stage) = importer.stage(members, &mut taken) {
            stages.push(stage);
        }
    }
    importer.say_which_targets(&mut stages);
    let Importer { targets, mut not_carried, .. } = importer;
    // Options of [global] are looked at once for each job.
    not_carried.sort();
    not_carried.dedup();
    let text = if stages.is_empty() {
        None
    } else {
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let draft = Draft {
            title: name.clone(),
            notes: vec![format!("Imported from the fio job file {file_name}.")],
            interval: None,
            stages: stages.into_iter().map(|(stage, _)| stage).collect(),
        };
        let (text, left_out) = draft.accepted_text(path, &name);
        not_carried.extend(left_out);
        not_carried.sort();
        not_carried.dedup();
        text
    };
    let kind = FileKind::FioJobs;
    Ok(ImportedPlan { source: path.to_owned(), kind, name, text, targets, not_carried, warnings: Vec::new() })
}

fn read_include(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(path)?.take(INCLUDE_LIMIT_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Jobs that run at once: `stonewall` (or `wait_for_previous`) makes a job and those behind it wait for all before.
fn groups(jobs: &[JobSection]) -> Vec<&[JobSection]> {
    let waits = |job: &JobSection| {
        let option = job.options.iter().rfind(|option| is_stonewall(&option.name));
        option.is_some_and(|option| !matches!(option.value.as_deref(), Some("0" | "false")))
    };
    let mut groups = Vec::new();
    let mut start = 0;
    for index in 1..=jobs.len() {
        if index == jobs.len() || waits(&jobs[index]) {
            groups.push(&jobs[start..index]);
            start = index;
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn is_stonewall(name: &str) -> bool {
    matches!(name, "stonewall" | "wait_for_previous")
}

/// A job of a group.
struct Member {
    name: String,
    settings: Settings,
    start: Option<String>,
    search: Option<DraftSearch>,
    /// Numbers of its targets.
    targets: Vec<usize>,
    line: Line,
}

struct Importer<'a> {
    path: &'a Path,
    directory: &'a Path,
    targets: Vec<NamedTarget>,
    not_carried: Vec<NotCarried>,
}

impl Importer<'_> {
    fn member(&mut self, job: &JobSection) -> Option<Member> {
        let place = NotCarried {
            file: self.path.to_owned(),
            line: job.line,
            what: format!("[{}]", job.name),
            why: String::new(),
        };
        let options: Vec<OptionLine> = job
            .options
            .iter()
            .map(|option| OptionLine {
                name: option.canonical_name().to_owned(),
                value: option.value.clone(),
                file: option.file.as_deref().map_or_else(|| self.path.to_owned(), |file| self.included(file)),
                line: option.line,
            })
            .collect();
        let line = (place.file.clone(), place.line);
        let MappedJob { settings, targets, start, search, not_carried } = map_job(&options, place);
        self.not_carried.extend(not_carried);
        let targets = targets.into_iter().map(|target| self.target_number(target)).collect();
        Some(Member { name: job.name.clone(), settings: settings?, start, search, targets, line })
    }

    fn included(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    fn target_number(&mut self, target: NamedTarget) -> usize {
        if let Some(number) = self.targets.iter().position(|known| known.path == target.path) {
            return number;
        }
        self.targets.push(target);
        self.targets.len() - 1
    }

    /// The stage of a group, with the targets of its only load.
    fn stage(
        &mut self,
        mut members: Vec<Member>,
        taken: &mut Vec<String>,
    ) -> Option<(DraftStage, Vec<usize>)> {
        let joined = members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join("-");
        let wanted =
            if joined.len() <= 40 { joined } else { format!("{}-and-others", members.first()?.name) };
        if members.is_empty() {
            return None;
        }
        let line = members.first().map(|member| member.line.clone());
        let mut stage =
            DraftStage { name: unique_name(&wanted, "job", taken), line, ..DraftStage::default() };
        if members.len() == 1 {
            let member = members.swap_remove(0);
            stage.settings = member.settings;
            stage.title = Some(member.name);
            stage.search = member.search;
            if let Some(start) = member.start {
                stage.notes.push(format!("In fio the job begins after {start}."));
            }
            return Some((stage, member.targets));
        }
        self.same_time(&members);
        self.start_after_ramp(&mut members);
        let mut names = Vec::new();
        for member in members {
            if let Some(search) = member.search {
                self.not_carried.push(NotCarried {
                    file: search.line.0,
                    line: search.line.1,
                    what: format!("latency_target of [{}]", member.name),
                    why: "a plan searches with one load, and this job runs beside others".into(),
                });
            }
            stage.loads.push(DraftLoad {
                name: unique_name(&member.name, "job", &mut names),
                settings: member.settings,
                // Several files of one job are one target's worth of addresses to fio; the first stands for them.
                target: member.targets.first().copied(),
                start: member.start,
                line: Some(member.line),
            });
        }
        stage.share_settings();
        Some((stage, Vec::new()))
    }

    /// fio's `startdelay` counts from the start of the first job, a plan's `start` from the end of its ramp.
    fn start_after_ramp(&mut self, members: &mut [Member]) {
        let ramp = members.first().and_then(|first| first.settings.get("ramp_time"));
        let ramp_ns = ramp.and_then(|text| units::parse_nanos(text).ok()).unwrap_or(0);
        for member in members.iter_mut().filter(|_| ramp_ns > 0) {
            let start_ns = member.start.as_deref().and_then(|text| units::parse_nanos(text).ok());
            let Some(start_ns) = start_ns else { continue };
            if start_ns < ramp_ns {
                self.not_carried.push(NotCarried {
                    file: member.line.0.clone(),
                    line: member.line.1,
                    what: format!("startdelay of [{}]", member.name),
                    why: "in a plan a load begins with its case, or when the ramp is over".into(),
                });
            }
            member.start = Some(format!("{}ns", start_ns.saturating_sub(ramp_ns)));
        }
    }

    /// The loads of a case begin to count and end together.
    fn same_time(&mut self, members: &[Member]) {
        let Some(first) = members.first() else { return };
        for name in ["runtime", "ramp_time"] {
            for other in &members[1..] {
                let (of_first, of_other) = (first.settings.get(name), other.settings.get(name));
                if of_first != of_other {
                    self.not_carried.push(NotCarried {
                        file: self.path.to_owned(),
                        line: 1,
                        what: format!("{name}={} of [{}]", of_other.unwrap_or("(none)"), other.name),
                        why: format!(
                            "loads of one case begin and end together; that of [{}] stands for all: {}",
                            first.name,
                            of_first.unwrap_or("the plan's default")
                        ),
                    });
                }
            }
        }
    }

    /// Assigns targets to stages with one load, as a load with a target, where the file names several.
    fn say_which_targets(&mut self, stages: &mut [(DraftStage, Vec<usize>)]) {
        if self.targets.len() < 2 {
            stages.iter_mut().flat_map(|(stage, _)| &mut stage.loads).for_each(|load| load.target = None);
            return;
        }
        for (stage, targets) in stages {
            let Some(&first) = targets.first() else { continue };
            if targets.len() > 1 {
                self.not_carried.push(NotCarried {
                    file: self.path.to_owned(),
                    line: self.targets[first].line,
                    what: format!("filename of [{}]", stage.title.as_deref().unwrap_or(&stage.name)),
                    why: format!("fio goes over {} files in turn; the plan loads the first", targets.len()),
                });
            }
            stage.loads.push(DraftLoad {
                name: stage.name.clone(),
                target: Some(first),
                ..DraftLoad::default()
            });
        }
    }
}
