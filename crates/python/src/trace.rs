//! A twin step by step: operations at given times go in, latencies come out.

use crate::errors::{refused, refused_plain};
use diagnostic::Problem;
use load::{Completion, Device as _, Direction, Operation};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use serde_json::{Map, Value};
use std::sync::{Mutex, PoisonError};

/// Latency of an operation that failed.
const FAILED_NS: i64 = -1;

/// A simulated array that keeps its state between calls.
#[pyclass(module = "arraylab._native", frozen)]
pub struct Twin {
    twin: Mutex<twin::Twin>,
    capacity_bytes: u64,
}

/// Columns of a trace, equally long.
struct Trace<'a> {
    at_ns: &'a [u64],
    direction: &'a [u8],
    offset_bytes: &'a [u64],
    length_bytes: &'a [u32],
    job: &'a [u32],
    /// Latencies count from the issue of an operation, not from its time.
    from_issue: bool,
}

#[pymethods]
impl Twin {
    /// A twin of an array's text; `settings` is a JSON object of array settings and switches.
    #[new]
    fn build(py: Python<'_>, name: &str, text: &str, settings: &str, seed: u64) -> PyResult<Twin> {
        let settings: Map<String, Value> = serde_json::from_str(settings).map_err(refused_plain)?;
        py.detach(|| {
            let description = plan::parse_array(name, text).map_err(refused)?;
            let twin = twin::Twin::build(&description, &settings, seed).map_err(refused_plain)?;
            Ok(Twin { capacity_bytes: twin.capacity_bytes(), twin: Mutex::new(twin) })
        })
    }

    /// Bytes that may be addressed.
    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Time on the twin's clock, in nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.twin.lock().unwrap_or_else(PoisonError::into_inner).now_ns()
    }

    /// Counters of the parts: entity, name, value.
    fn counters(&self) -> Vec<(String, String, u64)> {
        let twin = self.twin.lock().unwrap_or_else(PoisonError::into_inner);
        let counters = twin.counters().into_iter();
        counters.map(|counter| (counter.entity, counter.name.to_owned(), counter.value)).collect()
    }

    /// Returns the events of the array since the last call: time in nanoseconds and text.
    fn take_events(&self) -> Vec<(u64, String)> {
        let mut twin = self.twin.lock().unwrap_or_else(PoisonError::into_inner);
        twin.take_notes().into_iter().map(|note| (note.at_ns, note.says)).collect()
    }

    /// Plans an event, such as `drive-failure`, at a time of the twin's clock; `arguments` is a JSON object.
    fn act(&self, at_ns: u64, action: &str, arguments: &str) -> PyResult<()> {
        let arguments: Map<String, Value> = serde_json::from_str(arguments).map_err(refused_plain)?;
        let mut twin = self.twin.lock().unwrap_or_else(PoisonError::into_inner);
        twin.act(at_ns, action, &arguments).map_err(refused_plain)
    }

    /// Latencies in nanoseconds (as 8-byte integers, -1 of an operation that failed) of operations in order of their times.
    /// All buffers are contiguous and equally long: uint64 times, uint8 directions (0 read, 1 write, 2 trim), uint64 offsets in
    /// bytes, uint32 lengths in bytes, uint32 jobs. With `from_issue` they count from the moment at which the host had handed the
    /// operation over, as fio's `clat` does; else from its time, as in open loop.
    #[expect(clippy::too_many_arguments, reason = "columns of a trace")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        at_ns: PyBuffer<u64>,
        direction: PyBuffer<u8>,
        offset_bytes: PyBuffer<u64>,
        length_bytes: PyBuffer<u32>,
        job: PyBuffer<u32>,
        from_issue: bool,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        // Copies: another thread may write to the arrays while the interpreter is released.
        let (at_ns, direction) = (at_ns.to_vec(py)?, direction.to_vec(py)?);
        let (offset_bytes, length_bytes) = (offset_bytes.to_vec(py)?, length_bytes.to_vec(py)?);
        let job = job.to_vec(py)?;
        let trace = Trace {
            at_ns: &at_ns,
            direction: &direction,
            offset_bytes: &offset_bytes,
            length_bytes: &length_bytes,
            job: &job,
            from_issue,
        };
        let latencies = py.detach(|| {
            let mut twin = self.twin.lock().unwrap_or_else(PoisonError::into_inner);
            trace.check(&twin).map_err(refused)?;
            Ok::<_, PyErr>(trace.replay(&mut twin))
        })?;
        PyByteArray::new_with(py, latencies.len() * 8, |bytes| {
            for (place, latency) in bytes.chunks_exact_mut(8).zip(&latencies) {
                place.copy_from_slice(&latency.to_ne_bytes());
            }
            Ok(())
        })
    }
}

