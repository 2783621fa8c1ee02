//! Which machine and which versions the figures belong to.

use std::process::Command;

/// The CPU's name as the system gives it.
pub fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let name = field("model name").unwrap_or_else(|| "unknown".into());
    match (field("cpu family"), field("model\t")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name,
    }
}

/// The CPU's name in a form fit for a folder.
pub fn cpu_folder() -> String {
    let name: String = cpu()
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Today's date, from the system's `date`.
pub fn today() -> String {
    let date = Command::new("date").arg("+%Y-%m-%d").output();
    date.map(|d| String::from_utf8_lossy(&d.stdout).trim().to_owned()).unwrap_or_default()
}

/// The lines at the top of a record.
pub fn heading() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "# Measured on {}\n\nCPU: {}, {cores} cores. Kernel {}. weighbridge {}, default release build, no target-cpu flags. \
         Other tools: {}.\n",
        today(),
        cpu(),
        kernel.trim(),
        env!("CARGO_PKG_VERSION"),
        crate::peers::versions().join(", "),
    )
}
