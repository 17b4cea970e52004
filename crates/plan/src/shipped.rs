//! The plans, arrays and published tables inside the binary.

/// A plan or an array that ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Name on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub title: &'static str,
    /// YAML text of the plan.
    pub text: &'static str,
}

/// A published table that ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedTable {
    /// Its path under `published/`.
    pub name: &'static str,
    /// CSV text of the table.
    pub text: &'static str,
}

macro_rules! yaml {
    ($kind:literal, $name:literal) => {
        ($name, include_str!(concat!("../../../", $kind, "/", $name, ".yaml")))
    };
}

macro_rules! table {
    ($name:literal) => {
        ShippedTable { name: $name, text: include_str!(concat!("../../../published/", $name)) }
    };
}

const PLANS: &[(&str, &str)] = &[
    yaml!("plans", "quick"),
    yaml!("plans", "features"),
    yaml!("plans", "flashsystem-840"),
    yaml!("plans", "dorado-2100-g2"),
    yaml!("plans", "dorado-2100-g2-short"),
    yaml!("plans", "raid-levels"),
    yaml!("plans", "e2700"),
    yaml!("plans", "storpool"),
    yaml!("plans", "acceptance"),
    yaml!("plans", "purchase"),
    yaml!("plans", "calibrate"),
    yaml!("plans", "snia-iops"),
    yaml!("plans", "snia-throughput"),
    yaml!("plans", "snia-latency"),
    yaml!("plans", "snia-write-saturation"),
    yaml!("plans", "snia-host-idle-recovery"),
    yaml!("plans", "snia-cross-stimulus-recovery"),
    yaml!("plans", "snia-demand-intensity"),
    yaml!("plans", "snia-composite-blocks"),
];

const PUBLISHED: &[ShippedTable] = &[
    table!("dorado-2100-g2/maxima.csv"),
    table!("dorado-2100-g2/sustained.csv"),
    table!("flashsystem-840/block-size.csv"),
    table!("flashsystem-840/read-share.csv"),
    table!("raid-levels/read-512.csv"),
    table!("storpool/latency.csv"),
    table!("unseen/dorado-2100-g2.csv"),
    table!("unseen/flashsystem-840-block-size.csv"),
    table!("unseen/flashsystem-840-read-share.csv"),
    table!("unseen/raid-levels-read-512.csv"),
    table!("unseen/storpool.csv"),
];

const ARRAYS: &[(&str, &str)] = &[
    yaml!("arrays", "flashsystem-840"),
    yaml!("arrays", "dorado-2100-g2"),
    yaml!("arrays", "raid-levels"),
    yaml!("arrays", "e2700"),
    yaml!("arrays", "storpool"),
    yaml!("arrays", "st1000nm0023"),
    yaml!("arrays", "small-flash"),
    yaml!("arrays", "composite-flash"),
    yaml!("arrays", "flashsystem-840-2015"),
    yaml!("arrays", "hus-vm"),
    yaml!("arrays", "micron-9550-max"),
    yaml!("arrays", "linux-md-nvme"),
    yaml!("arrays/examples", "all-nvme-raid6"),
    yaml!("arrays/examples", "erasure-12-nodes"),
    yaml!("arrays/examples", "flash-and-disks"),
    yaml!("arrays/examples", "host-raid10-nvme"),
    yaml!("arrays/examples", "hybrid-read-cache"),
    yaml!("arrays/examples", "nas-iscsi-raid6"),
    yaml!("arrays/examples", "nas-raid5"),
    yaml!("arrays/examples", "pool-60-disks"),
    yaml!("arrays/examples", "reduced-flash"),
    yaml!("arrays/examples", "replicas-12-nodes"),
    yaml!("arrays/examples", "server-raid-card"),
    yaml!("arrays/examples", "two-sites"),
];

/// The arrays that ship.
pub fn shipped_arrays() -> Vec<Shipped> {
    shipped(ARRAYS)
}

/// The plans that ship.
pub fn shipped_plans() -> Vec<Shipped> {
    shipped(PLANS)
}

/// The published tables of one system (`flashsystem-840`), in order of their names.
pub fn published(system: &str) -> Vec<ShippedTable> {
    PUBLISHED
        .iter()
        .filter(|table| table.name.split_once('/').is_some_and(|(owner, _)| owner == system))
        .copied()
        .collect()
}

pub(crate) fn published_text(name: &str) -> Option<&'static str> {
    PUBLISHED.iter().find(|table| table.name == name).map(|table| table.text)
}

pub(crate) fn published_names() -> impl Iterator<Item = &'static str> + Clone {
    PUBLISHED.iter().map(|table| table.name)
}

fn shipped(files: &[(&'static str, &'static str)]) -> Vec<Shipped> {
    files.iter().map(|&(name, text)| Shipped { name, title: title_line(text), text }).collect()
}

/// The value of the top-level `title:`, which a shipped file has on one line, in quotes where it has a colon.
fn title_line(text: &'static str) -> &'static str {
    text.lines().find_map(|line| line.strip_prefix("title: ")).unwrap_or_default().trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that what a list shows as the title of a shipped plan is what the plan itself says.
    #[test]
    fn listed_titles_are_the_plans() {
        for shipped in shipped_plans() {
            let plan = crate::parse_plan(shipped.name, shipped.name, shipped.text).unwrap();
            assert_eq!(plan.title, shipped.title);
        }
    }
}
