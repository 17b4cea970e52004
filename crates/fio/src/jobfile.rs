//! fio's job files, read.
//!
//! The rules are those of fio's `init.c`: a comment begins at the first `;` or `#` of a line, wherever that is; a
//! section whose name begins with "global", in any case, sets options for the jobs after it; `include FILE` stands for
//! the lines of a file, which may hold no sections.

use diagnostic::Problem;

/// The longest job file, with all that it includes.
const LENGTH_LIMIT_BYTES: usize = 4 << 20;
/// The most jobs in a file.
const JOB_LIMIT: usize = 4096;
/// The most options that all jobs hold together, those of `[global]` counted for each.
const OPTION_LIMIT: usize = 1 << 20;
/// Largest depth of nested include files.
const INCLUDE_DEPTH_LIMIT: usize = 16;

/// One job, with the global options that apply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSection {
    /// The section's name.
    pub name: String,
    /// The line of its heading, from 1.
    pub line: usize,
    /// Its options, global ones first. Where one occurs twice, fio uses the last, except for options that add up.
    pub options: Vec<JobOption>,
}

impl JobSection {
    /// The value of an option, by fio's name or its alias; the last one counts. `Some("")` where it has no value.
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().rfind(|option| canonical(&option.name) == canonical(name))?;
        Some(found.value.as_deref().unwrap_or(""))
    }
}

/// One option as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOption {
    /// Its name as written.
    pub name: String,
    /// Text behind the `=`, with variables such as `${HOME}` as they stand; `None` where there is no `=`.
    pub value: Option<String>,
    /// The included file that holds it; `None` for the job file itself.
    pub file: Option<String>,
    /// The line in that file, from 1.
    pub line: usize,
}

impl JobOption {
    /// fio's own name of the option, where an alias was written.
    pub fn canonical_name(&self) -> &str {
        canonical(&self.name)
    }
}

/// Errors of job files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}line {line}: {reason}", file.as_deref().map(|file| format!("{file}, ")).unwrap_or_default())]
pub struct JobFileError {
    /// The included file; `None` for the job file itself.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: usize,
    /// Error in the file.
    pub reason: String,
}

/// Names that fio takes for the same option (`options.c`), for those that an import needs.
fn canonical(name: &str) -> &str {
    match name {
        "blocksize" => "bs",
        "blocksize_range" => "bsrange",
        "blocksize_unaligned" => "bs_unaligned",
        "ba" => "blockalign",
        "fill_fs" => "fill_device",
        "hugepage_size" => "hugepage-size",
        "io_limit" => "io_size",
        "iodepth_batch_submit" => "iodepth_batch",
        "mem" => "iomem",
        "readwrite" => "rw",
        "ss" => "steadystate",
        "ss_dur" => "steadystate_duration",
        "ss_ramp" => "steadystate_ramp_time",
        "wait_for_previous" => "stonewall",
        "timeout" => "runtime",
        other => other,
    }
}

/// Reads a job file. `include` gives the text of an included file by the name that stands in the job file.
pub fn read_job_file(
    text: &str,
    include: &mut dyn FnMut(&str) -> std::io::Result<String>,
) -> Result<Vec<JobSection>, JobFileError> {
    let mut reader = Reader {
        include,
        global: Vec::new(),
        jobs: Vec::new(),
        section: Section::None,
        length_bytes: 0,
        option_count: 0,
    };
    reader.read(text, None, 0)?;
    Ok(reader.jobs)
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    /// Lines before the first heading.
    None,
    Global,
    Job,
}

struct Reader<'a> {
    include: &'a mut dyn FnMut(&str) -> std::io::Result<String>,
    global: Vec<JobOption>,
    jobs: Vec<JobSection>,
    section: Section,
    length_bytes: usize,
    option_count: usize,
}

