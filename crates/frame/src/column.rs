//! Columns of values of one type.

/// A table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// Its columns, all equally long.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name, which ends in the unit where it has one.
    pub name: String,
    /// Its values; where `present` is false, the value there means nothing.
    pub values: Values,
    /// Presence of each value; `None` where all are present.
    pub present: Option<Vec<bool>>,
}

/// Values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Whole numbers, some of which exceed 2^63 - 1.
    Unsigned(Vec<u64>),
    /// Numbers.
    Floats(Vec<f64>),
    /// True or false.
    Booleans(Vec<bool>),
    /// Texts.
    Texts(Vec<String>),
    /// Texts with few distinct values: the index of each row's text among them.
    Categories {
        /// Places in `texts`, a row each.
        places: Vec<u32>,
        /// The different texts.
        texts: Vec<String>,
    },
}

impl Values {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Integers(values) => values.len(),
            Values::Unsigned(values) => values.len(),
            Values::Floats(values) => values.len(),
            Values::Booleans(values) => values.len(),
            Values::Texts(values) => values.len(),
            Values::Categories { places, .. } => places.len(),
        }
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Frame {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl Column {
    /// A column all of whose values are known.
    pub fn new(name: impl Into<String>, values: Values) -> Column {
        Column { name: name.into(), values, present: None }
    }

    /// Returns true if a row has a value.
    pub fn is_present(&self, row: usize) -> bool {
        self.present.as_ref().is_none_or(|present| present[row])
    }
}

/// Column of numbers under construction, some of which may be missing.
#[derive(Debug, Default)]
pub(crate) struct Growing<T> {
    values: Vec<T>,
    present: Vec<bool>,
}

impl<T: Default> Growing<T> {
    pub fn push(&mut self, value: Option<T>) {
        self.present.push(value.is_some());
        self.values.push(value.unwrap_or_default());
    }

    pub fn column(self, name: &str, values: fn(Vec<T>) -> Values) -> Column {
        let present = self.present.contains(&false).then_some(self.present);
        Column { name: name.to_owned(), values: values(self.values), present }
    }
}

/// Column of few different texts under construction.
#[derive(Debug, Default)]
pub(crate) struct GrowingCategories {
    places: Vec<u32>,
    texts: Vec<String>,
    present: Vec<bool>,
    /// Place of the text that came last: rows of one case and load follow each other.
    last: u32,
}

impl GrowingCategories {
    pub fn push(&mut self, text: Option<&str>) {
        self.present.push(text.is_some());
        let place = text.map_or(0, |text| self.place_of(text));
        self.places.push(place);
    }

    fn place_of(&mut self, text: &str) -> u32 {
        if self.texts.get(self.last as usize).is_some_and(|known| known == text) {
            return self.last;
        }
        let known = self.texts.iter().position(|known| known == text);
        let place = known.unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.texts.len() - 1
        });
        self.last = place as u32;
        self.last
    }

    pub fn column(mut self, name: &str) -> Column {
        if self.texts.is_empty() && !self.places.is_empty() {
            // Places of missing values point somewhere.
            self.texts.push(String::new());
        }
        let present = self.present.contains(&false).then_some(self.present);
        Column {
            name: name.to_owned(),
            values: Values::Categories { places: self.places, texts: self.texts },
            present,
        }
    }
}
