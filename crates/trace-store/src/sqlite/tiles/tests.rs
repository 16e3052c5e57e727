use super::*;
use crate::merkle;
use crate::merkle::{MerkleTree, verify_consistency, verify_inclusion};
use crate::sqlite::schema;

/// A file whose log has the given number of leaves and nothing else.
fn large(size: u64) -> (Connection, MerkleTree) {
    let db = Connection::open_in_memory().unwrap();
    schema::create(&db, &weaver_types::OsRandom).unwrap();
    let (mut tree, mut frontier, mut tiles) =
        (MerkleTree::default(), Frontier::default(), PartialTiles::default());
    db.execute_batch("BEGIN").unwrap();
    {
        let mut add = db
            .prepare("INSERT INTO events (seq, header, leaf, durability) VALUES (?1, x'00', ?2, 1)")
            .unwrap();
        for seq in 0..size {
            let leaf = merkle::leaf_hash(&seq.to_be_bytes());
            add.execute(params![to_sql(seq).unwrap(), leaf]).unwrap();
            tree.push(leaf);
            frontier.push_with(leaf, &mut |level, place, hash| tiles.put(level, place, hash));
            if seq % 1000 == 0 {
                save(&db, &tiles.take_changed()).unwrap();
            }
        }
    }
    save(&db, &tiles.take_changed()).unwrap();
    db.execute(
        "UPDATE meta SET size = ?1, root = ?2, frontier = ?3",
        params![to_sql(size).unwrap(), frontier.root(), frontier.to_bytes()],
    )
    .unwrap();
    db.execute_batch("COMMIT").unwrap();
    (db, tree)
}

#[test]
fn three_levels_of_tiles_prove_what_the_whole_tree_proves() {
    let size = 2 * 65_536 + 700;
    let (db, tree) = large(size);
    let levels: i64 = db.query_row("SELECT max(level) FROM tiles", [], |row| row.get(0)).unwrap();
    assert_eq!(levels, 2);
    let edges = [1, 2, 255, 256, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073, 131_328, size];
    for new in edges {
        assert_eq!(Some(root(&db, new).unwrap()), tree.root(new), "{new}");
        for old in edges.into_iter().filter(|old| *old <= new) {
            let path = consistency(&db, old, new).unwrap();
            let roots = (tree.root(old).unwrap(), tree.root(new).unwrap());
            assert!(verify_consistency(old, new, &path, &roots.0, &roots.1), "{old} {new}");
            let path = inclusion(&db, old - 1, new).unwrap();
            let leaf = merkle::leaf_hash(&(old - 1).to_be_bytes());
            assert!(verify_inclusion(&leaf, old - 1, new, &path, &roots.1), "{old} {new}");
        }
    }
    let mut own = load_partial_tiles(&db, size).unwrap();
    // The growing end goes on where the file stops.
    let mut whole = PartialTiles::default();
    let mut from_start = Frontier::default();
    for seq in 0..size + 600 {
        let leaf = merkle::leaf_hash(&seq.to_be_bytes());
        from_start.push_with(leaf, &mut |level, place, hash| {
            whole.put(level, place, hash);
            if seq >= size {
                own.put(level, place, hash);
            }
        });
        if seq + 1 == size {
            whole.take_changed();
        }
    }
    assert_eq!(own.take_changed(), whole.take_changed());
}

/// SQLite reads a whole key to compare with it, and without a rowid the row is the key: a proof in a
/// log of 10^6 events then took 130 reads of pages.
#[test]
fn a_tile_is_no_key() {
    let db = Connection::open_in_memory().unwrap();
    schema::create(&db, &weaver_types::OsRandom).unwrap();
    let bare: bool = db
        .query_row("SELECT wr FROM pragma_table_list WHERE name = 'tiles'", [], |row| row.get(0))
        .unwrap();
    assert!(!bare, "the table has no rowid");
}

#[test]
fn a_higher_tile_that_is_cut_or_missing_is_no_end_to_go_on_from() {
    let bad = |sql: &str| {
        let (db, _) = large(600);
        db.execute_batch(sql).unwrap();
        load_partial_tiles(&db, 600).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(bad(""), Ok(()));
    for sql in [
        "UPDATE tiles SET nodes = zeroblob(8159) WHERE level = 1",
        "UPDATE tiles SET nodes = zeroblob(8161) WHERE level = 1",
        "DELETE FROM tiles WHERE level = 1",
    ] {
        assert!(bad(sql).unwrap_err().contains("tile 0 of level 1 is missing or cut"), "{sql}");
    }
    // With less than two tiles below it there is none yet.
    let (db, _) = large(511);
    db.execute_batch("DELETE FROM tiles WHERE level = 1").unwrap();
    assert!(load_partial_tiles(&db, 511).is_ok());
    assert!(load_partial_tiles(&db, 512).is_err(), "an event is missing");
}
