//! Cost of an I/O of the engine on this host, beside the installed fio: `cargo run --release -p load-engine --example bench [ROUNDS [SECONDS [SCENARIO]]]`.

use load_engine::{BenchSettings, bench};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut settings = BenchSettings::default();
    if let Some(rounds) = arguments.next() {
        settings.rounds = rounds.parse()?;
    }
    if let Some(seconds) = arguments.next() {
        settings.runtime_ns = (seconds.parse::<f64>()? * 1e9) as u64;
    }
    settings.only = arguments.next().unwrap_or_default();
    bench(&settings, &mut |result| match serde_json::to_string(result) {
        Ok(line) => println!("{line}"),
        Err(error) => eprintln!("{error}"),
    })?;
    Ok(())
}
