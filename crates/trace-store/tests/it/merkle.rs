//! Proofs against the vectors of RFC 6962 and an independent crate.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ct_merkle::mem_backed_tree::MemoryBackedTree;
use serde_json::Value;
use sha2::Sha256;
use weaver_trace_store::merkle::{
    Frontier, Hash, MerkleTree, leaf_hash, verify_consistency, verify_inclusion,
};

fn vectors() -> Value {
    serde_json::from_str(include_str!("../data/rfc6962.json")).unwrap()
}

fn leaves(vectors: &Value) -> Vec<Vec<u8>> {
    let leaves = vectors["leaves_b64"].as_array().unwrap();
    leaves.iter().map(|leaf| STANDARD.decode(leaf.as_str().unwrap()).unwrap()).collect()
}

fn hash(value: &Value) -> Hash {
    format!("sha256:{}", value.as_str().unwrap())
        .parse::<weaver_types::Digest>()
        .map(|digest| *digest.as_bytes())
        .unwrap()
}

fn path(value: &Value) -> Vec<Hash> {
    value.as_array().unwrap().iter().map(hash).collect()
}

#[test]
fn all_704_vectors_come_out_as_labelled() {
    let vectors = vectors();
    let mut tree = MerkleTree::default();
    leaves(&vectors).iter().for_each(|leaf| tree.push(leaf_hash(leaf)));
    let cases = vectors["vectors"].as_array().unwrap();
    assert_eq!(cases.len(), 704);
    for case in cases {
        let number = |name: &str| case[name].as_u64().unwrap();
        match case["kind"].as_str().unwrap() {
            "root" => assert_eq!(tree.root(number("size")), Some(hash(&case["root"])), "{case}"),
            "inclusion" => {
                let (index, size, proof) = (number("index"), number("size"), path(&case["proof"]));
                let (leaf, root) = (hash(&case["leaf_hash"]), hash(&case["root"]));
                let valid = verify_inclusion(&leaf, index, size, &proof, &root);
                assert_eq!(valid, case["valid"], "{case}");
                assert!(!valid || tree.inclusion(index, size) == Some(proof), "{case}");
            }
            "consistency" => {
                let (old, new, proof) = (number("size1"), number("size2"), path(&case["proof"]));
                let (before, after) = (hash(&case["root1"]), hash(&case["root2"]));
                let valid = verify_consistency(old, new, &proof, &before, &after);
                assert_eq!(valid, case["valid"], "{case}");
                assert!(!valid || tree.consistency(old, new) == Some(proof), "{case}");
            }
            other => panic!("unknown kind {other}"),
        }
    }
}

#[test]
fn an_independent_crate_gives_the_same_roots_and_proofs() {
    let leaves = leaves(&vectors());
    let (mut ours, mut frontier) = (MerkleTree::default(), Frontier::default());
    let mut theirs = MemoryBackedTree::<Sha256, Vec<u8>>::new();
    for (old, leaf) in leaves.iter().enumerate() {
        ours.push(leaf_hash(leaf));
        frontier.push(leaf_hash(leaf));
        theirs.push(leaf.clone());
        let size = theirs.len();
        assert_eq!(theirs.root().as_bytes().as_slice(), frontier.root(), "size {size}");
        for index in [0, old / 3, old / 2, old] {
            let path = ours.inclusion(index as u64, size).unwrap();
            assert_eq!(theirs.prove_inclusion(index).as_bytes(), path.concat(), "{index} {size}");
        }
        for added in [1, old / 2, old].into_iter().filter(|added| (1..=old).contains(added)) {
            let path = ours.consistency(size - added as u64, size).unwrap();
            assert_eq!(theirs.prove_consistency(added).as_bytes(), path.concat(), "{added} {size}");
        }
    }
}

#[test]
fn nothing_stands_behind_the_last_leaf() {
    for size in 1..40_u64 {
        let mut tree = MerkleTree::default();
        (0..size).for_each(|n| tree.push(leaf_hash(&n.to_be_bytes())));
        let root = tree.root(size).unwrap();
        for index in 0..size {
            let leaf = leaf_hash(&index.to_be_bytes());
            let path = tree.inclusion(index, size).unwrap();
            assert!(verify_inclusion(&leaf, index, size, &path, &root));
            for behind in [size, size + 1, size + index, u64::MAX] {
                assert!(!verify_inclusion(&leaf, behind, size, &path, &root), "{behind} of {size}");
            }
        }
    }
}

#[test]
fn a_root_is_no_leaf_of_a_larger_tree() {
    let mut tree = MerkleTree::default();
    for size in 1..40_u64 {
        tree.push(leaf_hash(&size.to_be_bytes()));
        let root = tree.root(size).unwrap();
        for index in 0..size {
            // An empty path leads from a leaf to the root where there is one leaf, and nowhere else.
            assert_eq!(verify_inclusion(&root, index, size, &[], &root), size == 1);
        }
    }
}

#[test]
fn trees_of_one_size_need_no_path_and_take_none() {
    let mut tree = MerkleTree::default();
    for size in 1..40_u64 {
        tree.push(leaf_hash(&size.to_be_bytes()));
        let root = tree.root(size).unwrap();
        assert!(verify_consistency(size, size, &[], &root, &root));
        for path in [vec![root], vec![leaf_hash(b"x")], tree.inclusion(0, size).unwrap()] {
            let valid = verify_consistency(size, size, &path, &root, &root);
            assert_eq!(valid, path.is_empty(), "{size}");
        }
        assert!(!verify_consistency(size + 1, size, &[], &root, &root));
    }
}
