use super::*;

fn tree(size: u64) -> MerkleTree {
    let mut tree = MerkleTree::default();
    (0..size).for_each(|n| tree.push(leaf_hash(&n.to_be_bytes())));
    tree
}

#[test]
fn frontier_and_tree_agree_at_every_size() {
    let (tree, mut frontier) = (tree(130), Frontier::default());
    for size in 0..=130 {
        assert_eq!(Some(frontier.root()), tree.root(size), "size {size}");
        let bytes = frontier.to_bytes();
        assert_eq!(Frontier::from_bytes(size, &bytes), Ok(frontier.clone()));
        assert!(Frontier::from_bytes(size, &[bytes, vec![0; 32]].concat()).is_err());
        frontier.push(leaf_hash(&size.to_be_bytes()));
    }
    assert_eq!(tree.root(131), None);
}

#[test]
fn every_proof_of_every_small_tree_holds_and_none_holds_elsewhere() {
    let tree = tree(40);
    for size in 1..=40_u64 {
        let root = tree.root(size).unwrap();
        for index in 0..size {
            let leaf = leaf_hash(&index.to_be_bytes());
            let path = tree.inclusion(index, size).unwrap();
            assert!(verify_inclusion(&leaf, index, size, &path, &root), "{index} of {size}");
            let other = (index + 1) % size;
            assert!(other == index || !verify_inclusion(&leaf, other, size, &path, &root));
            assert!(!verify_inclusion(&leaf, index, size, &path, &node_hash(&root, &root)));
        }
        for old in 1..=size {
            let (before, path) = (tree.root(old).unwrap(), tree.consistency(old, size).unwrap());
            assert!(verify_consistency(old, size, &path, &before, &root), "{old} of {size}");
            let wrong = node_hash(&before, &before);
            assert!(!verify_consistency(old, size, &path, &wrong, &root));
            assert!(!verify_consistency(old, size, &path, &before, &wrong));
        }
    }
}

#[test]
fn proofs_of_what_is_not_there_are_none() {
    let tree = tree(5);
    assert_eq!(tree.inclusion(5, 5), None);
    assert_eq!(tree.inclusion(0, 6), None);
    assert_eq!(tree.consistency(0, 5), None);
    assert_eq!(tree.consistency(4, 3), None);
    assert_eq!(tree.consistency(4, 6), None);
    let root = tree.root(5).unwrap();
    assert!(verify_consistency(0, 5, &[], &empty_root(), &root));
    assert!(!verify_consistency(0, 5, &[], &root, &root));
    assert!(!verify_consistency(6, 5, &[], &root, &root));
}
