//! Conversions that do not finish: killed at any moment, interrupted, or with a source that changes
//! while it is read. An unfinished output never has its final name, and finished files are kept.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use libtest_mimic::Trial;

use crate::{program, trials};

pub fn trials() -> Vec<Trial> {
    trials![
        "interrupted":
        a_killed_conversion_to_a_directory_goes_on,
        a_killed_conversion_to_a_file_leaves_no_half_file,
        a_killed_split_never_mixes_parts,
        a_source_that_becomes_shorter_is_an_error,
        a_source_that_changes_is_an_error,
        a_change_whose_time_is_put_back_is_an_error,
        a_file_that_becomes_shorter_does_not_end_inspect,
        more_shards_than_open_files_are_read,
        being_interrupted_leaves_nothing,
        being_interrupted_says_what_is_kept,
        the_exit_code_says_which_signal_it_was,
        waiting_for_the_reader_of_a_pipe_ends_with_the_first_signal,
        a_place_that_takes_nothing_is_an_error,
        what_fails_its_verification_never_has_the_name,
    ]
}

/// A folder in memory, where the system has one: nobody waits for a disk.
fn place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

const TENSORS: usize = 24;
const BYTES: usize = 1 << 20;

/// A model of `TENSORS` F32 matrices of `BYTES` bytes.
fn model(path: &Path) {
    let mut header = String::from("{");
    for index in 0..TENSORS {
        let (start, end) = (index * BYTES, (index + 1) * BYTES);
        let comma = if index == 0 { "" } else { "," };
        let shape = format!("[{},256]", BYTES / 1024);
        header += &format!(
            r#"{comma}"t{index:02}":{{"dtype":"F32","shape":{shape},"data_offsets":[{start},{end}]}}"#
        );
    }
    header += "}";
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    let mut state = 1u32;
    for _ in 0..TENSORS * BYTES / 4 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Numbers between 1 and 2: none of them is special.
        file.extend((0x3f80_0000 | state >> 9).to_le_bytes());
    }
    fs::write(path, file).unwrap();
}

