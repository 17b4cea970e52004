//! Controllers that leave and come back: failover, and a firmware update with its verification pass.

use std::ops::Range;

use super::fault_event::Capabilities;
use crate::faults::{ControllerFaults, FailoverStep};

/// Phases of a firmware update: each controller in turn leaves while its peers serve, then a pass over all RAID
/// stripes verifies them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FirmwareUpdate {
    /// Seconds that a controller is away.
    pub controller_away_s: f64,
    /// Seconds between the return of one and the leave of the next.
    pub controller_gap_s: f64,
    /// Rate at which the verification reads each drive, in 10^6 bytes a second.
    pub verification_mb_per_s: f64,
    /// Bytes of each drive that the verification reads.
    pub verification_bytes: u64,
}

/// Nanoseconds of a second.
const SECOND_NS: f64 = 1e9;

/// Presence of a controller: whether it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Up,
    /// It has left; its hosts learn of it at the given moment.
    Away {
        noticed_at_ns: u64,
    },
}

fn is_any_away(presence: &[Presence]) -> bool {
    presence.iter().any(|presence| *presence != Presence::Up)
}

/// Action that a step requires of the array model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControllerEvent {
    /// A controller has left; what waits in it goes to its peers.
    Left(u32),
    /// This stripe is read for verification.
    Verify(u64),
    /// No action.
    Nothing,
}

/// The timing of an update as described.
#[derive(Debug, Clone)]
struct Update {
    away_ns: u64,
    gap_ns: u64,
    /// Between two stripes of the verification.
    stripe_ns: u64,
    /// Stripes that it reads.
    stripes: u64,
}

/// Failover and update state of the controllers: which are up, and the next step.
#[derive(Debug, Clone)]
pub(crate) struct Failover {
    update: Option<Update>,
    presence: Box<[Presence]>,
    is_any_away: bool,
    /// Next step and its moment. Not in the queue, because skipped time brings it nearer and nothing else.
    next_step: Option<(u64, FailoverStep)>,
    /// Stripes still to verify.
    stripes_left: u64,
    /// One controller leaves and comes back, and that is all.
    is_failover: bool,
    /// Controllers serve on while they are updated.
    serves_on: bool,
    /// Time that commands wait on a path whose controller has just left, before they take another path.
    failover_ns: u64,
}

impl Failover {
    /// All controllers up. `stripes` is how many the set has; commands wait `failover_ns` on a path whose controller has just left.
    pub fn new(
        description: Option<&FirmwareUpdate>,
        controllers: u32,
        failover_ns: u64,
        segment_bytes: u64,
        stripes: u64,
    ) -> Self {
        let nanos = |seconds: f64| (seconds * SECOND_NS).round() as u64;
        let update = description.map(|update| Update {
            away_ns: nanos(update.controller_away_s),
            gap_ns: nanos(update.controller_gap_s),
            stripe_ns: (segment_bytes as f64 * 1000.0 / update.verification_mb_per_s).round() as u64,
            stripes: (update.verification_bytes / segment_bytes).min(stripes),
        });
        Failover {
            update,
            presence: vec![Presence::Up; controllers as usize].into(),
            is_any_away: false,
            next_step: None,
            stripes_left: 0,
            is_failover: false,
            serves_on: false,
            failover_ns,
        }
    }

    /// Switches the mechanism off: an update is noted and takes no controller away. A failure still does.
    pub fn serve_on(&mut self) {
        self.serves_on = true;
    }

