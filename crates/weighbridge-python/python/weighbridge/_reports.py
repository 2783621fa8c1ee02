"""The typed reports of the verbs. Generated from docs/schema by
tools/reports_from_schema.py; do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class InspectAdapter(TypedDict):
    """LoRA or another adapter. Absent for other models."""

    #: Kind of adapter, such as lora.
    kind: str
    #: Rank; null if unknown.
    rank: int | None
    #: Alpha: updates are scaled by alpha divided by rank; null if unknown.
    alpha: float | None
    #: Modules of the base model that the adapter changes, or one pattern.
    target_modules: list[str]
    #: Name or address of the base model; null if unknown.
    base_model: str | None


class InspectFile(TypedDict):
    """Part of a report."""

    #: Path of the file.
    path: str
    #: Size in bytes.
    bytes: int


class InspectScheme(TypedDict):
    """Part of a report."""

    #: Storage scheme: plain, gptq, ..
    scheme: str
    #: Variant of the scheme; for plain weights, the stored type.
    variant: str
    #: Number of weights.
    weights: int
    #: Number of elements.
    parameters: int
    #: Stored bytes, including scales.
    bytes: int


class InspectDecodedBytes(TypedDict):
    """Size of the weight data after a conversion, by --dtype."""

    #: Bytes with --dtype auto.
    auto: int
    #: Bytes with --dtype bf16.
    bf16: int
    #: Bytes with --dtype f16.
    f16: int
    #: Bytes with --dtype f32.
    f32: int
    #: Bytes as Q8_0. Matrices whose row length is a multiple of 32 take 34 bytes per 32 values;
    #: other floating-point weights take 4 bytes per value.
    q8_0: int


class InspectDropped(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Reason why it is not needed.
    reason: str


class InspectProblem(TypedDict):
    """Part of a report."""

    #: Affected tensor; null if the whole model is affected.
    tensor: str | None
    #: Stable identifier such as `truncated`; the guide lists all of them.
    kind: str
    #: Description of the problem.
    message: str


class InspectModule(TypedDict):
    """A module or a weight. Identical ones are folded into one."""

    #: One part of the dotted name; `0-31` for 32 identical modules.
    name: str
    #: Number of weights, including those of folded modules.
    weights: int
    #: Number of elements.
    parameters: int
    #: Stored bytes.
    bytes: int
    #: For a weight: shape.
    shape: NotRequired[list[int]]
    #: For a weight: storage scheme.
    scheme: NotRequired[str]
    #: For a weight: variant of the scheme.
    variant: NotRequired[str]
    #: Nested modules and weights; absent if there are none.
    modules: NotRequired[list[InspectModule]]


class InspectTensorPart(TypedDict):
    """Part of a report."""

    #: Name in the file.
    name: str
    #: Role of the tensor in the weight: weight, scales, ..
    role: str
    #: Stored type.
    dtype: str
    #: Stored shape.
    shape: list[int]
    #: File that stores the tensor.
    file: str
    #: Byte offset in the file; null if the bytes are not contiguous.
    offset: int | None
    #: Size in bytes.
    bytes: int


class InspectTensor(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Logical shape.
    shape: list[int]
    #: Storage scheme.
    scheme: str
    #: Variant of the scheme.
    variant: str
    #: Type that the scheme's own library decodes the weight to.
    native: str | None
    #: Number of elements.
    parameters: int
    #: Stored bytes of all parts.
    bytes: int
    #: Stored tensors of the weight.
    parts: list[InspectTensorPart]


class InspectReport(TypedDict):
    """Contents of one model. For several models, --json prints an array of these objects and of errors; --json-lines prints one per line. More fields may be added."""

    #: Version of this schema.
    schema: int
    #: The path, name or address that was opened.
    path: str
    #: File format: safetensors, gguf, npz, npy, pth or apr.
    format: str
    #: Details of the format, such as its version.
    detail: NotRequired[str]
    #: Name of the model, as stated by the model.
    name: NotRequired[str]
    #: Architecture, as stated by the model.
    architecture: NotRequired[str]
    #: LoRA or another adapter. Absent for other models.
    adapter: NotRequired[InspectAdapter]
    #: Files of the model.
    files: list[InspectFile]
    #: Total size of all files in bytes.
    file_bytes: int
    #: Number of stored tensors.
    stored_tensors: int
    #: Number of weights (logical tensors).
    weights: int
    #: Number of elements of all weights.
    parameters: int
    #: Stored bits divided by parameters; null if there are no parameters.
    bits_per_weight: float | None
    #: Weights grouped by storage scheme, largest group first.
    schemes: list[InspectScheme]
    #: Number of stored tensors by type.
    dtypes: dict[str, int]
    #: Size of the weight data after a conversion, by --dtype.
    decoded_bytes: InspectDecodedBytes
    #: Stored tensors that belong to no weight, with the reason.
    dropped: list[InspectDropped]
    #: Problems found in the model.
    problems: list[InspectProblem]
    #: Notes on decisions and other useful facts.
    notes: list[str]
    #: PyTorch files: classes and functions that loading in Python would call, other than the usual
    #: tensor builders, in file order. Absent for other formats and for TorchScript.
    would_run: NotRequired[list[str]]
    #: Metadata of the files. A long array is shown as {"array": TYPE, "length": N} without --full-
    #: metadata.
    metadata: dict[str, Any]
    #: Type of each metadata value.
    metadata_types: NotRequired[dict[str, str]]
    #: With --tree: module tree.
    tree: NotRequired[list[InspectModule]]
    #: With --tensors: every weight.
    tensors: NotRequired[list[InspectTensor]]


class ConvertFile(TypedDict):
    """Part of a report."""

    #: Path of the file.
    path: str
    #: Size in bytes.
    bytes: int
    #: Number of tensors in the file.
    tensors: int
    #: True if an earlier run wrote the file and --resume kept it.
    kept: bool


class ConvertConversion(TypedDict):
    """Part of a report."""

    #: Source scheme; `stored` for tensors that were kept as stored.
    scheme: str
    #: Variant of the scheme.
    variant: str
    #: Output type.
    dtype: str
    #: Number of weights.
    weights: int
    #: Number of elements.
    parameters: int
    #: Stored bytes in the source.
    read_bytes: int
    #: Bytes in the output.
    write_bytes: int


class ConvertReasons(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Reason.
    reason: str


class ConvertTied(TypedDict):
    """Part of a report."""

    #: Name that is not written.
    name: str
    #: Name that is written instead.
    to: str


class ConvertDecodedA(TypedDict):
    """Part of a report."""

    #: Directory of the pipeline component.
    component: NotRequired[str]
    #: Type.
    dtype: str
    #: Reason.
    reason: str


# Part of a report.
ConvertRewrittenChanged = TypedDict(
    "ConvertRewrittenChanged",
    {
        #: Key.
        "key": "str",
        #: Old value; null if the key is new.
        "from": "str | None",
        #: New value.
        "to": "str",
    },
)


class ConvertRewritten(TypedDict):
    """Part of a report."""

    #: File name.
    name: str
    #: Removed keys; nested keys are joined with dots.
    removed: list[str]
    #: Keys with a new value.
    changed: list[ConvertRewrittenChanged]


class ConvertWarning(TypedDict):
    """Part of a report."""

    #: Kind in kebab-case: setting-not-carried, will-not-load, ..
    kind: str
    #: The setting, or another subject.
    key: str
    #: Its value in the source; null if it has none.
    value: Any
    #: The consequence.
    message: str


class ConvertPlanTensor(TypedDict):
    """Part of a report."""

    #: Name in the output.
    name: str
    #: Planned stored type.
    dtype: str
    #: Dimensions, outermost first.
    shape: list[int]
    #: Planned size in bytes.
    bytes: int
    #: Planned file.
    file: str
    #: Source scheme.
    scheme: str
    #: Variant of the source scheme.
    variant: str


class ConvertPlan(TypedDict):
    """With --dry-run: the planned output."""

    #: Planned tensors, in output order.
    tensors: list[ConvertPlanTensor]
    #: Metadata of a translated model; empty for other models. A long array is shown as {"array":
    #: TYPE, "length": N}.
    metadata: dict[str, Any]
    #: Type of each metadata value.
    metadata_types: dict[str, str]


class ConvertCost(TypedDict):
    """Quantization error; null if it was not measured."""

    #: Signal-to-noise ratio in decibels; null if there is no error or a value is not finite.
    snr_db: float | None
    #: Norm of the error divided by the norm of the values; null if a value is not finite.
    relative: float | None
    #: Largest absolute error.
    max_abs: float | None
    #: Largest error in quantization steps of its group; null for types without steps.
    max_steps: float | None
    #: Number of values more than half a step beyond the outermost level.
    clipped: int | None
    #: Number of nonzero values that became zero.
    flushed: int
    #: Number of values that are NaN or infinite, in the source or after decoding. Only --allow-
    #: nonfinite writes them.
    nonfinite: int


class ConvertQuantizedType(TypedDict):
    """Part of a report."""

    #: Type.
    type: str
    #: Number of weights.
    weights: int
    #: Number of elements.
    parameters: int
    #: Size in bytes.
    bytes: int
    #: Bits per weight.
    bits_per_weight: float
    #: Error of these weights.
    cost: ConvertCost | None


class ConvertQuantizedWeight(TypedDict):
    """Part of a report."""

    #: Name in the output.
    name: str
    #: Type.
    type: str
    #: Number of elements.
    parameters: int
    #: Size in bytes.
    bytes: int
    #: Error of this weight.
    cost: ConvertCost | None


class ConvertQuantized(TypedDict):
    """quantize: quantization error by type and by weight. In a dry run, the error is not measured."""

    #: Requested type.
    type: str
    #: Bits per weight over all tensors, including scales.
    bits_per_weight: float
    #: Bits per weight over encoded weights; null if none is encoded.
    encoded_bits_per_weight: float | None
    #: Error over all encoded weights.
    cost: ConvertCost | None
    #: Weights grouped by output type, largest group first.
    types: list[ConvertQuantizedType]
    #: Encoded weights.
    weights: list[ConvertQuantizedWeight]


class VerifyComparedMismatch(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Flat index of the first element that differs; null if type or shape differs.
    first_index: int | None
    #: Expected value: a number, bytes, or a type and a shape.
    expected: str
    #: Value in the output.
    found: str
    #: Number of elements that differ.
    count: int


class VerifyComparedSkipped(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Reason why the weight cannot be read.
    reason: str


class VerifyComparedFile(TypedDict):
    """Part of a report."""

    #: File name.
    name: str
    #: Problem with the file.
    problem: str


class VerifyCompared(TypedDict):
    """Also used for the field `verified` of a conversion with --verify."""

    #: True if nothing differs.
    ok: bool
    #: Number of compared tensors.
    checked: int
    #: Tensors that differ.
    mismatched: list[VerifyComparedMismatch]
    #: Tensors missing from the output.
    missing: list[str]
    #: Tensors of the output that the source does not have.
    extra: list[str]
    #: With --skip-unreadable: weights of the source that cannot be read.
    skipped: list[VerifyComparedSkipped]
    #: Other files that are missing or wrong.
    files: list[VerifyComparedFile]
    #: Number of compared configs and copied files.
    checked_files: int
    #: Number of finite values that became infinite.
    overflowed: int
    #: Number of tied weights in the output.
    tied: int
    #: Size of the compared tensors in bytes.
    bytes: int


class ConvertReport(TypedDict):
    """Report of convert, dequantize and quantize. With --dry-run, it describes the planned output. More fields may be added."""

    #: Version of this schema.
    schema: int
    #: Weight files.
    files: list[ConvertFile]
    #: Weights grouped by source scheme and output type, largest group first.
    conversions: list[ConvertConversion]
    #: Stored tensors that are not written, with the reason.
    dropped: list[ConvertReasons]
    #: With --skip-unreadable: weights that cannot be read.
    skipped: list[ConvertReasons]
    #: Tied weights, which are written once under another name.
    tied: list[ConvertTied]
    #: Metadata keys that the output format cannot store.
    metadata_left_out: list[str]
    #: dequantize: output type of decoded weights, with the reason.
    decoded_as: list[ConvertDecodedA]
    #: dequantize: other files of the model that were changed.
    rewritten: list[ConvertRewritten]
    #: dequantize: files that were copied unchanged.
    copied: list[str]
    #: Other files that were generated: configs, the tokenizer.
    made: list[str]
    #: Settings not stored in the source, each with the value that applies (`key: value`).
    not_carried: list[str]
    #: dequantize: files that were not copied, with the reason.
    left_behind: list[ConvertReasons]
    #: Notes on decisions and other useful facts.
    notes: list[str]
    #: What programs that load the output do differently.
    warnings: list[ConvertWarning]
    #: Bytes read from the source, excluding kept files.
    read_bytes: int
    #: Bytes written, excluding kept files.
    write_bytes: int
    #: Number of threads.
    threads: int
    #: Memory for the tiles of all threads, in bytes.
    tile_memory: int
    #: Duration in seconds; null in a dry run.
    seconds: float | None
    #: Peak memory of the process in bytes; null in a dry run, or if the system does not report it.
    peak_memory: int | None
    #: Number of finite values that became infinite; null in a dry run.
    overflowed: int | None
    #: With --dry-run: the planned output.
    plan: NotRequired[ConvertPlan]
    #: quantize: quantization error by type and by weight. In a dry run, the error is not measured.
    quantized: NotRequired[ConvertQuantized]
    #: With --verify: result of the check. If ok is false, there is no output.
    verified: NotRequired[VerifyCompared]


class VerifyMismatch(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Flat index of the first element that differs; null if type or shape differs.
    first_index: int | None
    #: Expected value: a number, bytes, or a type and a shape.
    expected: str
    #: Value in the output.
    found: str
    #: Number of elements that differ.
    count: int


class VerifySkipped(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Reason why the weight cannot be read.
    reason: str


class VerifyFile(TypedDict):
    """Part of a report."""

    #: File name.
    name: str
    #: Problem with the file.
    problem: str


class VerifyReport(TypedDict):
    """Comparison of an output with its source. More fields may be added."""

    #: Version of this schema.
    schema: int
    #: Notes on rules that match nothing.
    notes: list[str]
    #: True if nothing differs.
    ok: bool
    #: Number of compared tensors.
    checked: int
    #: Tensors that differ.
    mismatched: list[VerifyMismatch]
    #: Tensors missing from the output.
    missing: list[str]
    #: Tensors of the output that the source does not have.
    extra: list[str]
    #: With --skip-unreadable: weights of the source that cannot be read.
    skipped: list[VerifySkipped]
    #: Other files that are missing or wrong.
    files: list[VerifyFile]
    #: Number of compared configs and copied files.
    checked_files: int
    #: Number of finite values that became infinite.
    overflowed: int
    #: Number of tied weights in the output.
    tied: int
    #: Size of the compared tensors in bytes.
    bytes: int


class DiffSummaryWorstTensor(TypedDict):
    """Part of a report."""

    #: Name of the weight in A.
    name: str
    #: Value of the metric.
    value: float | None


class DiffSummaryWorst(TypedDict):
    """Part of a report."""

    #: Metric.
    metric: Literal["cosine", "max_abs", "mean_abs", "rmse", "relative", "snr_db", "ulp_max"]
    #: Weights, worst first.
    tensors: list[DiffSummaryWorstTensor]


class DiffSummaryReencoded(TypedDict):
    """With --reencode: summary of the re-encoded originals."""

    #: Number of re-encoded weights.
    compared: int
    #: Weights whose re-encoded bytes equal the stored bytes.
    same_bytes: int
    #: Largest error_ratio.
    worst_ratio: float | None


class DiffSummary(TypedDict):
    """Number of pairs by verdict, and metrics over all pairs."""

    #: Number of compared pairs.
    compared: int
    #: Pairs whose values are bit-identical.
    identical: int
    #: Pairs where one side equals the other after rounding to its type.
    equal_after_rounding: int
    #: Pairs whose differences are within the precision of the storage.
    within_precision: int
    #: Pairs with larger differences.
    changed: int
    #: Pairs without a rule for the storage of one side.
    unjudged: int
    #: Pairs with different shapes.
    shape_mismatch: int
    #: Weights that only one side has.
    missing: int
    #: Pairs where one side cannot be decoded.
    undecoded: int
    #: Pairs that count as a difference.
    failed: int
    #: Smallest cosine of all pairs.
    min_cosine: float | None
    #: Pairs with a cosine below 0.999, or below the bound in --fail-over.
    below: int
    #: Cosine over all weights.
    model_cosine: float | None
    #: Root mean square of all differences.
    model_rmse: float | None
    #: The five worst weights by each metric.
    worst: list[DiffSummaryWorst]
    #: With --reencode: summary of the re-encoded originals.
    reencoded: NotRequired[DiffSummaryReencoded]


class DiffReasons(TypedDict):
    """Part of a report."""

    #: Model that has the weight.
    side: Literal["a", "b"]
    #: Name.
    name: str
    #: Reason.
    reason: str


class DiffTensorPlace(TypedDict):
    """Part of a report."""

    #: Coordinates in A.
    index: list[int]
    #: Value in A; null if it is not finite.
    a: float | None
    #: Value in B; null if it is not finite.
    b: float | None
    #: Size of the difference, where 1 is the most that the storage explains.
    half_gaps: float | None


class DiffTensorReencoded(TypedDict):
    """With --reencode: result of re-encoding the original."""

    #: Type of the encoder.
    encoder: str
    #: Side that is stored in this type.
    side: Literal["a", "b"]
    #: Stored blocks that equal the re-encoded ones.
    identical_blocks: int
    #: Number of all blocks.
    blocks: int
    #: RMS error of the stored side divided by that of the encoder, both against the original.
    error_ratio: float | None


class DiffTensor(TypedDict):
    """Part of a report."""

    #: Name in A.
    name_a: str
    #: Name in B.
    name_b: str
    #: Shape in A.
    shape_a: list[int]
    #: Shape in B.
    shape_b: list[int]
    #: Storage scheme in A.
    scheme_a: str
    #: Storage scheme in B.
    scheme_b: str
    #: Variant of the scheme in A.
    variant_a: str
    #: Variant of the scheme in B.
    variant_b: str
    #: Bits per weight in A.
    bits_a: float | None
    #: Bits per weight in B.
    bits_b: float | None
    #: Transformation that makes both sides comparable.
    transform: str | None
    #: Number of elements.
    elements: int
    #: Number of bit-identical elements.
    identical: int | None
    #: Largest absolute difference.
    max_abs: float | None
    #: Flat index of the largest difference in A.
    max_abs_index: int | None
    #: Mean absolute difference.
    mean_abs: float | None
    #: Root mean square of the differences.
    rmse: float | None
    #: Norm of the difference divided by the norm of A.
    relative: float | None
    #: Signal-to-noise ratio in decibels: `relative` on a logarithmic scale.
    snr_db: float | None
    #: Cosine similarity; 1 if both sides are zero, 0 if only one is.
    cosine: float | None
    #: Largest distance in units in the last place (ULP) of ulp_type.
    ulp_max: int | None
    #: Type that ulp_max counts in: the coarser of both sides.
    ulp_type: str | None
    #: Number of NaN values in A.
    nan_a: int | None
    #: Number of NaN values in B.
    nan_b: int | None
    #: Number of infinite values in A.
    inf_a: int | None
    #: Number of infinite values in B.
    inf_b: int | None
    #: Elements that are finite on one side only, or infinite with opposite signs.
    unlike: int | None
    #: Mean of the finite values of A; null if equal bytes were not decoded.
    mean_a: float | None
    #: Mean of the finite values of B; null if equal bytes were not decoded.
    mean_b: float | None
    #: Standard deviation of the finite values of A.
    std_a: float | None
    #: Standard deviation of the finite values of B.
    std_b: float | None
    #: Rule that was applied to the pair; null if the bytes are equal or nothing was compared.
    bound: Literal["equal", "nearest-level", "overlapping-cells", "rows", "none", None]
    #: Elements whose difference the storage does not explain.
    outside: int | None
    #: Rows with such elements.
    outside_rows: int | None
    #: First such elements, at most eight.
    places: list[DiffTensorPlace]
    #: Description of the change.
    change: str | None
    #: With --reencode: result of re-encoding the original.
    reencoded: NotRequired[DiffTensorReencoded]
    #: Verdict; the guide explains each.
    status: Literal["identical", "equal-after-rounding", "within-precision", "changed", "unjudged", "shape", "undecoded", "uncompared"]
    #: True if the pair counts as a difference.
    failed: bool
    #: Further information.
    message: str | None


class DiffSetting(TypedDict):
    """Part of a report."""

    #: Key. Keys of GGUF metadata have no architecture.
    key: str
    #: Value in A, or null if A has none. Of long lists, the first element that differs.
    a: Any
    #: Value in B, or null if B has none. Of long lists, the first element that differs.
    b: Any
    #: True if it changes the output of the model. It counts as a difference unless --weights-only
    #: is given.
    counts: bool


class DiffMetadataChanged(TypedDict):
    """Part of a report."""

    #: Key.
    key: str
    #: Value in A.
    a: Any
    #: Value in B.
    b: Any


class DiffMetadata(TypedDict):
    """Differences in metadata and configs."""

    #: Keys that only A has.
    only_a: list[str]
    #: Keys that only B has.
    only_b: list[str]
    #: Keys whose values differ.
    changed: list[DiffMetadataChanged]


class DiffReport(TypedDict):
    """Comparison of two models. Metrics that are not finite are null. More fields may be added."""

    #: Version of this schema.
    schema: int
    #: First model.
    a: str
    #: Second model.
    b: str
    #: True if nothing counts as a difference.
    ok: bool
    #: Number of pairs by verdict, and metrics over all pairs.
    summary: DiffSummary
    #: Weights of A without a counterpart.
    only_a: list[str]
    #: Weights of B without a counterpart.
    only_b: list[str]
    #: Weights that need no counterpart, with the reason.
    explained: list[DiffReasons]
    #: With --skip-unreadable: weights that cannot be read.
    skipped: list[DiffReasons]
    #: Compared pairs.
    tensors: list[DiffTensor]
    #: Settings that differ: keys of the config, of the GGUF metadata and of the tokenizer.
    settings: list[DiffSetting]
    #: Differences in metadata and configs.
    metadata: DiffMetadata
    #: Notes on how names were matched, and other useful facts.
    notes: list[str]


class StatsTensorFinding(TypedDict):
    """Part of a report."""

    #: Stable identifier of the warning.
    kind: Literal["nan", "infinite", "exploded-rows", "saturated", "all-zero", "constant", "dead-rows", "dead-columns", "outliers"]
    #: Description of the warning, with positions.
    message: str


# Part of a report.
StatsTensorHistogram = TypedDict(
    "StatsTensorHistogram",
    {
        #: Start of the first bin.
        "from": "float",
        #: End of the last bin.
        "to": "float",
        #: Share of the values in each bin.
        "shares": "list[float]",
    },
)


class StatsTensorRows(TypedDict):
    """Statistics of rows; absent for fewer than two rows."""

    #: Number of rows.
    count: int
    #: Values per row.
    elements: int
    #: Number of all-zero rows.
    dead: int
    #: Indices of the first all-zero rows.
    first_dead: list[int]
    #: Number of all-zero columns; null if there are too many columns to track.
    dead_columns: int | None
    #: Indices of the first all-zero columns.
    first_dead_columns: list[int]
    #: Number of rows whose largest value exceeds 1000 times that of the median row.
    exploded: int
    #: Values equal to the largest of their row, not counting one per row.
    repeated_extremes: int


class StatsTensor(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Logical shape.
    shape: list[int]
    #: Storage scheme.
    scheme: str
    #: Variant of the scheme.
    variant: str
    #: Warnings, worst first.
    findings: list[StatsTensorFinding]
    #: Number of values.
    elements: int
    #: Mean; null if no value is finite.
    mean: float | None
    #: Standard deviation.
    deviation: float | None
    #: Smallest value.
    min: float | None
    #: Index of its first occurrence.
    min_index: list[int] | None
    #: Largest value.
    max: float | None
    #: Index of its first occurrence.
    max_index: list[int] | None
    #: Number of zeros.
    zeros: int
    #: Number of NaN values.
    nan: int
    #: Index of the first NaN; absent if there is none.
    first_nan: NotRequired[list[int]]
    #: Number of infinite values.
    infinite: int
    #: Index of the first infinite value; absent if there is none.
    first_infinite: NotRequired[list[int]]
    #: Number of finite values behind the quantiles and the histogram: all, or one in sixteen for a
    #: large weight.
    counted: int
    #: Largest error of the share of values below a quantile; 0 if all values were counted.
    rank_error: float
    #: Quantiles by percent: 1, 5, 25, 50, 75, 95, 99.
    quantiles: dict[str, float | None]
    #: Number of values more than 20 standard deviations from the mean; a lower bound if not all
    #: values were counted.
    outliers: int
    #: Histogram with bins of equal width; null if there is no range to divide.
    histogram: StatsTensorHistogram | None
    #: Statistics of rows; absent for fewer than two rows.
    rows: NotRequired[StatsTensorRows]


class StatsSkipped(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Reason why the weight cannot be read.
    reason: str


class StatsReport(TypedDict):
    """Statistics of all weights of a model, most suspicious first. More fields may be added."""

    #: Version of this schema.
    schema: int
    #: The path, name or address that was opened.
    path: str
    #: Number of weights.
    weights: int
    #: Number of values.
    elements: int
    #: Number of NaN values.
    nan: int
    #: Number of infinite values.
    infinite: int
    #: Number of weights with warnings.
    odd: int
    #: Largest relative error of a quantile.
    quantile_error: float
    #: Weights with the worst warnings first; the others in model order.
    tensors: list[StatsTensor]
    #: With --skip-unreadable: weights that cannot be read.
    skipped: list[StatsSkipped]
    #: Notes on decisions and other useful facts.
    notes: list[str]


class HashSkipped(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Reason why the weight cannot be read.
    reason: str


class HashTensorPart(TypedDict):
    """Part of a report."""

    #: Name in the file.
    name: str
    #: Role of the tensor in the weight.
    role: str
    #: Stored type.
    dtype: str
    #: Stored shape.
    shape: list[int]
    #: Size in bytes.
    bytes: int
    #: BLAKE3 hash of its bytes.
    hash: str


class HashTensor(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Hash of the weight.
    hash: str
    #: Logical shape.
    shape: list[int]
    #: Stored tensors of the weight; absent with --values.
    parts: NotRequired[list[HashTensorPart]]


class HashReport(TypedDict):
    """Hash of one model. For several models, --json prints an array of these objects and of errors; --json-lines prints one per line. The guide describes the hashed data. More fields may be added."""

    #: Version of this schema.
    schema: int
    #: The path, name or address that was opened.
    path: str
    #: Hash of the model.
    hash: str
    #: Hashed data: the stored tensors, or with --values the decoded values as f32.
    of: Literal["stored", "values"]
    #: Version of the hash definition.
    encoding: int
    #: Number of hashed weights.
    weights: int
    #: Number of hashed bytes.
    bytes: int
    #: With --skip-unreadable: skipped weights, with the reason.
    skipped: list[HashSkipped]
    #: Notes on decisions and other useful facts.
    notes: list[str]
    #: With --tensors: every weight, sorted by name.
    tensors: NotRequired[list[HashTensor]]


# Part of a report.
StatsFiguresHistogram = TypedDict(
    "StatsFiguresHistogram",
    {
        #: Start of the first bin.
        "from": "float",
        #: End of the last bin.
        "to": "float",
        #: Share of the values in each bin.
        "shares": "list[float]",
    },
)


class StatsFiguresRows(TypedDict):
    """Statistics of rows; absent for fewer than two rows."""

    #: Number of rows.
    count: int
    #: Values per row.
    elements: int
    #: Number of all-zero rows.
    dead: int
    #: Indices of the first all-zero rows.
    first_dead: list[int]
    #: Number of all-zero columns; null if there are too many columns to track.
    dead_columns: int | None
    #: Indices of the first all-zero columns.
    first_dead_columns: list[int]
    #: Number of rows whose largest value exceeds 1000 times that of the median row.
    exploded: int
    #: Values equal to the largest of their row, not counting one per row.
    repeated_extremes: int


class StatsFigures(TypedDict):
    """Statistics of a set of values. Mean, deviation, extremes and quantiles cover the finite values only. Also used for the field `stats` of show --stats."""

    #: Number of values.
    elements: int
    #: Mean; null if no value is finite.
    mean: float | None
    #: Standard deviation.
    deviation: float | None
    #: Smallest value.
    min: float | None
    #: Index of its first occurrence.
    min_index: list[int] | None
    #: Largest value.
    max: float | None
    #: Index of its first occurrence.
    max_index: list[int] | None
    #: Number of zeros.
    zeros: int
    #: Number of NaN values.
    nan: int
    #: Index of the first NaN; absent if there is none.
    first_nan: NotRequired[list[int]]
    #: Number of infinite values.
    infinite: int
    #: Index of the first infinite value; absent if there is none.
    first_infinite: NotRequired[list[int]]
    #: Number of finite values behind the quantiles and the histogram: all, or one in sixteen for a
    #: large weight.
    counted: int
    #: Largest error of the share of values below a quantile; 0 if all values were counted.
    rank_error: float
    #: Quantiles by percent: 1, 5, 25, 50, 75, 95, 99.
    quantiles: dict[str, float | None]
    #: Number of values more than 20 standard deviations from the mean; a lower bound if not all
    #: values were counted.
    outliers: int
    #: Histogram with bins of equal width; null if there is no range to divide.
    histogram: StatsFiguresHistogram | None
    #: Statistics of rows; absent for fewer than two rows.
    rows: NotRequired[StatsFiguresRows]


class ShowReport(TypedDict):
    """Values of one weight, or of a slice of it. More fields may be added."""

    #: Version of this schema.
    schema: int
    #: The path, name or address that was opened.
    path: str
    #: Name of the weight.
    name: str
    #: Logical shape, outermost dimension first.
    shape: list[int]
    #: Storage scheme.
    scheme: str
    #: Variant of the scheme.
    variant: str
    #: Type of the values.
    dtype: str
    #: Selected range of the outermost dimension.
    rows: list[int]
    #: Selected range of the innermost dimension.
    cols: list[int]
    #: Values as nested arrays.
    values: list[Any] | float | bool | None
    #: With --stats: statistics of these values.
    stats: NotRequired[StatsFigures]


class FamiliesFamilie(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Architecture in GGUF files.
    architecture: str
    #: Class names in architectures of configs.
    classes: list[str]
    #: Values of model_type in configs.
    model_types: list[str]
    #: Whether GGUF files become repositories again.
    to_hf: bool
    #: What becomes of next-token prediction layers; null if the family has none.
    next_layers: Literal["kept", "dropped", None]
    #: The tokenizers that are read.
    tokenizer: str
    #: Number of test models whose GGUF file equals that of llama.cpp's converter.
    compared: int
    #: Whether llama.cpp agrees with transformers; null if not run.
    agrees: bool | None
    #: Largest difference in that run.
    difference: float | None


class FamiliesProjector(TypedDict):
    """Part of a report."""

    #: Name.
    name: str
    #: Class names in configs.
    classes: list[str]
    #: What it encodes.
    encodes: list[Literal["images", "audio"]]
    #: Number of test models whose projector file equals that of llama.cpp's converter.
    compared: int


# Part of a report.
FamiliesMissing = TypedDict(
    "FamiliesMissing",
    {
        #: Class name in configs.
        "class": "str",
        #: Architecture in GGUF files.
        "architecture": "str",
        #: Why it is rejected.
        "reason": "str",
    },
)


class FamiliesReport(TypedDict):
    """Model families that are translated between Hugging Face repositories and GGUF files. With names, only these. More fields may be added."""

    #: Version of this schema.
    schema: int
    #: Families, by name.
    families: list[FamiliesFamilie]
    #: Projector classes, by name: encoders of images or audio that become a file beside the
    #: language model.
    projectors: list[FamiliesProjector]
    #: Class names that llama.cpp's converter knows and this version rejects.
    missing: list[FamiliesMissing]


__all__ = [
    "ConvertConversion",
    "ConvertCost",
    "ConvertDecodedA",
    "ConvertFile",
    "ConvertPlan",
    "ConvertPlanTensor",
    "ConvertQuantized",
    "ConvertQuantizedType",
    "ConvertQuantizedWeight",
    "ConvertReasons",
    "ConvertReport",
    "ConvertRewritten",
    "ConvertRewrittenChanged",
    "ConvertTied",
    "ConvertWarning",
    "DiffMetadata",
    "DiffMetadataChanged",
    "DiffReasons",
    "DiffReport",
    "DiffSetting",
    "DiffSummary",
    "DiffSummaryReencoded",
    "DiffSummaryWorst",
    "DiffSummaryWorstTensor",
    "DiffTensor",
    "DiffTensorPlace",
    "DiffTensorReencoded",
    "FamiliesFamilie",
    "FamiliesMissing",
    "FamiliesProjector",
    "FamiliesReport",
    "HashReport",
    "HashSkipped",
    "HashTensor",
    "HashTensorPart",
    "InspectAdapter",
    "InspectDecodedBytes",
    "InspectDropped",
    "InspectFile",
    "InspectModule",
    "InspectProblem",
    "InspectReport",
    "InspectScheme",
    "InspectTensor",
    "InspectTensorPart",
    "ShowReport",
    "StatsFigures",
    "StatsFiguresHistogram",
    "StatsFiguresRows",
    "StatsReport",
    "StatsSkipped",
    "StatsTensor",
    "StatsTensorFinding",
    "StatsTensorHistogram",
    "StatsTensorRows",
    "VerifyCompared",
    "VerifyComparedFile",
    "VerifyComparedMismatch",
    "VerifyComparedSkipped",
    "VerifyFile",
    "VerifyMismatch",
    "VerifyReport",
    "VerifySkipped",
]
