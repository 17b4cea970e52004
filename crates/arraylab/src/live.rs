//! Live view of a campaign for a terminal and for metrics scrapers.

use crate::progress::{ProgressView, in_words};
use campaign::{Progress, Watcher};
use load::Sample;
use metrics::{LiveRun, MetricsError, MetricsListener, MetricsServer, RunLabels, RunProgress};
use std::net::SocketAddr;
use std::sync::Arc;
use store::{CaseRecord, CaseResult, Counter, Manifest};

/// Tells a person and, where metrics are served, keeps what they show.
pub struct LiveView {
    view: ProgressView,
    metrics: Option<(LiveRun, MetricsServer)>,
}

impl LiveView {
    /// Makes a view for a person, without metrics.
    pub fn new(view: ProgressView) -> LiveView {
        LiveView { view, metrics: None }
    }

    /// Serves metrics of this run from here on, and says where.
    pub fn expose(
        &mut self,
        listener: MetricsListener,
        manifest: &Manifest,
    ) -> Result<SocketAddr, MetricsError> {
        let targets: Vec<&str> = manifest.targets.iter().map(|target| target.spec.as_str()).collect();
        let run = LiveRun::new(RunLabels {
            plan: manifest.plan.name.clone(),
            target: targets.join(" "),
            version: manifest.arraylab_version.clone(),
        });
        let hosts: Vec<String> = manifest.hosts.iter().map(|host| host.name.clone()).collect();
        run.set_hosts(&hosts);
        let server = listener.serve(Arc::new(run.clone()), None)?;
        let address = server.address();
        self.metrics = Some((run, server));
        Ok(address)
    }

    /// Removes what the person sees.
    pub fn end(&self) {
        self.view.end();
    }

    fn live(&self, progress: &Progress) -> Option<&LiveRun> {
        let (run, _) = self.metrics.as_ref()?;
        run.run_progress(RunProgress {
            cases_total: progress.cases_total,
            cases_ended: progress.cases_ended,
            share: progress.share,
            time_left_ns: progress.time_left_ns,
        });
        Some(run)
    }
}

impl Watcher for LiveView {
    fn case_started(&mut self, case: &CaseRecord, progress: &Progress) {
        if let Some(run) = self.live(progress) {
            run.case_started(case);
        }
        self.view.case_started(case, progress);
    }

    fn case_progress(&mut self, case: &CaseRecord, share: f64, progress: &Progress) {
        if let Some(run) = self.live(progress) {
            run.case_progress(case.index, share);
        }
        self.view.case_progress(case, share, progress);
    }

    fn case_waiting(&mut self, case: &CaseRecord, text: &str, progress: &Progress) {
        if let Some(run) = self.live(progress) {
            run.event(&format!("{} {}: {text}", case.stage, case.name));
        }
        self.view.case_waiting(case, text, progress);
    }

    fn sample(&mut self, case: &CaseRecord, load: &str, sample: &Sample) {
        if let Some((run, _)) = &self.metrics {
            run.sample(case.index, load, sample);
        }
    }

    fn host_sample(&mut self, case: &CaseRecord, host: &str, load: &str, sample: &Sample) {
        if let Some((run, _)) = &self.metrics {
            run.host_sample(case.index, host, load, sample);
        }
    }

    fn counters(&mut self, counters: &[Counter<'_>]) {
        if let Some((run, _)) = &self.metrics {
            run.counters(counters.iter().copied());
        }
    }

    fn case_ended(&mut self, case: &CaseRecord, result: &CaseResult, progress: &Progress) {
        if let Some(run) = self.live(progress) {
            run.case_ended(case.index, result.status);
            run.event(&format!("{} {}: {}", case.stage, case.name, in_words(result)));
            result.warnings.iter().for_each(|warning| run.event(&format!("warning: {warning}")));
        }
        self.view.case_ended(case, result, progress);
    }

    fn notice(&mut self, text: &str) {
        if let Some((run, _)) = &self.metrics {
            run.event(text);
        }
        self.view.notice(text);
    }
}
