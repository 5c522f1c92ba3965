//! Columns: which fields of a line are the user, the item and the rating.
//!
//! A column is given by name or place, or found by the header, which must then name exactly one
//! user and one item by a word that is known here. Without a header the first field is the user,
//! the second the item, and the third, if there is one, the rating. What the caller reads as something else
//! is no rating, unless it is given as one too.

use super::ids::quoted;
use super::lines::{Line, bad_line};
use crate::error::Result;

/// Names of columns in a header, in lower case, letters and digits only, without "id" at the end.
const USER_NAMES: [&str; 5] = ["user", "customer", "reader", "member", "visitor"];
const ITEM_NAMES: [&str; 8] = [
    "item", "movie", "product", "book", "article", "track", "song", "artist",
];
const RATING_NAMES: [&str; 3] = ["rating", "score", "stars"];

/// A column as the caller gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// By its name in the header.
    Named(String),
    /// By its place, counted from 0.
    At(usize),
}

/// A column that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its place, counted from 0.
    pub at: usize,
    /// Its name, if there is a header.
    pub name: Option<String>,
}

/// Something for each of user, item and rating: the column that a caller gives, or the one taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Columns<T, R = T> {
    pub user: T,
    pub item: T,
    pub rating: R,
}

pub(super) type GivenColumns = Columns<Option<Column>>;
pub(super) type FoundColumns = Columns<Taken, Option<Taken>>;

/// What a column holds, and how a caller names it.
#[derive(Clone, Copy)]
struct Role {
    what: &'static str,
    known: &'static [&'static str],
}

const USER: Role = Role {
    what: "user",
    known: &USER_NAMES,
};
const ITEM: Role = Role {
    what: "item",
    known: &ITEM_NAMES,
};
const RATING: Role = Role {
    what: "rating",
    known: &RATING_NAMES,
};

impl Role {
    /// Whether a column of this name is known to be of this role.
    fn knows(self, name: &str) -> bool {
        let name: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
        let name = name.to_lowercase();
        self.known
            .contains(&name.strip_suffix("id").unwrap_or(&name))
    }

    /// The places of a header that have a known name.
    fn places(self, header: &Line) -> Vec<usize> {
        let fields = header.fields().enumerate();
        fields
            .filter(|(_, field)| self.knows(field))
            .map(|(at, _)| at)
            .collect()
    }
}

/// What a column of this name is known to hold: "user", "item" or "rating".
pub fn role_of(name: &str) -> Option<&'static str> {
    let role = [USER, ITEM, RATING]
        .into_iter()
        .find(|role| role.knows(name));
    role.map(|role| role.what)
}

/// Whether a line names a user's column.
pub(super) fn names_a_user(line: &Line) -> bool {
    !USER.places(line).is_empty()
}

impl GivenColumns {
    /// Whether one is given by its name, which a header must have.
    pub fn by_name(&self) -> bool {
        let given = [&self.user, &self.item, &self.rating];
        (given.into_iter().flatten()).any(|column| matches!(column, Column::Named(_)))
    }

    /// The columns of a file whose first line this is.
    ///
    /// # Errors
    ///
    /// [`Error::Value`](crate::Error::Value) if a column that is given is not there, if the header
    /// does not name the user and the item, or two of them, or if one column is taken twice.
    pub fn find(
        &self,
        file: &str,
        first: &Line,
        header: bool,
        rated: bool,
        others: &[Column],
    ) -> Result<FoundColumns> {
        let line = Context {
            file,
            first,
            header,
        };
        let user = match &self.user {
            Some(column) => line.given(USER, column)?,
            None => line.required(USER, 0)?,
        };
        let item = match &self.item {
            Some(column) => line.given(ITEM, column)?,
            None => line.required(ITEM, 1)?,
        };
        let rating = match &self.rating {
            Some(column) => Some(line.given(RATING, column)?),
            None if !rated => None,
            None if header => line.by_header(RATING, others)?,
            // If the first two are not the user and the item, the third need not be the rating.
            None if user.at > 1 || item.at > 1 || first.width() < 3 => None,
            None => (!line.is_among(others, 2)).then(|| line.taken(2)),
        };
        let taken = [Some(user.at), Some(item.at), rating.as_ref().map(|r| r.at)];
        for (at, roles) in [
            (0, "user and item"),
            (1, "item and rating"),
            (2, "rating and user"),
        ] {
            let (one, other) = (taken[at], taken[(at + 1) % 3]);
            if let (Some(one), Some(other)) = (one, other)
                && one == other
            {
                let found = format!("{roles} in the same column, {}", line.show(one));
                return Err(line.bad(&found, "one column each"));
            }
        }
        Ok(Columns { user, item, rating })
    }
}