fn weigh(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    entries.filter(|p| p.is_file()).map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

/// Milliseconds until the next kill: short and long, the same in every run.
fn delays() -> impl Iterator<Item = Duration> {
    (0..60u64).map(|turn| Duration::from_millis(turn * 7 % 43))
}

fn kill_after(mut child: Child, delay: Duration) {
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
}

fn a_killed_conversion_to_a_directory_goes_on() {
    let place = place();
    model(&place.path().join("in.safetensors"));
    let args = ["convert", "in.safetensors", "--dtype", "bf16", "--max-shard-size", "1MB", "-q"];
    let whole = [&args[..], &["-o", "whole"]].concat();
    assert!(weigh(place.path(), &whole).status().unwrap().success());
    let (whole, out) = (contents(&place.path().join("whole")), place.path().join("out"));
    let go_on = [&args[..], &["-o", "out", "--resume"]].concat();
    let (mut killed, mut taken_up) = (0, 0);
    for delay in delays() {
        let partial = place.path().join("out.weigh-partial");
        taken_up += usize::from(partial.exists());
        kill_after(weigh(place.path(), &go_on).spawn().unwrap(), delay);
        if out.exists() {
            assert!(contents(&out) == whole);
            fs::remove_dir_all(&out).unwrap();
        } else {
            killed += 1;
        }
    }
    assert!(killed > 0 && taken_up > 0, "{killed} were killed, {taken_up} taken up");
    if !out.exists() {
        assert!(weigh(place.path(), &go_on).status().unwrap().success());
    }
    assert!(contents(&out) == whole);
}

fn a_killed_conversion_to_a_file_leaves_no_half_file() {
    let place = place();
    model(&place.path().join("in.safetensors"));
    for target in ["out.safetensors", "out.gguf", "out.npz"] {
        let args =
            ["convert", "in.safetensors", "--names", "keep", "--dtype", "f16", "-q", "-o", target];
        assert!(weigh(place.path(), &args).status().unwrap().success());
        let target = place.path().join(target);
        let whole = fs::read(&target).unwrap();
        fs::remove_file(&target).unwrap();
        for delay in delays().step_by(5) {
            kill_after(weigh(place.path(), &args).spawn().unwrap(), delay);
            if target.exists() {
                assert!(fs::read(&target).unwrap() == whole);
                fs::remove_file(&target).unwrap();
            }
        }
        // What earlier ones have left is removed.
        assert!(weigh(place.path(), &args).status().unwrap().success());
        assert!(fs::read(&target).unwrap() == whole);
        fs::remove_file(&target).unwrap();
        assert_eq!(contents(place.path()).into_keys().collect::<Vec<_>>(), ["in.safetensors"]);
    }
}

/// A conversion to standard output that waits, because nobody reads on.
fn stalled(folder: &Path) -> Child {
    let mut child = weigh(folder, &["convert", "in.safetensors", "--dtype", "f16", "-o", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut vec![0; 1 << 20]).unwrap();
    child
}

/// The standard error of a run that failed, once the rest of its output is read.
fn complaint(mut child: Child) -> String {
    let mut rest = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

fn a_source_that_becomes_shorter_is_an_error() {
    let place = place();
    let source = place.path().join("in.safetensors");
    model(&source);
    let child = stalled(place.path());
    File::options().write(true).open(&source).unwrap().set_len(9 << 20).unwrap();
    let said = complaint(child);
    assert!(said.contains("in.safetensors") && said.contains("the file shrank"), "{said}");
}

fn a_source_that_changes_is_an_error() {
    let place = place();
    let source = place.path().join("in.safetensors");
    model(&source);
    let child = stalled(place.path());
    let mut file = File::options().append(true).open(&source).unwrap();
    file.write_all(b"more").unwrap();
    drop(file);
    let said = complaint(child);
    assert!(said.contains("in.safetensors: was changed while it was read"), "{said}");
}

fn a_change_whose_time_is_put_back_is_an_error() {
    let place = place();
    let source = place.path().join("in.safetensors");
    model(&source);
    let child = stalled(place.path());
    let file = File::options().write(true).open(&source).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(&[7; 4], (23 << 20) + 4096).unwrap();
    file.set_modified(before).unwrap();
    drop(file);
    let said = complaint(child);
    assert!(said.contains("in.safetensors: was changed while it was read"), "{said}");
}

/// A GGUF file of metadata alone: a long text, then numbers.
fn metadata(path: &Path) {
    let text = |file: &mut Vec<u8>, text: &str| {
        file.extend((text.len() as u64).to_le_bytes());
        file.extend(text.as_bytes());
    };
    let mut file = b"GGUF".to_vec();
    file.extend(3u32.to_le_bytes());
    file.extend([0u64, 2].map(u64::to_le_bytes).concat());
    text(&mut file, "a.text");
    file.extend(8u32.to_le_bytes());
    text(&mut file, &"x".repeat(1 << 20));
    text(&mut file, "b.numbers");
    file.extend([9u32, 4].map(u32::to_le_bytes).concat());
    file.extend((100_000u64).to_le_bytes());
    file.resize(file.len() + 400_000, 0);
    fs::write(path, file).unwrap();
}

fn a_file_that_becomes_shorter_does_not_end_inspect() {
    let place = place();
    let source = place.path().join("in.gguf");
    metadata(&source);
    let mut child = weigh(place.path(), &["inspect", "--full-metadata", "in.gguf"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It waits until the long text is read.
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 1024]).unwrap();
    File::options().write(true).open(&source).unwrap().set_len(1 << 20).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{:?}", output.status);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("the file shrank while being read"), "{}", &said[1 << 20..]);
}

fn more_shards_than_open_files_are_read() {
    let place = place();
    fs::create_dir(place.path().join("split")).unwrap();
    for shard in 1..=150 {
        let header =
            format!(r#"{{"t{shard}":{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}}}"#);
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.extend(1f32.to_le_bytes());
        let name = format!("split/model-{shard:05}-of-00150.safetensors");
        fs::write(place.path().join(name), file).unwrap();
    }
    let weigh = program().display();
    for command in ["inspect split", "convert split -o whole.safetensors --verify"] {
        let limited = format!("ulimit -n 128 && {weigh} {command} -q");
        let output =
            Command::new("sh").args(["-c", &limited]).current_dir(place.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn being_interrupted_leaves_nothing() {
    let place = place();
    let mut child =
        weigh(place.path(), &["convert", "-", "--dtype", "f16", "-o", "out.safetensors"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    let source = place.path().join("in.safetensors");
    model(&source);
    // It has begun, and waits for the rest.
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&fs::read(&source).unwrap()[..8 << 20]).unwrap();
    let mut waited = 0;
    while contents(place.path()).len() < 2 {
        std::thread::sleep(Duration::from_millis(10));
        waited += 1;
        assert!(waited < 3000, "no output was begun");
    }
    for _ in 0..2 {
        signal(&child, "-INT");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(pipe);
    assert_eq!(contents(place.path()).into_keys().collect::<Vec<_>>(), ["in.safetensors"]);
}

fn waiting_for_the_reader_of_a_pipe_ends_with_the_first_signal() {
    let place = place();
    model(&place.path().join("in.safetensors"));
    assert!(Command::new("mkfifo").arg(place.path().join("pipe")).status().unwrap().success());
    let args = ["convert", "in.safetensors", "--to", "safetensors", "-o", "pipe"];
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut child = weigh(place.path(), &args).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, name);
        assert_eq!(ended(&mut child), Some(code), "{name}");
    }
    // With a reader, it goes on.
    let mut child = weigh(place.path(), &args).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let read = fs::read(place.path().join("pipe")).unwrap();
    assert_eq!(ended(&mut child), Some(0));
    let source = fs::read(place.path().join("in.safetensors")).unwrap();
    assert!(read.ends_with(&source[source.len() - TENSORS * BYTES..]));
    // As an input it is refused, and not waited for.
    let mut child =
        weigh(place.path(), &["inspect", "pipe"]).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(ended(&mut child), Some(2));
}

/// The exit code of a command that ends by itself; what does not is killed after a while.
fn ended(child: &mut Child) -> Option<i32> {
    for _ in 0..1000 {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap().code()
}

/// The numbered parts of a file.
fn parts(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut parts = contents(folder);
    parts.retain(|name, _| name.starts_with("out-") && name.ends_with(".gguf"));
    parts
}

fn a_killed_split_never_mixes_parts() {
    let place = place();
    model(&place.path().join("in.safetensors"));
    let args = ["convert", "in.safetensors", "--names", "keep", "--max-shard-size", "1MB", "-q"];
    let [old, new] = ["f16", "bf16"].map(|dtype| {
        let args = [&args[..], &["--dtype", dtype, "--force", "-o", "out.gguf"]].concat();
        assert!(weigh(place.path(), &args).status().unwrap().success());
        parts(place.path())
    });
    assert!(old.len() > 2 && old.keys().eq(new.keys()) && old != new);
    let run = |dtype, more: &[&str]| {
        let all = [&args[..], &["--dtype", dtype, "-o", "out.gguf", "--force"], more].concat();
        weigh(place.path(), &all)
    };
    for (turn, delay) in delays().enumerate() {
        let dtype = if turn % 2 == 0 { "f16" } else { "bf16" };
        kill_after(run(dtype, &[]).spawn().unwrap(), delay);
        let found = parts(place.path());
        let is_of = |whole: &BTreeMap<_, _>| found.iter().all(|(name, part)| whole[name] == *part);
        assert!(is_of(&old) || is_of(&new), "parts of two runs");
    }
    let partial = place.path().join("out.gguf.weigh-partial");
    kill_after(run("bf16", &[]).spawn().unwrap(), Duration::from_millis(20));
    let more: &[&str] = if partial.exists() { &["--resume"] } else { &[] };
    assert!(run("bf16", more).status().unwrap().success());
    assert!(parts(place.path()) == new && !partial.exists());
    let names: Vec<_> = contents(place.path()).into_keys().collect();
    assert_eq!(names.len(), new.len() + 1, "{names:?}");
}

fn signal(child: &Child, name: &str) {
    let process = child.id().to_string();
    assert!(Command::new("kill").args([name, &process]).status().unwrap().success());
}

/// Whether these tests ignore a signal, since they were started with `nohup` or in the background: what
/// they start does so too, as it should.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

fn the_exit_code_says_which_signal_it_was() {
    let place = place();
    model(&place.path().join("in.safetensors"));
    for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        if name == "-HUP" && is_ignored(1) {
            continue;
        }
        let mut child = stalled(place.path());
        signal(&child, name);
        std::thread::sleep(Duration::from_millis(50));
        let mut rest = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(said.contains("stopped"), "{name}: {said}");
    }
}

fn being_interrupted_says_what_is_kept() {
    let place = place();
    model(&place.path().join("in.safetensors"));
    let args = ["convert", "in.safetensors", "--dtype", "bf16", "--max-shard-size", "500KB"];
    let args = [&args[..], &["-j", "1", "-q", "-o", "out"]].concat();
    // A run may be complete before it hears of it.
    for _ in 0..50 {
        let mut child = weigh(place.path(), &args).stderr(Stdio::piped()).spawn().unwrap();
        let first = place.path().join("out.weigh-partial/model-00002-of-00024.safetensors");
        while !first.exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        let process = child.id().to_string();
        let _ = Command::new("kill").args(["-INT", &process]).stderr(Stdio::null()).status();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            fs::remove_dir_all(place.path().join("out")).unwrap();
            continue;
        }
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{said}");
        let kept = "of 24 files are kept in out.weigh-partial\n\
                    hint: repeat the command with `--resume` to continue it\n";
        assert!(said.ends_with(kept) && said.contains("error: stopped: "), "{said}");
        let go_on = [&args[..], &["--resume"]].concat();
        assert!(weigh(place.path(), &go_on).status().unwrap().success());
        return;
    }
    panic!("no run was interrupted");
}

fn a_place_that_takes_nothing_is_an_error() {
    let place = place();
    model(&place.path().join("in.safetensors"));
    // Nobody can create a file here, not even root.
    for target in ["/proc/out.safetensors", "/proc/out"] {
        let output = weigh(place.path(), &["convert", "in.safetensors", "-o", target]).output();
        let output = output.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: /proc/out"), "{said}");
    }
}

/// A shard is damaged on disk while the others are being written.
fn what_fails_its_verification_never_has_the_name() {
    let place = place();
    model(&place.path().join("in.safetensors"));
    let args = ["convert", "in.safetensors", "--dtype", "bf16", "--max-shard-size", "500KB"];
    let args = [&args[..], &["-j", "1", "-q", "--verify", "-o", "out"]].concat();
    let shard = |number| {
        place.path().join(format!("out.weigh-partial/model-{number:05}-of-00024.safetensors"))
    };
    // Now and then a run is too fast to be caught.
    for _ in 0..50 {
        let mut child = weigh(place.path(), &args).stderr(Stdio::piped()).spawn().unwrap();
        while !shard(1).exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        let process = child.id().to_string();
        let told = |signal: &str| {
            let kill = Command::new("kill").args([signal, &process]).stderr(Stdio::null()).status();
            kill.unwrap().success()
        };
        // Nothing is verified before all shards are there.
        let is_in_time = told("-STOP") && shard(1).exists() && !shard(24).exists();
        if is_in_time {
            let file = fs::OpenOptions::new().write(true).open(shard(1)).unwrap();
            let last = file.metadata().unwrap().len() - 1;
            file.write_all_at(&[0x40], last).unwrap();
        }
        told("-CONT");
        let output = child.wait_with_output().unwrap();
        if !is_in_time {
            fs::remove_dir_all(place.path().join("out")).unwrap();
            continue;
        }
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("out: verification failed; the output was deleted"), "{said}");
        let left = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["in.safetensors"]);
        return;
    }
    panic!("no run was caught");
}