    /// Returns what can happen to an array of these controllers and nothing else.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            controllers: self.presence.len() as u32,
            can_fail_over: self.update.is_some(),
            is_busy: self.next_step.is_some(),
            ..Capabilities::default()
        }
    }

    /// Returns what is under way at a moment, for another model of the array.
    pub fn faults(&self, now_ns: u64) -> Option<ControllerFaults> {
        let (at_ns, next_step) = self.next_step?;
        let noticed_in_ns = self.presence.iter().map(|presence| match presence {
            Presence::Up => None,
            Presence::Away { noticed_at_ns } => Some(noticed_at_ns.saturating_sub(now_ns)),
        });
        Some(ControllerFaults {
            noticed_in_ns: noticed_in_ns.collect(),
            next_step,
            next_in_ns: at_ns.saturating_sub(now_ns),
            stripes_left: self.stripes_left,
            is_failover: self.is_failover,
        })
    }

    /// Continues what was under way in another model of the array; nothing where this one's controllers cannot leave so.
    pub fn begin_with(&mut self, now_ns: u64, faults: Option<&ControllerFaults>) {
        let (Some(update), Some(faults)) = (&self.update, faults) else { return };
        let controllers = self.presence.len();
        let is_controller = |index: u32| (index as usize) < controllers;
        let is_possible = match faults.next_step {
            FailoverStep::Leave(index) | FailoverStep::Return(index) => is_controller(index),
            FailoverStep::Verify => faults.stripes_left <= update.stripes,
        };
        if !is_possible || faults.noticed_in_ns.len() != controllers {
            return;
        }
        for (presence, noticed) in self.presence.iter_mut().zip(&faults.noticed_in_ns) {
            *presence = match noticed {
                None => Presence::Up,
                Some(in_ns) => Presence::Away { noticed_at_ns: now_ns.saturating_add(*in_ns) },
            };
        }
        self.is_any_away = is_any_away(&self.presence);
        self.next_step = Some((now_ns.saturating_add(faults.next_in_ns), faults.next_step));
        self.stripes_left = faults.stripes_left;
        self.is_failover = faults.is_failover;
    }

    /// Begins an update at a moment.
    pub fn begin_update(&mut self, at_ns: u64) {
        self.is_failover = false;
        self.next_step = Some((at_ns, FailoverStep::Leave(0)));
    }

    /// Begins a failover of one controller at a moment.
    pub fn begin_failover(&mut self, at_ns: u64, controller: u32) {
        self.is_failover = true;
        self.next_step = Some((at_ns, FailoverStep::Leave(controller)));
    }

    /// Controllers of a node that is lost are away until [`Failover::take_back`].
    pub fn lose(&mut self, now_ns: u64, controllers: Range<u32>) {
        let noticed_at_ns = now_ns.saturating_add(self.failover_ns);
        for controller in controllers {
            self.presence[controller as usize] = Presence::Away { noticed_at_ns };
        }
        self.is_any_away = true;
    }

    /// Controllers of a new node serve.
    pub fn take_back(&mut self, controllers: Range<u32>) {
        for controller in controllers {
            self.presence[controller as usize] = Presence::Up;
        }
        self.is_any_away = is_any_away(&self.presence);
    }

    /// Returns whether a controller serves.
    pub fn is_up(&self, controller: u32) -> bool {
        self.presence[controller as usize] == Presence::Up
    }

    /// Returns when the next step is due; `u64::MAX` for never.
    #[inline]
    pub fn next_at_ns(&self) -> u64 {
        self.next_step.map_or(u64::MAX, |(at_ns, _)| at_ns)
    }

    /// Takes the step that is due now; says what has happened, where that is worth a note.
    pub fn step(&mut self, now_ns: u64) -> (ControllerEvent, Option<String>) {
        let (Some((_, step)), Some(update)) = (self.next_step.take(), &self.update) else {
            return (ControllerEvent::Nothing, None);
        };
        match step {
            FailoverStep::Leave(index) => {
                let why = if self.is_failover { "fails" } else { "leaves for its new firmware" };
                self.next_step = Some((now_ns + update.away_ns, FailoverStep::Return(index)));
                let note = Some(format!("controller-{index} {why}"));
                if self.serves_on && !self.is_failover {
                    return (ControllerEvent::Nothing, note);
                }
                let noticed_at_ns = now_ns + self.failover_ns;
                self.presence[index as usize] = Presence::Away { noticed_at_ns };
                self.is_any_away = true;
                (ControllerEvent::Left(index), note)
            }
            FailoverStep::Return(index) => {
                self.presence[index as usize] = Presence::Up;
                self.is_any_away = is_any_away(&self.presence);
                let next = index + 1;
                if !self.is_failover && (next as usize) < self.presence.len() {
                    self.next_step = Some((now_ns + update.gap_ns, FailoverStep::Leave(next)));
                } else if !self.is_failover && update.stripes > 0 {
                    self.stripes_left = update.stripes;
                    self.next_step = Some((now_ns + update.gap_ns, FailoverStep::Verify));
                }
                (ControllerEvent::Nothing, Some(format!("controller-{index} is back")))
            }
            FailoverStep::Verify => {
                let (all, left) = (update.stripes, self.stripes_left);
                let note = if left == all {
                    Some("verification of the RAID stripes begins".to_owned())
                } else if left == 0 {
                    Some("verification of the RAID stripes is done".to_owned())
                } else {
                    None
                };
                if left == 0 {
                    return (ControllerEvent::Nothing, note);
                }
                self.stripes_left -= 1;
                self.next_step = Some((now_ns + update.stripe_ns, FailoverStep::Verify));
                (ControllerEvent::Verify(all - left), note)
            }
        }
    }

    /// Returns whether a controller is away.
    #[inline]
    pub fn is_any_away(&self) -> bool {
        self.is_any_away
    }

    /// True where its hosts have reason to send a controller commands.
    #[inline]
    pub fn is_known_up(&self, controller: u32, now_ns: u64) -> bool {
        match self.presence[controller as usize] {
            Presence::Up => true,
            Presence::Away { noticed_at_ns } => now_ns < noticed_at_ns,
        }
    }

    /// For a controller that is away: when the hosts of a command that has just come to it send it another way.
    pub fn again_at_ns(&self, controller: u32, now_ns: u64) -> Option<u64> {
        match self.presence[controller as usize] {
            Presence::Up => None,
            Presence::Away { noticed_at_ns } => Some(noticed_at_ns.max(now_ns)),
        }
    }

    /// Current owner of the volumes that prefer a controller, in the sense of ALUA: the controller itself, or while it is away the
    /// next one that is up.
    #[inline]
    pub fn current_owner(&self, controller: u32) -> u32 {
        if self.is_any_away { self.next_present(controller) } else { controller }
    }

    fn next_present(&self, controller: u32) -> u32 {
        let count = self.presence.len() as u32;
        (0..count)
            .map(|step| (controller + step) % count)
            .find(|&other| self.presence[other as usize] == Presence::Up)
            .unwrap_or(controller)
    }

    /// Returns where hosts send a command, at a moment, for a volume that a controller owns.
    #[inline]
    pub fn reached(&self, owner: u32, at_ns: u64) -> u32 {
        if !self.is_any_away || self.is_known_up(owner, at_ns) { owner } else { self.next_present(owner) }
    }

    /// Returns whether the hosts know of every controller that is away.
    fn has_noticed(&self, now_ns: u64) -> bool {
        self.presence.iter().all(|presence| match presence {
            Presence::Up => true,
            Presence::Away { noticed_at_ns } => *noticed_at_ns < now_ns,
        })
    }

    /// The stripes left, within the verification: there one step is like another.
    fn verifying(&self) -> Option<&Update> {
        let update = self.update.as_ref()?;
        let is_within = (1..update.stripes).contains(&self.stripes_left);
        (is_within && matches!(self.next_step, Some((_, FailoverStep::Verify)))).then_some(update)
    }

    /// As [`load::FastForward::steady_for_ns`].
    pub fn steady_for_ns(&self, now_ns: u64) -> u64 {
        match (self.next_step, self.verifying()) {
            (None, _) if self.has_noticed(now_ns) => u64::MAX,
            (None, _) => 0,
            (_, Some(update)) => (self.stripes_left - 1) * update.stripe_ns,
            (Some((at_ns, _)), None) if self.has_noticed(now_ns) => at_ns.saturating_sub(now_ns + 1),
            _ => 0,
        }
    }

    /// As [`load::FastForward::skip_time`].
    pub fn skip_time(&mut self, duration_ns: u64) {
        if let Some(stripe_ns) = self.verifying().map(|update| update.stripe_ns) {
            self.stripes_left -= duration_ns / stripe_ns;
        } else if let Some((at_ns, _)) = &mut self.next_step {
            *at_ns -= duration_ns;
        }
    }
}
