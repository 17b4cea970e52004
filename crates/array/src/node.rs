//! Source tree: a YAML document with the position of each value.

/// Position in a text: line and column from 1, and the width in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// Characters.
    pub width: usize,
}

/// Value of a document with its position.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// Place in the text.
    pub place: Place,
    /// Content of the node.
    pub content: Content,
}

/// Content of a [`Node`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Content {
    /// An empty value.
    #[default]
    Nothing,
    /// Number, word or text, as written.
    Scalar(String),
    /// A list.
    List(Vec<Node>),
    /// A map in the order of its keys, with the position of each key.
    Map(Vec<(String, Place, Node)>),
}

impl Node {
    /// The value of a key of a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _, _)| name == key).map(|(_, _, node)| node)
    }

    /// Keys of a map with their positions and values; none where this is no map.
    pub fn entries(&self) -> &[(String, Place, Node)] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The text of a scalar.
    pub fn scalar(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(text) => Some(text),
            _ => None,
        }
    }
}
