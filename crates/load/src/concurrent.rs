//! Concurrent loads on one device in simulated time.
//!
//! Each load has jobs and tags of its own: those of the first begin at 0, those of the next where the ones before end. What a
//! load issues depends on its own seed and on the answers that it gets, so that a load beside others issues the operations that
//! it issues alone.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use crate::issue_loop::{IssueLoop, IssuedLoad, LoopStop};
use crate::{Device, LoadSpec, OUTSTANDING_LIMIT, Sample, SpecError};

/// Load that shares its device with others.
#[derive(Debug, Clone, Copy)]
pub struct SharedLoad<'a> {
    /// Load that it issues. The ramp begins with the load.
    pub spec: &'a LoadSpec,
    /// Start of this load, since the start of all.
    pub start_ns: u64,
    /// Size of what it addresses: loads of one device may be for different volumes of it.
    pub capacity_bytes: u64,
}

/// Decision of the caller after a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadControl {
    /// All loads continue.
    Continue,
    /// The load of the sample ends; the others continue.
    EndLoad,
    /// All loads end.
    EndAll,
}

/// The number of each load's first job on the shared device.
pub fn first_jobs<'a>(specs: impl Iterator<Item = &'a LoadSpec>) -> Vec<u32> {
    specs
        .scan(0u32, |next, spec| {
            let first = *next;
            *next = next.saturating_add(spec.numjobs);
            Some(first)
        })
        .collect()
}

/// Runs several loads at once, each as [`crate::run_simulated`] runs one. `on_sample` is handed the number of the load that
/// a sample is of; samples count from the start of all. The device's clock stands at the end of the sample's interval then. `stop`
/// breaks all of them off as it does there.
pub fn run_concurrent<D: Device>(
    device: &mut D,
    loads: &[SharedLoad<'_>],
    stop: &AtomicBool,
    on_sample: &mut dyn FnMut(&mut D, usize, Sample) -> LoadControl,
) -> Result<(), SpecError> {
    let mut run = ConcurrentRun::new(device, loads, stop)?;
    run.issue.begin();
    run.run(on_sample);
    run.issue.drain();
    Ok(())
}

struct ConcurrentRun<'a, D> {
    issue: IssueLoop<'a, D>,
    /// Time on the device's clock at which the first load may begin.
    start_ns: u64,
    /// End of the first interval of all loads, on the device's clock.
    boundary_ns: u64,
}

/// Returns the end of a load's current interval, on the device's clock.
fn interval_end_ns(load: &IssuedLoad) -> u64 {
    load.start_ns.saturating_add(load.recorder.interval_end_ns())
}

impl<'a, D: Device> ConcurrentRun<'a, D> {
    fn new(device: &'a mut D, loads: &[SharedLoad<'_>], stop: &'a AtomicBool) -> Result<Self, SpecError> {
        let outstanding = loads.iter().map(|load| load.spec.outstanding()).fold(0, u64::saturating_add);
        if outstanding > OUTSTANDING_LIMIT {
            return Err(SpecError::OutOfRange {
                setting: "numjobs × iodepth",
                value: outstanding.to_string(),
                allowed: format!("at most {OUTSTANDING_LIMIT} over all loads that run at once"),
            });
        }
        let start_ns = device.now_ns();
        let mut issue = IssueLoop::new(device, outstanding as usize, stop);
        for (load, first_job) in loads.iter().zip(first_jobs(loads.iter().map(|load| load.spec))) {
            let spec = load.spec;
            issue.device.declare_content(first_job, spec.shape.content);
            let begins_ns = start_ns.saturating_add(load.start_ns);
            let issued = IssuedLoad::new(spec, load.capacity_bytes, begins_ns, first_job)?;
            issue.add(issued, spec.numjobs, spec.iodepth);
        }
        let boundary_ns = issue.loads.iter().map(interval_end_ns).min().unwrap_or(0);
        Ok(ConcurrentRun { issue, start_ns, boundary_ns })
    }

    fn run(&mut self, on_sample: &mut dyn FnMut(&mut D, usize, Sample) -> LoadControl) {
        while self.issue.loads.iter().any(|load| !load.is_over) {
            // No interval ends before the boundary, so none is handed out on the way to it.
            match self.issue.run_until(self.boundary_ns, &mut |_, _| ControlFlow::Continue(())) {
                LoopStop::BrokenOff => return,
                LoopStop::Reached if self.hand_out(on_sample).is_break() => return,
                LoopStop::Reached | LoopStop::Exhausted(_) => {}
            }
        }
    }

    /// Hands out the intervals that end now, load by load.
    fn hand_out(
        &mut self,
        on_sample: &mut dyn FnMut(&mut D, usize, Sample) -> LoadControl,
    ) -> ControlFlow<()> {
        let now_ns = self.boundary_ns;
        for (index, load) in self.issue.loads.iter_mut().enumerate() {
            if load.is_over || interval_end_ns(load) > now_ns {
                continue;
            }
            let since_start_ns = load.start_ns - self.start_ns;
            let end_ns = load.start_ns.saturating_add(load.recorder.end_ns());
            let device = &mut *self.issue.device;
            let mut control = LoadControl::Continue;
            let _ = load.recorder.advance(now_ns - load.start_ns, &mut |mut sample| {
                sample.start_ns += since_start_ns;
                sample.end_ns += since_start_ns;
                control = on_sample(device, index, sample);
                ControlFlow::Continue(())
            });
            if control == LoadControl::EndAll {
                return ControlFlow::Break(());
            }
            load.is_over = control == LoadControl::EndLoad || now_ns >= end_ns;
        }
        let under_way = self.issue.loads.iter().filter(|load| !load.is_over);
        self.boundary_ns = under_way.map(interval_end_ns).min().unwrap_or(u64::MAX);
        ControlFlow::Continue(())
    }
}
