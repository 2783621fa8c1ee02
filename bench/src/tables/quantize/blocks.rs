//! Encodes every block type of GGUF, with and without importance, against libggml on one thread.
//!
//! Both get the same rows (normal numbers in BF16, as weights are), and their bytes are compared: a
//! type whose bytes differ has no time.

use std::sync::Arc;

use weighbridge::bf16;
use weighbridge::internals::blocks::{BLOCKS, Block, Standing};
use weighbridge::internals::schemes::{Encoder, Importance, SCHEMES};

use crate::Setting;
use crate::ggml::Library;
use crate::harness::{Contestant, Rounds, contest};
use crate::table::{Line, Table};

const COLUMNS: usize = 4096;
/// Rows of the types that ggml takes long for, and of the others.
const ROWS: (usize, usize) = (16, 128);

/// A type, and how many times as fast as ggml it is to be without and with importance.
const AIMS: &[(&str, f64, f64)] = &[
    ("Q4_0", 2.0, 4.0),
    ("Q4_1", 2.0, 4.0),
    ("Q5_0", 2.0, 4.0),
    ("Q5_1", 2.0, 4.0),
    ("Q8_0", 6.0, 6.0),
    ("Q2_K", 10.0, 8.0),
    ("Q3_K", 3.0, 3.0),
    ("Q4_K", 10.0, 10.0),
    ("Q5_K", 10.0, 10.0),
    ("Q6_K", 10.0, 10.0),
    ("IQ4_NL", 20.0, 20.0),
    ("IQ4_XS", 25.0, 25.0),
    ("IQ3_XXS", 6.0, 6.0),
    ("IQ3_S", 6.0, 6.0),
    ("IQ2_XXS", 6.0, 6.0),
    ("IQ2_XS", 6.0, 6.0),
    ("IQ2_S", 6.0, 6.0),
    ("IQ1_S", 3.0, 3.0),
    ("IQ1_M", 3.0, 3.0),
];

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    BLOCKS.iter().map(|block| block.name).collect()
}

pub fn measure(setting: &Setting) -> Table {
    let mut table = Table::new("quantize", "numbers into blocks, one thread, against ggml's C");
    table.matrix.head = ["type", "importance", "Mparam/s", "ggml's", "x ggml", "aim", "bytes"]
        .map(str::to_owned)
        .to_vec();
    let library = match Library::open() {
        Ok(library) => library,
        Err(missing) => {
            table.notes.push(missing);
            return table;
        }
    };
    for block in BLOCKS.iter().filter(|b| b.standing == Standing::Current && setting.wants(b.name))
    {
        let Some(ours) = SCHEMES.encoder(block.name) else { continue };
        for with_importance in [false, true] {
            one(block, &*ours, with_importance, &library, setting, &mut table);
        }
    }
    table
}

fn one(
    block: &'static Block,
    ours: &dyn Encoder,
    with_importance: bool,
    library: &Library,
    setting: &Setting,
    table: &mut Table,
) {
    let needs = ["IQ2_XXS", "IQ2_XS", "IQ1_S"].contains(&block.name);
    if needs && !with_importance {
        return;
    }
    let rows = if block.name.starts_with("IQ") { ROWS.0 } else { ROWS.1 };
    let mut noise = Noise(block.id.into());
    let values: Vec<f32> = (0..rows * COLUMNS).map(|_| noise.weight()).collect();
    let importance: Arc<[f32]> =
        (0..COLUMNS).map(|_| noise.weight().powi(2) * 2500.0 + 1e-3).collect();
    let with = Arc::new(Given(importance.clone())) as Arc<dyn Importance>;
    let with = if with_importance { ours.with_importance(with) } else { None };
    let ours = with.as_deref().unwrap_or(ours);
    let shape = [rows as u64, COLUMNS as u64];
    let weight = ours.begin(&shape);
    let len = values.len() / block.elements as usize * block.bytes as usize;
    let (mut own, mut theirs) = (vec![0u8; len], vec![0u8; len]);
    let elements = 0..values.len() as u64;
    let importance = with_importance.then_some(&*importance);
    library.encode(block, &values, COLUMNS, importance, &mut theirs);
    weight.encode(elements.clone(), &values, &mut [&mut own]).expect("it can be encoded");
    let is_same = own == theirs;
    let contestants = vec![
        Contestant::timed("weighbridge", || {
            weight.encode(elements.clone(), &values, &mut [&mut own]).expect("it can be encoded");
        }),
        Contestant::timed("ggml", || {
            library.encode(block, &values, COLUMNS, importance, &mut theirs);
        }),
    ];
    let rounds = Rounds { warm_up: 1, timed: if setting.quick { 7 } else { 15 } };
    let results = contest(contestants, rounds);
    let speed = |seconds: f64| format!("{:.1}", values.len() as f64 / seconds / 1e6);
    let ratio = results[1].best / results[0].best;
    let aim = AIMS.iter().find(|(name, ..)| *name == block.name);
    let aim = aim.map(|(_, plain, important)| if with_importance { *important } else { *plain });
    let cells = vec![
        block.name.to_owned(),
        if with_importance { "with" } else { "without" }.to_owned(),
        speed(results[0].best),
        speed(results[1].best),
        format!("{ratio:.1}"),
        aim.map_or_else(String::new, |aim| format!("{aim}")),
        if is_same { "same" } else { "DIFFERENT" }.to_owned(),
    ];
    eprintln!("  {}", cells.join(" | "));
    let with = if with_importance { " with importance" } else { "" };
    if let Some(aim) = aim {
        table.reaches(format!("{}{with}, times ggml", block.name), ratio, aim);
    }
    if !is_same {
        table.notes.push(format!("{}{with}: NOT the bytes that ggml makes", block.name));
    }
    table.matrix.lines.push(Line { cells, rows: results });
}

/// Importance that was made up.
struct Given(Arc<[f32]>);

impl Importance for Given {
    fn values(&self) -> weighbridge::Result<Arc<[f32]>> {
        Ok(self.0.clone())
    }
}

/// Normal numbers, the same in every run.
pub(super) struct Noise(pub(super) u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A weight: normal, with a deviation of 0.02, in BF16.
    pub(super) fn weight(&mut self) -> f32 {
        let (a, b) = (self.unit().max(1e-300), self.unit());
        let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
        bf16::from_f32((normal * 0.02) as f32).to_f32()
    }
}
