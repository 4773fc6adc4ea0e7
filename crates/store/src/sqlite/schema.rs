//! The numbered steps from an empty file to today's tables. A step that was ever released never changes; a new shape
//! gets a new step. `user_version` is the number of the last step taken.

use crate::store::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

const MIGRATIONS: [&str; 10] = [
    include_str!("migrations/0001_spine.sql"),
    include_str!("migrations/0002_runs.sql"),
    include_str!("migrations/0003_revisions.sql"),
    include_str!("migrations/0004_bulk_runs.sql"),
    include_str!("migrations/0005_following.sql"),
    include_str!("migrations/0006_rollups.sql"),
    include_str!("migrations/0007_events.sql"),
    include_str!("migrations/0008_waits.sql"),
    include_str!("migrations/0009_heard.sql"),
    include_str!("migrations/0010_blobs.sql"),
];

/// The first word of our files' header, so that no other program's database is taken for ours.
const APPLICATION_ID: i64 = 0x5369_676e;

/// Takes every step that is missing, each in a transaction of its own: a crash leaves the file at a whole number.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let taken = version(db, path)?;
    for (step, sql) in MIGRATIONS.iter().enumerate().skip(taken) {
        let migration = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        migration.execute_batch(sql)?;
        migration.pragma_update(None, "user_version", step as i64 + 1)?;
        migration.commit()?;
    }
    Ok(())
}

/// For one who may not migrate: refuses every file that is not at today's number.
pub(super) fn require_current(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let taken = version(db, path)?;
    if taken == MIGRATIONS.len() {
        return Ok(());
    }
    let path = path.display();
    Err(StoreError::Failed(format!(
        "{path} has format {taken}, older than this program's format {}: start the server once to bring it up to date",
        MIGRATIONS.len()
    )))
}

fn version(db: &Connection, path: &Path) -> Result<usize, StoreError> {
    let pragma = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (taken, application) = (pragma("user_version")?, pragma("application_id")?);
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let path = path.display();
    if application != APPLICATION_ID && (tables > 0 || taken != 0) {
        return Err(StoreError::Failed(format!("{path} is a database of another program")));
    }
    match usize::try_from(taken) {
        Ok(taken) if taken <= MIGRATIONS.len() => Ok(taken),
        _ => Err(StoreError::Newer(format!(
            "{path} has format {taken}, this program knows formats up to {}: it was written by a newer signaller, so use that \
             version, or a copy of the data from before",
            MIGRATIONS.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::row::{Kind, TABLES};

    fn fresh() -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db, Path::new("test.db")).unwrap();
        db
    }

    #[test]
    fn the_tables_have_the_kernels_columns() {
        let db = fresh();
        for table in TABLES {
            let mut statement = db.prepare("SELECT name, type, pk FROM pragma_table_xinfo(?1) ORDER BY cid").unwrap();
            let columns = statement.query_map([table.name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
            let columns: Vec<(String, String, i64)> = columns.map(Result::unwrap).collect();
            let expected: Vec<(String, String, i64)> = (table.columns.iter().enumerate())
                .map(|(at, (name, kind))| {
                    let kind = match kind {
                        Kind::Int => "INTEGER",
                        Kind::Text => "TEXT",
                    };
                    (name.to_string(), kind.to_owned(), if at < table.key { at as i64 + 1 } else { 0 })
                })
                .collect();
            assert_eq!(columns, expected, "{}", table.name);
        }
    }

    #[test]
    fn every_table_is_strict() {
        let db = fresh();
        let loose: i64 = db
            .query_row(
                "SELECT count(*) FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND NOT strict",
                [],
                |r| r.get(0),
            )
            .unwrap();
        assert_eq!(loose, 0);
    }

    #[test]
    fn the_views_for_people_work() {
        let db = fresh();
        for view in ["readable_tasks", "task_payloads", "readable_records", "readable_runs", "readable_nodes", "readable_events"]
        {
            let count: i64 = db.query_row(&format!("SELECT count(*) FROM (SELECT * FROM {view})"), [], |row| row.get(0)).unwrap();
            assert_eq!(count, 0, "{view}");
        }
    }

    #[test]
    fn migrating_again_changes_nothing() {
        let mut db = fresh();
        migrate(&mut db, Path::new("test.db")).unwrap();
        require_current(&db, Path::new("test.db")).unwrap();
    }

    #[test]
    fn files_of_the_future_and_of_others_are_refused() {
        for (spoil, part) in [
            ("PRAGMA user_version = 99", "has format 99, this program knows formats up to"),
            ("PRAGMA user_version = -1", "has format -1"),
            ("PRAGMA application_id = 7", "is a database of another program"),
        ] {
            let mut db = fresh();
            db.execute_batch(spoil).unwrap();
            let error = migrate(&mut db, Path::new("test.db")).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let mut other = Connection::open_in_memory().unwrap();
        other.execute_batch("CREATE TABLE theirs (x)").unwrap();
        assert!(migrate(&mut other, Path::new("test.db")).is_err());
        let empty = Connection::open_in_memory().unwrap();
        let error = require_current(&empty, Path::new("test.db")).unwrap_err().to_string();
        assert!(error.contains("start the server once"), "{error}");
    }
}