/// The first line of a file.
#[derive(Clone, Copy)]
struct Context<'a> {
    file: &'a str,
    first: &'a Line,
    header: bool,
}

impl Context<'_> {
    fn bad(&self, found: &str, expected: &str) -> crate::error::Error {
        bad_line(self.file, self.first.number, found, expected)
    }

    fn taken(&self, at: usize) -> Taken {
        Taken {
            at,
            name: self.header.then(|| self.first.field(at).to_owned()),
        }
    }

    fn show(&self, at: usize) -> String {
        match self.header {
            true => quoted(self.first.field(at)),
            false => format!("number {} from 0", at),
        }
    }

    /// Whether one of these columns is the one at a place.
    fn is_among(&self, columns: &[Column], at: usize) -> bool {
        columns.iter().any(|column| match column {
            Column::At(given) => *given == at,
            Column::Named(name) => self.header && self.first.field(at) == name,
        })
    }

    /// All columns, for a message.
    fn all(&self) -> String {
        let names: Vec<String> = self.first.fields().map(quoted).collect();
        names.join(", ")
    }

    fn given(&self, role: Role, column: &Column) -> Result<Taken> {
        let what = role.what;
        match column {
            Column::At(at) if *at < self.first.width() => Ok(self.taken(*at)),
            Column::At(at) => {
                let found = format!("{} columns", self.first.width());
                let expected = format!("one of number {at} from 0 for the {what}");
                Err(self.bad(&found, &expected))
            }
            Column::Named(name) => {
                let mut places = self.first.fields().enumerate();
                let mut places = places.by_ref().filter(|(_, field)| field == name);
                match (places.next(), places.next()) {
                    (Some((at, _)), None) => Ok(self.taken(at)),
                    (Some(_), Some(_)) => {
                        let found = format!("{} twice among {}", quoted(name), self.all());
                        let expected = format!("one column of the {what}, given by its number");
                        Err(self.bad(&found, &expected))
                    }
                    (None, _) => {
                        let found = format!("the columns {}", self.all());
                        let expected = format!("{} for the {what}", quoted(name));
                        Err(self.bad(&found, &expected))
                    }
                }
            }
        }
    }

    /// The column that a header names, or, if there is none, the one at a place.
    fn required(&self, role: Role, at: usize) -> Result<Taken> {
        if !self.header {
            return self.given(role, &Column::At(at));
        }
        match self.by_header(role, &[])? {
            Some(taken) => Ok(taken),
            None => {
                let what = role.what;
                let found = format!("a header with the columns {}", self.all());
                let expected = format!(
                    "one of the {what}: give its name as {what}_column (--{what}-column), or say \
                     that there is no header"
                );
                Err(self.bad(&found, &expected))
            }
        }
    }

    /// The one column that the header names so, and that is none of the others.
    fn by_header(&self, role: Role, others: &[Column]) -> Result<Option<Taken>> {
        let mut places = role.places(self.first);
        places.retain(|&at| !self.is_among(others, at));
        match places[..] {
            [] => Ok(None),
            [at] => Ok(Some(self.taken(at))),
            [..] => {
                let what = role.what;
                let found = format!("a header with the columns {}", self.all());
                let expected = format!(
                    "one of the {what}, not several: give its name as {what}_column \
                     (--{what}-column)"
                );
                Err(self.bad(&found, &expected))
            }
        }
    }
}
