//! Simulated run of one load, whole or in stretches.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use crate::closed_loop::ClosedLoop;
use crate::issue_loop::{IssueLoop, IssuedLoad, LoopStop};
use crate::recorder::Recorder;
use crate::{Device, Distribution, LoadSpec, Sample, SpecError};

/// Flag of a load that only its own end and `on_sample` end.
pub static NEVER_STOPPED: AtomicBool = AtomicBool::new(false);

/// Runs a load. In closed loop, every job keeps `iodepth` I/Os outstanding and issues the next as soon as one is
/// answered and the rate limit allows; in open loop (`shape.arrival`), I/Os arrive at their own moments.
///
/// The load starts where the device's clock stands; samples count from there. An I/O is counted by the moment it
/// completed. The run ends at `ramp + runtime`; I/Os still outstanding then are waited for but not counted, so
/// that the device is idle afterwards and can take another load. `on_sample` is handed the device with each sample, to read its
/// counters, and may break off the run. `stop`, raised by another thread, breaks it off between two I/Os ([`NEVER_STOPPED`]
/// where there is none): the interval under way has no sample then, and the caller looks at the flag to know.
pub fn run_simulated<D: Device>(
    device: &mut D,
    spec: &LoadSpec,
    stop: &AtomicBool,
    on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
) -> Result<(), SpecError> {
    if spec.shape.is_plain() {
        let mut run = ClosedLoop::new(device, spec, stop)?;
        run.begin();
        let _ = run.run(&mut Recorder::new(spec), on_sample);
        run.drain();
        return Ok(());
    }
    let mut run = ShapedLoad::new(device, spec, stop)?;
    run.issue.begin();
    let _ = run.run(Recorder::new(spec), on_sample);
    run.issue.drain();
    Ok(())
}

/// A load of any shape in simulated time that can be stopped and continued.
pub(crate) struct ShapedLoad<'a, D> {
    pub issue: IssueLoop<'a, D>,
    /// Start of the next stretch on the device's clock.
    pub stretch_start_ns: u64,
    pub numjobs: u32,
    /// Hot blocks are written again and again, so that where skipped writes have gone always matters.
    pub is_skewed: bool,
}

impl<'a, D: Device> ShapedLoad<'a, D> {
    pub fn new(device: &'a mut D, spec: &LoadSpec, stop: &'a AtomicBool) -> Result<Self, SpecError> {
        let start_ns = device.now_ns();
        let load = IssuedLoad::new(spec, device.capacity_bytes(), start_ns, 0)?;
        device.expect(spec.grain_bytes());
        device.declare_content(0, spec.shape.content);
        let mut issue = IssueLoop::new(device, spec.outstanding() as usize, stop);
        issue.add(load, spec.numjobs, spec.iodepth);
        Ok(ShapedLoad {
            issue,
            stretch_start_ns: start_ns,
            numjobs: spec.numjobs,
            is_skewed: spec.shape.distribution != Distribution::Uniform,
        })
    }

    /// Continues for as long as the recorder has intervals.
    pub fn run(
        &mut self,
        recorder: Recorder,
        on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let start_ns = self.stretch_start_ns;
        let end_ns = start_ns.saturating_add(recorder.end_ns());
        self.stretch_start_ns = end_ns;
        let load = &mut self.issue.loads[0];
        load.recorder = recorder;
        load.recorded_from_ns = start_ns;
        let stop = self.issue.run_until(end_ns, on_sample);
        let (device, recorder) = (&mut *self.issue.device, &mut self.issue.loads[0].recorder);
        match stop {
            LoopStop::Reached => recorder.advance(recorder.end_ns(), &mut |sample| on_sample(device, sample)),
            // A trace that has been replayed ends the run with its last answer.
            LoopStop::Exhausted(at_ns) => {
                recorder.cut(at_ns - start_ns, &mut |sample| on_sample(device, sample))
            }
            LoopStop::BrokenOff => ControlFlow::Break(()),
        }
    }
}
