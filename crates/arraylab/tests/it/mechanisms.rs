//! Published conclusions on small pieces of the twins, through plan, campaign, store and findings: each that asserts a
//! difference holds, and is refuted when its mechanism is switched off.

use crate::support::{json_lines, succeed};

/// The verdicts of some claims on a piece of a plan, with some switches of the twin.
fn verdicts(plan: &str, switches: &str, piece: &str, claims: &[&str]) -> Vec<(String, String)> {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let target = format!("twin:{plan}{switches}");
    let mut arguments = vec!["run", plan, "--target", &target, "--out", run.to_str().unwrap()];
    arguments.extend(piece.split_whitespace());
    succeed(&arguments);
    let all = json_lines(&succeed(&["claims", run.to_str().unwrap(), "--json"]));
    let word = |claim: &serde_json::Value, key: &str| claim[key].as_str().unwrap().to_owned();
    claims
        .iter()
        .map(|id| {
            let claim = all.iter().find(|claim| claim["id"] == *id).expect(id);
            println!("{target} {id}: {} because {}", word(claim, "verdict"), word(claim, "because"));
            ((*id).to_owned(), word(claim, "verdict"))
        })
        .collect()
}

fn expect(plan: &str, switches: &str, piece: &str, claims: &[&str], verdict: &str) {
    for (id, found) in verdicts(plan, switches, piece, claims) {
        assert_eq!(found, verdict, "{id} on {plan}{switches}");
    }
}

/// Proves that the Dorado's write cliff (D2) is there with its reserve and its garbage collection, and gone without either.
#[test]
fn dorado_write_cliff() {
    let piece = "--stage group-1 --only scenario=1 --only bs=4k --set runtime=8m";
    expect("dorado-2100-g2", "", piece, &["D2"], "holds");
    expect("dorado-2100-g2", ",gc=off", piece, &["D2"], "refuted");
    expect("dorado-2100-g2", ",reserve=off", piece, &["D2"], "refuted");
}

/// Proves that the FlashSystem answers writes earlier than reads (F4) because of its window of commands, and that pure
/// writes have half the rate of pure reads (F6) because of parity.
#[test]
fn flashsystem_window_and_parity() {
    let piece = "--stage block-size --stage read-share --set runtime=0.2 --set ramp_time=0.1";
    expect("flashsystem-840", "", piece, &["F3", "F4", "F6"], "holds");
    expect("flashsystem-840", ",window=off", piece, &["F4"], "refuted");
    expect("flashsystem-840", ",parity=off", piece, &["F6"], "refuted");
}

/// Proves that writes reach a quarter of reads in RAID 5 and a fifth in RAID 6 (R3) because of parity.
#[test]
fn raid_levels_parity() {
    let piece = "--only disks=4,8,12 --only bs=512 --only write_cache=off --set runtime=4";
    expect("raid-levels", "", piece, &["R1", "R3"], "holds");
    expect("raid-levels", ",parity=off", piece, &["R3"], "refuted");
}

/// Proves that the E2700's reads are answered by disks (N2) by what they take: without arms and platters they are not.
#[test]
fn e2700_reads_come_from_disks() {
    let piece = "--stage patterns --only bs=4k,256k --only iodepth=8 --set runtime=10 --set ramp_time=2";
    expect("e2700", "", piece, &["N2"], "holds");
    expect("e2700", ",rotation=off,seek=off", piece, &["N2"], "refuted");
}
