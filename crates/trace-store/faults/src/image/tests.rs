use super::*;

fn open(path: &str) -> Step {
    Step::Open { path: path.into(), folder: false, emptied: false }
}

fn write(path: &str, offset: u64, bytes: &[u8]) -> Step {
    Step::Write { path: path.into(), offset, bytes: bytes.to_vec() }
}

fn disk_after(steps: &[Step]) -> Disk {
    let mut disk = Disk::new();
    steps.iter().for_each(|step| disk.apply(step));
    disk
}

fn content(image: &Image, path: &str) -> Option<Vec<u8>> {
    image.get(Path::new(path)).cloned()
}

#[test]
fn bytes_are_safe_after_their_sync_and_names_after_that_of_the_folder() {
    let steps = [open("/d/a"), write("/d/a", 0, b"one"), Step::Sync("/d/a".into())];
    let mut disk = disk_after(&steps);
    assert_eq!(content(&disk.crash(Loss::All), "/d/a"), None);
    assert_eq!(content(&disk.crash(Loss::None), "/d/a").unwrap(), b"one");
    disk.apply(&Step::Sync("/d".into()));
    assert!(disk.is_fully_synced());
    disk.apply(&write("/d/a", 2, b"ly"));
    assert_eq!(content(&disk.crash(Loss::All), "/d/a").unwrap(), b"one");
    assert_eq!(content(&disk.crash(Loss::None), "/d/a").unwrap(), b"only");
}

#[test]
fn a_deaf_disk_keeps_nothing_for_sure() {
    let mut disk = Disk::without_syncs();
    for step in [open("/d/a"), Step::Sync("/d/a".into()), Step::Sync("/d".into())] {
        disk.apply(&step);
    }
    assert_eq!(disk.crash(Loss::All), Image::new());
}

#[test]
fn every_subset_of_pages_comes_up() {
    let steps = [open("/d/a"), Step::Sync("/d".into()), write("/d/a", 0, &[b'x'; 1024])];
    let disk = disk_after(&steps);
    let seen: BTreeSet<Vec<u8>> = (0..200)
        .filter_map(|seed| content(&disk.crash(Loss::Torn { page: 512, seed }), "/d/a"))
        .collect();
    let (none, both) = (Vec::new(), vec![b'x'; 1024]);
    let first = vec![b'x'; 512];
    let mut second = vec![0; 1024];
    second[512..].fill(b'x');
    assert_eq!(seen, [none, first, second, both].into());
}

#[test]
fn a_later_write_may_come_without_an_earlier_one() {
    let steps = [
        open("/d/a"),
        Step::Sync("/d".into()),
        write("/d/a", 0, b"first"),
        write("/d/a", 4096, b"second"),
        write("/d/a", 0, b"third"),
    ];
    let disk = disk_after(&steps);
    let images = (0..400).map(|seed| disk.crash(Loss::Torn { page: 4096, seed }));
    let seen: BTreeSet<Vec<u8>> = images.filter_map(|image| content(&image, "/d/a")).collect();
    assert!(seen.contains(b"first".as_slice()));
    assert!(seen.iter().any(|bytes| bytes.ends_with(b"second") && bytes.starts_with(&[0; 8])));
    assert!(seen.iter().any(|bytes| bytes.ends_with(b"second") && bytes.starts_with(b"third")));
    assert_eq!(seen.len(), 6);
}

#[test]
fn a_rename_and_a_removal_wait_for_the_folder() {
    let steps = [
        open("/d/a"),
        write("/d/a", 0, b"x"),
        Step::Sync("/d/a".into()),
        Step::Sync("/d".into()),
        Step::Rename("/d/a".into(), "/d/b".into()),
    ];
    let mut disk = disk_after(&steps);
    assert!(content(&disk.crash(Loss::All), "/d/a").is_some());
    disk.apply(&Step::Sync("/d".into()));
    assert_eq!(content(&disk.crash(Loss::All), "/d/a"), None);
    disk.apply(&Step::Unlink("/d/b".into()));
    assert!(content(&disk.crash(Loss::All), "/d/b").is_some());
    assert_eq!(disk.crash(Loss::None), Image::new());
}
