//! First page of a run that answers a question instead of testing an array.

use super::{SizingPage, WhatIfPage};
use crate::chart::Chart;
use crate::table::Table;
use findings::Cited;

/// Page of answers.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswersPage {
    /// Arrays for a workload.
    Sizing(Box<SizingPage>),
    /// Changes of an array.
    WhatIf(Box<WhatIfPage>),
}

impl AnswersPage {
    /// Its tables, in the order of the page.
    pub fn tables(&self) -> Vec<&Table> {
        match self {
            AnswersPage::Sizing(page) => page.tables().collect(),
            AnswersPage::WhatIf(page) => {
                let walk = page.walk.iter().filter_map(|walk| walk.table.as_ref());
                [&page.effects, &page.gains].into_iter().chain(walk).collect()
            }
        }
    }

    /// Its charts, in the order of the page.
    pub fn charts(&self) -> Vec<&Chart> {
        match self {
            AnswersPage::Sizing(page) => page.charts().collect(),
            AnswersPage::WhatIf(page) => {
                page.charts.iter().chain(page.walk.iter().filter_map(|walk| walk.chart.as_ref())).collect()
            }
        }
    }

    /// Its sentences with the part of the page that each stands in.
    pub fn sentences(&self) -> Vec<(&'static str, &Cited)> {
        fn of<'a>(
            part: &'static str,
            texts: impl IntoIterator<Item = &'a Cited>,
        ) -> impl Iterator<Item = (&'static str, &'a Cited)> {
            texts.into_iter().map(move |text| (part, text))
        }
        match self {
            AnswersPage::Sizing(page) => {
                let designs = page.designs.iter().flat_map(|designs| &designs.intro);
                let offers = page.offers.iter().flat_map(|offer| {
                    of("sizing-answer", [&offer.sentence])
                        .chain(of("sizing-reason", &offer.reasons))
                        .chain(of("sizing-basis", &offer.basis))
                        .chain(of("decision", offer.not_tested.iter().chain(&offer.ask)))
                });
                of("sizing-question", &page.question)
                    .chain(of("sizing-caution", &page.caution))
                    .chain(of("sizing-ranking", &page.ranking))
                    .chain(of("sizing-designs", designs))
                    .chain(offers)
                    .collect()
            }
            AnswersPage::WhatIf(page) => of("what-if-question", &page.question)
                .chain(of("what-if-caution", &page.caution))
                .chain(of("what-if-answer", &page.answers))
                .chain(of("what-if-step", page.walk.iter().flat_map(|walk| &walk.sentences)))
                .chain(of("what-if-basis", &page.basis))
                .collect(),
        }
    }
}
