//! SQLite schema of `run.sqlite`.

use crate::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};
use std::path::Path;
use std::time::Duration;

/// `PRAGMA application_id` of a run: "ALab".
pub const APPLICATION_ID: i32 = 0x414c_6162;

/// `PRAGMA user_version` of the schema that this code writes and reads.
pub const SCHEMA_VERSION: i32 = 2;

const SCHEMA: &str = include_str!("schema.sql");

/// Tables that came after the schema's version: readers take their absence for nothing known.
const CONFIDENCES: &str = include_str!("confidences.sql");
const HOSTS: &str = include_str!("hosts.sql");
const SUSTAINED: &str = include_str!("sustained.sql");

/// Timeout of a write that waits for another: `arraylab mark` holds the database for the length of one insert.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Parsed statements that a connection keeps.
const STATEMENTS_KEPT: usize = 64;

/// The journal of a run: readers see the last commit while the run writes.
const JOURNAL: &str = "WAL";
/// The journal on a file system that maps no memory for several processes (9p, some network file systems), which WAL needs:
/// just as safe, and readers wait for a commit's end.
const JOURNAL_WITHOUT_SHARED_MEMORY: &str = "TRUNCATE";

/// A new database, with its schema in place.
pub(crate) fn create(path: &Path) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::database(path, error);
    match create_with(path, JOURNAL) {
        Err(error) if is_without_shared_memory(&error) => {
            // It is marked as one with WAL, and can no longer be opened here.
            for suffix in ["", "-wal", "-shm"] {
                let file = path.with_file_name(format!("{}{suffix}", crate::directory::DATABASE_FILE));
                match std::fs::remove_file(&file) {
                    Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                        return Err(StoreError::Io { action: "remove", path: file, source });
                    }
                    _ => {}
                }
            }
            create_with(path, JOURNAL_WITHOUT_SHARED_MEMORY).map_err(failed)
        }
        created => created.map_err(failed),
    }
}

fn is_without_shared_memory(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        [ffi::SQLITE_IOERR_SHMMAP, ffi::SQLITE_IOERR_SHMOPEN, ffi::SQLITE_IOERR_SHMLOCK]
            .contains(&error.extended_code)
    })
}

fn create_with(path: &Path, journal: &str) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    configure(&connection)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    connection.pragma_update(None, "journal_mode", journal)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.execute_batch(CONFIDENCES)?;
    transaction.execute_batch(HOSTS)?;
    transaction.execute_batch(SUSTAINED)?;
    transaction.commit()?;
    Ok(connection)
}

/// The database of an existing run, to write.
pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = checked(path, Connection::open_with_flags(path, flags))?;
    // A run that an earlier version began has no place for these yet.
    for tables in [CONFIDENCES, HOSTS, SUSTAINED] {
        connection.execute_batch(tables).map_err(|error| StoreError::database(path, error))?;
    }
    Ok(connection)
}

/// The database of an existing run, to read, also while another process writes it.
pub(crate) fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = checked(path, Connection::open_with_flags(path, flags));
    let unopenable = matches!(&opened, Err(StoreError::Database { source, .. })
        if matches!(source.sqlite_error_code(), Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly)));
    let wal = path.with_file_name(format!("{}-wal", crate::directory::DATABASE_FILE));
    // On a read-only file system SQLite cannot make the shared-memory file that WAL needs. Where no WAL is left
    // over, the database file is all there is, and nobody can be writing it.
    if unopenable && !std::fs::metadata(&wal).is_ok_and(|wal| wal.len() > 0) {
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        return checked(path, Connection::open_with_flags(immutable_uri(path), flags));
    }
    opened
}

fn checked(path: &Path, opened: rusqlite::Result<Connection>) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::database(path, error);
    let connection = opened.map_err(failed)?;
    configure(&connection).map_err(failed)?;
    let pragma =
        |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed);
    if pragma("application_id")? != i64::from(APPLICATION_ID) {
        return Err(StoreError::Corrupt {
            path: path.into(),
            detail: "it is not a database of arraylab".into(),
        });
    }
    let found = pragma("user_version")?;
    if found != i64::from(SCHEMA_VERSION) {
        let supported = i64::from(SCHEMA_VERSION);
        return Err(StoreError::WrongVersion { path: path.into(), found, supported });
    }
    Ok(connection)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    // Reading a case takes more statements than are kept by default: each would be parsed anew for every case.
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // A run directory may come from somebody else: nothing in its schema may call anything, and a damaged page
    // is to be noticed, not followed.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Plans do not depend on bound values. Without this SQLite parses a statement anew for each value of a parameter in a
    // condition (it is built with STAT4): a quarter of the time in which findings read a run of 10,000 cases.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(())
}

/// The path as an SQLite URI; every byte that means something in a URI is escaped.
fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    uri.push_str("?immutable=1");
    uri
}