impl Trace<'_> {
    /// Refuses what no twin can be given.
    fn check(&self, twin: &twin::Twin) -> Result<(), Problem> {
        let length = self.at_ns.len();
        let others = [self.direction.len(), self.offset_bytes.len(), self.length_bytes.len(), self.job.len()];
        if others.iter().any(|&other| other != length) {
            let problem = Problem::new(format!("the arrays have {length} and {others:?} items"));
            return Err(problem.with_hint("they need equally many"));
        }
        let mut before_ns = twin.now_ns();
        let capacity_bytes = twin.capacity_bytes();
        for row in 0..length {
            if self.at_ns[row] < before_ns {
                let at_ns = self.at_ns[row];
                let problem =
                    Problem::new(format!("operation {row} at {at_ns} ns comes before {before_ns} ns"));
                return Err(problem.with_hint("sort by time, and begin no earlier than `now_ns`"));
            }
            before_ns = self.at_ns[row];
            if self.direction[row] > 2 {
                let problem = Problem::new(format!("operation {row} has direction {}", self.direction[row]));
                return Err(problem.with_hint("0 is read, 1 write, 2 trim"));
            }
            let bytes = u64::from(self.length_bytes[row]);
            let end = self.offset_bytes[row].checked_add(bytes);
            if bytes == 0 || end.is_none_or(|end| end > capacity_bytes) {
                return Err(Problem::new(format!(
                    "operation {row} of {bytes} bytes at byte {} is not within the {capacity_bytes} bytes of the array",
                    self.offset_bytes[row]
                )));
            }
        }
        Ok(())
    }

    /// The largest power of two of which all operations begin and end at multiples.
    fn grain_bytes(&self) -> u32 {
        let bits = self.offset_bytes.iter().fold(0, |bits, &offset| bits | offset)
            | self.length_bytes.iter().fold(0, |bits, &length| bits | u64::from(length));
        1 << bits.trailing_zeros().min(31)
    }

    fn replay(&self, twin: &mut twin::Twin) -> Vec<i64> {
        let mut latency_ns = vec![FAILED_NS; self.at_ns.len()];
        // Which row each tag in flight is of, and the tags that are free.
        let (mut row_of_tag, mut free_tags): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        twin.expect(self.grain_bytes());
        let mut take = |completion: Completion, row_of_tag: &[u32], free_tags: &mut Vec<u32>| {
            let row = row_of_tag[completion.tag as usize] as usize;
            let begin_ns = if self.from_issue { completion.issued_at_ns } else { self.at_ns[row] };
            if completion.outcome.is_ok() {
                latency_ns[row] = i64::try_from(completion.at_ns - begin_ns).unwrap_or(i64::MAX);
            }
            free_tags.push(completion.tag);
        };
        for row in 0..self.at_ns.len() {
            let at_ns = self.at_ns[row];
            while let Some(completion) = twin.next_completion(at_ns) {
                take(completion, &row_of_tag, &mut free_tags);
            }
            let tag = free_tags.pop().unwrap_or_else(|| {
                row_of_tag.push(0);
                row_of_tag.len() as u32 - 1
            });
            row_of_tag[tag as usize] = row as u32;
            let direction = match self.direction[row] {
                0 => Direction::Read,
                1 => Direction::Write,
                _ => Direction::Trim,
            };
            let operation = Operation {
                direction,
                offset_bytes: self.offset_bytes[row],
                length_bytes: self.length_bytes[row],
                job: self.job[row],
            };
            twin.submit(at_ns, tag, operation);
        }
        while free_tags.len() < row_of_tag.len() {
            match twin.next_completion(u64::MAX) {
                Some(completion) => take(completion, &row_of_tag, &mut free_tags),
                None => break,
            }
        }
        latency_ns
    }
}
