//! For tests: a made-up model, and an encoder's way through the real plan, tiles, workers and files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use weighbridge::internals::containers::writer;
use weighbridge::internals::pipeline::{
    Assigned, HowEncoded, Origin, OutputType, PlanOptions, Pool, Spread, Writing, jobs, plan,
};
use weighbridge::internals::schemes::Encoder;
use weighbridge::internals::source::Slab;
use weighbridge::output::{Destination, Memory as InMemory, Stream, WriteOrder};
use weighbridge::{Model, Select, Weight};

/// A model of one matrix of single-precision numbers.
pub fn matrix(rows: u64, columns: u64) -> (Model, Vec<f32>) {
    let mut state = 12345u32;
    let values: Vec<f32> = (0..rows * columns)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (f32::from(u16::try_from(state >> 16).unwrap()) / 32768.0 - 1.0) * 0.3
        })
        .collect();
    let header = format!(
        r#"{{"w.weight":{{"dtype":"F32","shape":[{rows},{columns}],"data_offsets":[0,{}]}}}}"#,
        rows * columns * 4
    );
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    (Model::open_bytes(bytes, "matrix.safetensors").unwrap(), values)
}

/// How a model is encoded.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub format: &'a str,
    pub workers: usize,
    pub max_memory: Option<u64>,
    pub select: &'a Select,
}

impl Run<'_> {
    /// Encodes a model into a destination.
    pub fn encode(&self, model: &Model, encoder: &Arc<dyn Encoder>, to: &dyn Destination) {
        self.encode_each(model, &|_| Some(encoder.clone()), to);
    }

    /// Encodes each weight of a model in its own way, or not at all.
    pub fn encode_each(
        &self,
        model: &Model,
        encode: &dyn Fn(&Weight) -> Option<Arc<dyn Encoder>>,
        to: &dyn Destination,
    ) {
        let plan_options = PlanOptions {
            is_described: false,
            writer: writer(self.format).unwrap(),
            is_as_stored: false,
            // Libraries store what is not finite, too.
            encoding: HowEncoded { takes_non_finite: true, ..HowEncoded::default() },
            rename: &str::to_owned,
            spread: Spread::OneFile,
            stem: "model".to_owned(),
            streamed: to.order() == WriteOrder::FrontToBack,
            workers: self.workers,
            max_memory: self.max_memory,
        };
        let wanted = model.weights().filter(|weight| self.select.wants(weight.name()));
        let assigned = wanted.map(|weight| {
            let own = || Assigned::Numbers(OutputType::Auto.of(&weight));
            let assigned = encode(&weight).map_or_else(own, Assigned::Encoded);
            (Origin::Weight(weight), assigned)
        });
        let assigned: Vec<_> = assigned.collect();
        let jobs = jobs(&assigned, &plan_options).map_err(|all| all[0].reason.clone()).unwrap();
        let plan = plan(jobs, Vec::new(), &plan_options).unwrap();
        let workers = plan.memory.workers;
        let pool = Pool { workers, cancel: None, progress: None, done_before: 0 };
        let total = &AtomicU64::new(0);
        let parts = vec![(model, &plan)];
        Writing { parts, pool, extra: &[], total, check: None }.write(to).unwrap();
    }

    /// The same, as the one file that it gives.
    pub fn file(&self, model: &Model, encoder: &Arc<dyn Encoder>) -> Vec<u8> {
        let memory = InMemory::default();
        self.encode(model, encoder, &memory);
        memory.into_files().into_values().next().unwrap()
    }
}

/// The bytes of every stored tensor.
pub fn stored(model: &Model) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for source in model.sources() {
        for info in &source.catalog().tensors {
            let (slab, mut buffer) = (Slab::whole(0, 0, info.bytes), Vec::new());
            let bytes = source.fetch(info, &slab, &mut buffer).unwrap().bytes().to_vec();
            all.insert(info.name.to_string(), bytes);
        }
    }
    all
}

/// A weight's numbers.
pub fn decoded(weight: &Weight) -> Vec<f32> {
    let mut numbers = vec![0f32; weight.len()];
    weight.decode_into(&mut numbers).unwrap();
    numbers
}

/// The file that a model is encoded into, which must have the same bytes for any number of
/// workers and any tiles, and the same tensors as a stream.
pub fn encoded(model: &Model, encoder: &Arc<dyn Encoder>, format: &str) -> Vec<u8> {
    let select = &Select::new();
    let run = |workers, max_memory| Run { format, workers, max_memory, select };
    let first = run(1, None).file(model, encoder);
    for (workers, max_memory) in [(2, None), (5, None), (3, Some(40_000)), (16, Some(9_000_000))] {
        assert!(run(workers, max_memory).file(model, encoder) == first, "{workers} workers");
    }
    let mut streamed = Vec::new();
    run(3, None).encode(model, encoder, &Stream::new(&mut streamed));
    // An archive that is streamed has its checksums elsewhere.
    let tensors = |file: &[u8]| {
        let name = format!("out.{format}");
        stored(&Model::open_bytes(file.to_vec(), &name).unwrap())
    };
    assert!(tensors(&streamed) == tensors(&first), "a stream takes the same tensors");
    first
}