impl Reader<'_> {
    fn read(&mut self, text: &str, file: Option<&str>, depth: usize) -> Result<(), JobFileError> {
        let wrong =
            |line: usize, reason: String| JobFileError { file: file.map(str::to_owned), line, reason };
        self.length_bytes = self.length_bytes.saturating_add(text.len());
        if self.length_bytes > LENGTH_LIMIT_BYTES {
            return Err(wrong(
                1,
                format!("job file and includes are longer than {LENGTH_LIMIT_BYTES} bytes"),
            ));
        }
        for (index, raw) in text.lines().enumerate() {
            let line = index + 1;
            let content = raw.split([';', '#']).next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            if let Some(heading) = content.strip_prefix('[') {
                if depth > 0 {
                    return Err(wrong(
                        line,
                        "an included file holds a section, which fio does not allow".to_owned(),
                    ));
                }
                let name = heading.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| wrong(line, format!("{content:?} is no section: [name]")))?;
                self.begin(name, line).map_err(|reason| wrong(line, reason.to_string()))?;
            } else if let Some(name) =
                content.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t']))
            {
                let name = name.trim();
                if depth == INCLUDE_DEPTH_LIMIT {
                    return Err(wrong(
                        line,
                        format!("files include one another more than {INCLUDE_DEPTH_LIMIT} deep"),
                    ));
                }
                let included = (self.include)(name)
                    .map_err(|error| wrong(line, format!("cannot read the included {name:?}: {error}")))?;
                self.read(&included, Some(name), depth + 1)?;
            } else {
                let (name, value) = match content.split_once('=') {
                    Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
                    None => (content, None),
                };
                if name.is_empty() || name.contains(char::is_whitespace) {
                    return Err(wrong(line, format!("{content:?} is no option: name=value")));
                }
                let option = JobOption { name: name.to_owned(), value, file: file.map(str::to_owned), line };
                self.add(option).map_err(|reason| wrong(line, reason.to_string()))?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, name: &str, line: usize) -> Result<(), Problem> {
        if name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("global")) {
            self.section = Section::Global;
            return Ok(());
        }
        if self.jobs.len() == JOB_LIMIT {
            return Err(format!("more than {JOB_LIMIT} jobs").into());
        }
        self.section = Section::Job;
        self.count(self.global.len())?;
        self.jobs.push(JobSection { name: name.to_owned(), line, options: self.global.clone() });
        Ok(())
    }

    fn add(&mut self, option: JobOption) -> Result<(), Problem> {
        self.count(1)?;
        match (self.section, self.jobs.last_mut()) {
            (Section::Global, _) => self.global.push(option),
            (Section::Job, Some(job)) => job.options.push(option),
            _ => {
                return Err(Problem::new(format!(
                    "the option `{}` stands before the first [section]",
                    option.name
                )));
            }
        }
        Ok(())
    }

    fn count(&mut self, options: usize) -> Result<(), Problem> {
        self.option_count += options;
        if self.option_count > OPTION_LIMIT {
            Err(format!("more than {OPTION_LIMIT} options in all jobs").into())
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn no_include(_: &str) -> std::io::Result<String> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    /// Proves that global options reach the jobs after them, that jobs override them, and that comments are cut.
    #[test]
    fn globals_reach_later_jobs() {
        let text = "; made by hand\n[global]\nbs = 4k # small\ndirect=1\n[a]\nrw=randread\n[Global two]\nblocksize=8k\n[b]\nrw=write\ntime_based\nbs=64k\n";
        let jobs = read_job_file(text, &mut no_include).unwrap();
        let value = |job: usize, name: &str| jobs[job].option(name).map(str::to_owned);
        assert_eq!(
            jobs.iter().map(|job| (job.name.as_str(), job.line)).collect::<Vec<_>>(),
            [("a", 5), ("b", 9)]
        );
        assert_eq!(
            (value(0, "bs"), value(0, "direct"), value(0, "readwrite")),
            (Some("4k".into()), Some("1".into()), Some("randread".into()))
        );
        assert_eq!(
            (value(1, "bs"), value(1, "time_based"), value(1, "size")),
            (Some("64k".into()), Some(String::new()), None)
        );
        assert_eq!(jobs[1].options[2].value.as_deref(), Some("8k"));
    }

    /// Proves that the job files that made the recorded samples are read.
    #[test]
    fn recorded_job_files_are_read() {
        let jobs =
            read_job_file(include_str!("../tests/samples/fio-3.33/mixed.fio"), &mut no_include).unwrap();
        assert_eq!(jobs.len(), 2);
        assert_eq!(
            (jobs[1].option("rw"), jobs[1].option("rate_iops")),
            (Some("randwrite"), Some("2000,2000"))
        );
        let jobs =
            read_job_file(include_str!("../tests/samples/fio-3.42/client.fio"), &mut no_include).unwrap();
        assert_eq!(jobs[0].option("rate_iops"), Some("500"));
    }

    /// Proves that the job files that we write are read back.
    #[test]
    fn our_own_are_read_back() {
        let text = include_str!("snapshots/fio__job__tests__a_mixed_load_becomes_a_job_file.snap");
        let text = &text[text.find("# Written").unwrap()..];
        let jobs = read_job_file(text, &mut no_include).unwrap();
        assert_eq!(
            (jobs.len(), jobs[0].option("iodepth"), jobs[0].option("numjobs")),
            (1, Some("8"), Some("4"))
        );
    }

    /// Proves that included lines belong to the section that includes them, and keep their origin.
    #[test]
    fn includes_belong_to_their_section() {
        let mut include = |name: &str| match name {
            "one.fio" => Ok("rw=read\ninclude two.fio\n".to_owned()),
            "two.fio" => Ok("bs=1m\n".to_owned()),
            _ => no_include(name),
        };
        let jobs = read_job_file("[a]\ninclude one.fio\n[b]\nrw=write\n", &mut include).unwrap();
        assert_eq!(
            (jobs[0].option("rw"), jobs[0].option("bs"), jobs[1].option("bs")),
            (Some("read"), Some("1m"), None)
        );
        assert_eq!((jobs[0].options[1].file.as_deref(), jobs[0].options[1].line), (Some("two.fio"), 1));
    }

    /// Proves that each error names its file and line and what is wrong.
    #[test]
    fn errors_name_their_place() {
        let error = |text: &str| {
            let mut include = |name: &str| match name {
                "self.fio" => Ok("\ninclude self.fio\n".to_owned()),
                "section.fio" => Ok("bs=1\n[b]\n".to_owned()),
                _ => no_include(name),
            };
            read_job_file(text, &mut include).unwrap_err().to_string()
        };
        assert_eq!(error("\nbs=4k\n"), "line 2: the option `bs` stands before the first [section]");
        assert_eq!(error("[a\n"), "line 1: \"[a\" is no section: [name]");
        assert_eq!(error("[a]\n=4\n"), "line 2: \"=4\" is no option: name=value");
        assert!(
            error("[a]\ninclude gone.fio\n").starts_with("line 2: cannot read the included \"gone.fio\"")
        );
        assert!(
            error("[a]\ninclude self.fio\n")
                .starts_with("self.fio, line 2: files include one another more than 16 deep")
        );
        assert_eq!(
            error("[a]\ninclude section.fio\n"),
            "section.fio, line 2: an included file holds a section, which fio does not allow"
        );
        assert!(error(&"[a]\n".repeat(5000)).contains("more than 4096 jobs"));
        let many = format!("[global]\n{}{}", "bs=4k\n".repeat(1000), "[a]\n".repeat(2000));
        assert!(error(&many).contains("options in all jobs"));
    }

    proptest! {
        /// Proves that any text is survived.
        #[test]
        fn any_text_is_survived(text in "(\\[|\\]|=|;|#|\n|include |global|[a-z]{1,4}|\\PC){0,60}") {
            let _ = read_job_file(&text, &mut |_| Ok(text.clone()));
        }
    }
}
