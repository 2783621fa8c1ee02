"""The typed reports of the verbs. Generated from docs/schema by
tools/reports_from_schema.py; do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class InspectAdapter(TypedDict):
    """An adapter (LoRA and the like): small matrices that change a base model. Absent for other models."""

    #: The kind of adapter, such as lora.
    kind: str
    #: Its rank; null if it is not stated.
    rank: int | None
    #: Its alpha, which over the rank is the factor of the change; null if it is not stated.
    alpha: float | None
    #: The modules of the base model that it changes, or one expression for them.
    target_modules: list[str]
    #: The name or address of its base model; null if it is not stated.
    base_model: str | None


class InspectFile(TypedDict):
    """Part of a report."""

    #: Where it is.
    path: str
    #: Its size.
    bytes: int


class InspectScheme(TypedDict):
    """Part of a report."""

    #: How they are stored: plain, gptq, ..
    scheme: str
    #: The kind within the scheme; of plain weights, their type.
    variant: str
    #: How many there are.
    weights: int
    #: Their elements.
    parameters: int
    #: Their stored bytes, scales included.
    bytes: int


class InspectDecodedBytes(TypedDict):
    """The payload that a conversion would write, by its --dtype."""

    #: With --dtype auto.
    auto: int
    #: With --dtype bf16.
    bf16: int
    #: With --dtype f16.
    f16: int
    #: With --dtype f32.
    f32: int
    #: As Q8_0: matrices whose rows 32 divides take 34 bytes for 32 numbers, other floating-point
    #: weights 4 bytes a number.
    q8_0: int


class InspectDropped(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: Why it is not needed.
    reason: str


class InspectProblem(TypedDict):
    """Part of a report."""

    #: The tensor it is about; null if it is about the whole model.
    tensor: str | None
    #: A stable word for it, such as truncated; the guide lists them.
    kind: str
    #: What is wrong, in words.
    message: str


class InspectModule(TypedDict):
    """A module or a weight; those that are alike are one."""

    #: The part of its name between two dots; 0-31 for 32 that are alike.
    name: str
    #: The weights in all of them.
    weights: int
    #: Their elements.
    parameters: int
    #: Their stored bytes.
    bytes: int
    #: Of a weight: the shape of each.
    shape: NotRequired[list[int]]
    #: Of a weight: how it is stored.
    scheme: NotRequired[str]
    #: Of a weight: the kind within the scheme.
    variant: NotRequired[str]
    #: What is inside; absent where there is nothing.
    modules: NotRequired[list[InspectModule]]


class InspectTensorPart(TypedDict):
    """Part of a report."""

    #: Its name in the file.
    name: str
    #: What it does in the weight: weight, scales, ..
    role: str
    #: Its stored type.
    dtype: str
    #: Its stored shape.
    shape: list[int]
    #: The file it lies in.
    file: str
    #: Where it begins in the file; null where its bytes are not there in one piece.
    offset: int | None
    #: Its bytes.
    bytes: int


class InspectTensor(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: Its logical shape.
    shape: list[int]
    #: How it is stored.
    scheme: str
    #: The kind within the scheme.
    variant: str
    #: The type its own library decodes it to.
    native: str | None
    #: Its elements.
    parameters: int
    #: The bytes of all its parts.
    bytes: int
    #: The stored tensors it is made of.
    parts: list[InspectTensorPart]


class InspectReport(TypedDict):
    """What one model holds. With several models, --json prints an array of these objects (and of errors), --json-lines one a line. More fields may be added."""

    #: The version of the fields.
    schema: int
    #: What was opened.
    path: str
    #: The format of its files: safetensors, gguf, npz, npy, pth, apr.
    format: str
    #: The version of the format and the like.
    detail: NotRequired[str]
    #: What the model calls itself.
    name: NotRequired[str]
    #: What the model says it is.
    architecture: NotRequired[str]
    #: An adapter (LoRA and the like): small matrices that change a base model. Absent for other
    #: models.
    adapter: NotRequired[InspectAdapter]
    #: Its files.
    files: list[InspectFile]
    #: The size of all files.
    file_bytes: int
    #: Tensors in the files.
    stored_tensors: int
    #: Logical tensors.
    weights: int
    #: Elements of the weights.
    parameters: int
    #: All bytes of the weights, times 8, over parameters; null if there are none.
    bits_per_weight: float | None
    #: Weights by the way they are stored, the largest first.
    schemes: list[InspectScheme]
    #: Stored tensors by type.
    dtypes: dict[str, int]
    #: The payload that a conversion would write, by its --dtype.
    decoded_bytes: InspectDecodedBytes
    #: Stored tensors that no weight needs.
    dropped: list[InspectDropped]
    #: What is wrong.
    problems: list[InspectProblem]
    #: What was decided, and what is worth knowing.
    notes: list[str]
    #: PyTorch files: what loading them with Python would run beside the usual builders, in the
    #: order it is named. Absent for other formats and for TorchScript.
    would_run: NotRequired[list[str]]
    #: The files' metadata. A long array is {"array": TYPE, "length": N} unless --full-metadata.
    metadata: dict[str, Any]
    #: The type of each value of the metadata.
    metadata_types: NotRequired[dict[str, str]]
    #: With --tree: the modules.
    tree: NotRequired[list[InspectModule]]
    #: With --tensors: every weight.
    tensors: NotRequired[list[InspectTensor]]


class ConvertFile(TypedDict):
    """Part of a report."""

    #: Where it is.
    path: str
    #: Its size.
    bytes: int
    #: How many tensors it holds.
    tensors: int
    #: An earlier run wrote it, and --resume took it over.
    kept: bool


class ConvertConversion(TypedDict):
    """Part of a report."""

    #: How they were stored; stored for what was kept as it is.
    scheme: str
    #: The kind within the scheme.
    variant: str
    #: The type they were written in.
    dtype: str
    #: How many there are.
    weights: int
    #: Their elements.
    parameters: int
    #: Their stored bytes.
    read_bytes: int
    #: Their bytes in the output.
    write_bytes: int


class ConvertReasons(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: Why.
    reason: str


class ConvertTied(TypedDict):
    """Part of a report."""

    #: The name that is not written.
    name: str
    #: The name that is.
    to: str


class ConvertDecodedA(TypedDict):
    """Part of a report."""

    #: The folder of a pipeline's component.
    component: NotRequired[str]
    #: The type.
    dtype: str
    #: Why.
    reason: str


# Part of a report.
ConvertRewrittenChanged = TypedDict(
    "ConvertRewrittenChanged",
    {
        #: The key.
        "key": "str",
        #: What it held; null if it is new.
        "from": "str | None",
        #: What it holds.
        "to": "str",
    },
)


class ConvertRewritten(TypedDict):
    """Part of a report."""

    #: The file.
    name: str
    #: Keys that are gone; keys inside others with dots.
    removed: list[str]
    #: Keys that hold something else.
    changed: list[ConvertRewrittenChanged]


class ConvertPlanTensor(TypedDict):
    """Part of a report."""

    #: Its name in the output.
    name: str
    #: What it would be stored as.
    dtype: str
    #: Its dimensions, outermost first.
    shape: list[int]
    #: How many bytes it would have.
    bytes: int
    #: The file that it would be in.
    file: str
    #: The scheme of what it is made from.
    scheme: str
    #: The variant of that scheme.
    variant: str


class ConvertPlan(TypedDict):
    """With --dry-run: everything that would be written."""

    #: The tensors, in the order in which they would be written.
    tensors: list[ConvertPlanTensor]
    #: The metadata of a translated model; of others it is empty. A long array is {"array": TYPE,
    #: "length": N}.
    metadata: dict[str, Any]
    #: The type of each value of the metadata.
    metadata_types: dict[str, str]


class ConvertCost(TypedDict):
    """What was lost; null where that was not measured."""

    #: The signal-to-noise ratio in decibels; null if nothing was lost.
    snr_db: float | None
    #: The norm of the errors over the norm of the numbers.
    relative: float | None
    #: The largest error.
    max_abs: float | None
    #: The largest error in steps between the levels of its group; null where a type has no steps.
    max_steps: float | None
    #: Numbers more than half a step beyond the outermost level.
    clipped: int | None
    #: Numbers that became zero and were not.
    flushed: int


class ConvertQuantizedType(TypedDict):
    """Part of a report."""

    #: The type.
    type: str
    #: How many there are.
    weights: int
    #: Their elements.
    parameters: int
    #: Their bytes.
    bytes: int
    #: Bits by elements.
    bits_per_weight: float
    #: What they lost.
    cost: ConvertCost | None


class ConvertQuantizedWeight(TypedDict):
    """Part of a report."""

    #: Its name in the output.
    name: str
    #: Its type.
    type: str
    #: Its elements.
    parameters: int
    #: Its bytes.
    bytes: int
    #: What it lost.
    cost: ConvertCost | None


class ConvertQuantized(TypedDict):
    """quantize: what was lost, by types and by weights; before anything is written, without cost."""

    #: The type that was asked for.
    type: str
    #: Bits of all tensors, scales included, by the number of elements.
    bits_per_weight: float
    #: The same for what is encoded; null if nothing is.
    encoded_bits_per_weight: float | None
    #: What all of them lost.
    cost: ConvertCost | None
    #: Weights by the type they are written in, the largest first.
    types: list[ConvertQuantizedType]
    #: Every weight that is encoded.
    weights: list[ConvertQuantizedWeight]


class VerifyComparedMismatch(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: The first element that differs, counted through the whole tensor; null where type or shape
    #: differ.
    first_index: int | None
    #: What the source gives: a number, bytes, or a type and a shape.
    expected: str
    #: What is there.
    found: str
    #: How many elements differ.
    count: int


class VerifyComparedSkipped(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: Why it cannot be read.
    reason: str


class VerifyComparedFile(TypedDict):
    """Part of a report."""

    #: The file.
    name: str
    #: What is wrong with it.
    problem: str


class VerifyCompared(TypedDict):
    """Also the field verified of a conversion with --verify."""

    #: Nothing differs.
    ok: bool
    #: Tensors whose elements were compared.
    checked: int
    #: Tensors that differ.
    mismatched: list[VerifyComparedMismatch]
    #: Names that the output lacks.
    missing: list[str]
    #: Names that the source does not have.
    extra: list[str]
    #: With --skip-unreadable: weights of the source that cannot be read.
    skipped: list[VerifyComparedSkipped]
    #: Files beside the weights that are missing or wrong.
    files: list[VerifyComparedFile]
    #: Configs and copied files that were compared.
    checked_files: int
    #: Finite values that became infinite.
    overflowed: int
    #: Weights that the output maps to another name.
    tied: int
    #: Bytes of the tensors that were compared.
    bytes: int


class ConvertReport(TypedDict):
    """What was written; with --dry-run, what would be. More fields may be added."""

    #: The version of the fields.
    schema: int
    #: The files of weights.
    files: list[ConvertFile]
    #: Weights by the way they were stored and the type they were written in, the largest first.
    conversions: list[ConvertConversion]
    #: Stored tensors that are not written, with the reason.
    dropped: list[ConvertReasons]
    #: With --skip-unreadable: weights that cannot be read.
    skipped: list[ConvertReasons]
    #: Weights that are written once, under the name of another.
    tied: list[ConvertTied]
    #: Keys of metadata that the format cannot hold.
    metadata_left_out: list[str]
    #: dequantize: the type of decoded weights, and why.
    decoded_as: list[ConvertDecodedA]
    #: dequantize: files beside the weights that were changed.
    rewritten: list[ConvertRewritten]
    #: dequantize: files that were copied as they are.
    copied: list[str]
    #: Files beside the weights that were made: configs, the tokenizer.
    made: list[str]
    #: What the model does not tell, and is left to whoever loads the output.
    not_carried: list[str]
    #: dequantize: files that were neither copied nor replaced.
    left_behind: list[ConvertReasons]
    #: What was decided, and what is worth knowing.
    notes: list[str]
    #: Stored bytes of the weights, without what was kept.
    read_bytes: int
    #: Bytes of the files written, without what was kept.
    write_bytes: int
    #: The number of threads.
    threads: int
    #: Bytes of all their tiles.
    tile_memory: int
    #: How long it took; null in a dry run.
    seconds: float | None
    #: The largest memory of the process, where the system says so; null in a dry run.
    peak_memory: int | None
    #: Finite values that became infinite; null in a dry run.
    overflowed: int | None
    #: With --dry-run: everything that would be written.
    plan: NotRequired[ConvertPlan]
    #: quantize: what was lost, by types and by weights; before anything is written, without cost.
    quantized: NotRequired[ConvertQuantized]
    #: With --verify. If ok is false, there is no output.
    verified: NotRequired[VerifyCompared]


class VerifyMismatch(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: The first element that differs, counted through the whole tensor; null where type or shape
    #: differ.
    first_index: int | None
    #: What the source gives: a number, bytes, or a type and a shape.
    expected: str
    #: What is there.
    found: str
    #: How many elements differ.
    count: int


class VerifySkipped(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: Why it cannot be read.
    reason: str


class VerifyFile(TypedDict):
    """Part of a report."""

    #: The file.
    name: str
    #: What is wrong with it.
    problem: str


class VerifyReport(TypedDict):
    """How an output compares with what its source gives. More fields may be added."""

    #: The version of the fields.
    schema: int
    #: Rules of the call that match nothing.
    notes: list[str]
    #: Nothing differs.
    ok: bool
    #: Tensors whose elements were compared.
    checked: int
    #: Tensors that differ.
    mismatched: list[VerifyMismatch]
    #: Names that the output lacks.
    missing: list[str]
    #: Names that the source does not have.
    extra: list[str]
    #: With --skip-unreadable: weights of the source that cannot be read.
    skipped: list[VerifySkipped]
    #: Files beside the weights that are missing or wrong.
    files: list[VerifyFile]
    #: Configs and copied files that were compared.
    checked_files: int
    #: Finite values that became infinite.
    overflowed: int
    #: Weights that the output maps to another name.
    tied: int
    #: Bytes of the tensors that were compared.
    bytes: int


class DiffSummaryWorstTensor(TypedDict):
    """Part of a report."""

    #: The weight's name in A.
    name: str
    #: The figure.
    value: float | None


class DiffSummaryWorst(TypedDict):
    """Part of a report."""

    #: The figure.
    metric: Literal["cosine", "max_abs", "mean_abs", "rmse", "relative", "snr_db", "ulp_max"]
    #: The worst first.
    tensors: list[DiffSummaryWorstTensor]


class DiffSummaryReencoded(TypedDict):
    """With --reencode: originals that were encoded once more."""

    #: How many.
    compared: int
    #: Those whose stored bytes that gives.
    same_bytes: int
    #: The largest error_ratio.
    worst_ratio: float | None


class DiffSummary(TypedDict):
    """Counts of pairs by their verdict, and figures over all of them."""

    #: Pairs of weights.
    compared: int
    #: Every number is the same to the bit.
    identical: int
    #: One side is the other, rounded to its type.
    equal_after_rounding: int
    #: Nothing differs but what the storage of a side cannot hold.
    within_precision: int
    #: Something does.
    changed: int
    #: There is no rule for the storage of a side.
    unjudged: int
    #: The shapes differ.
    shape_mismatch: int
    #: Weights on one side only.
    missing: int
    #: The numbers of a side cannot be decoded.
    undecoded: int
    #: Pairs that count as a difference.
    failed: int
    #: The least cosine of all pairs.
    min_cosine: float | None
    #: Pairs with a cosine under 0.999, or under the one that --fail-over names.
    below: int
    #: The cosine over all weights.
    model_cosine: float | None
    #: The root mean square of all differences.
    model_rmse: float | None
    #: The worst five by each figure.
    worst: list[DiffSummaryWorst]
    #: With --reencode: originals that were encoded once more.
    reencoded: NotRequired[DiffSummaryReencoded]


class DiffReasons(TypedDict):
    """Part of a report."""

    #: The model it is in.
    side: Literal["a", "b"]
    #: Its name.
    name: str
    #: Why.
    reason: str


class DiffTensorPlace(TypedDict):
    """Part of a report."""

    #: Coordinates in A.
    index: list[int]
    #: The number in A; null where it is not finite.
    a: float | None
    #: The number in B; null where it is not finite.
    b: float | None
    #: How far out it is, where 1 is as far as storage explains.
    half_gaps: float | None


class DiffTensorReencoded(TypedDict):
    """With --reencode, where the original was encoded once more: what came of it."""

    #: The type that it was encoded to.
    encoder: str
    #: The side that is stored in it.
    side: Literal["a", "b"]
    #: Stored blocks that encoding gives.
    identical_blocks: int
    #: All blocks.
    blocks: int
    #: The stored side's root mean square error against the original over the encoder's.
    error_ratio: float | None


class DiffTensor(TypedDict):
    """Part of a report."""

    #: Its name in A.
    name_a: str
    #: Its name in B.
    name_b: str
    #: Its shape in A.
    shape_a: list[int]
    #: Its shape in B.
    shape_b: list[int]
    #: How A stores it.
    scheme_a: str
    #: How B stores it.
    scheme_b: str
    #: The kind within the scheme of A.
    variant_a: str
    #: The kind within the scheme of B.
    variant_b: str
    #: Bits per weight in A.
    bits_a: float | None
    #: Bits per weight in B.
    bits_b: float | None
    #: What was done to make both sides comparable.
    transform: str | None
    #: How many numbers.
    elements: int
    #: How many are the same to the bit.
    identical: int | None
    #: The largest difference.
    max_abs: float | None
    #: Where it is, counted through A.
    max_abs_index: int | None
    #: The mean difference.
    mean_abs: float | None
    #: The root mean square of the differences.
    rmse: float | None
    #: The norm of the difference over the norm of A.
    relative: float | None
    #: The same in decibels.
    snr_db: float | None
    #: 1 where both sides are zero, 0 where one is.
    cosine: float | None
    #: The most steps between two numbers.
    ulp_max: int | None
    #: The type whose steps these are: the coarser one.
    ulp_type: str | None
    #: NaN in A.
    nan_a: int | None
    #: NaN in B.
    nan_b: int | None
    #: Infinite numbers in A.
    inf_a: int | None
    #: Infinite numbers in B.
    inf_b: int | None
    #: Elements where the sides disagree on being finite.
    unlike: int | None
    #: The mean of the finite numbers of A; null where equal bytes were not decoded.
    mean_a: float | None
    #: The same of B.
    mean_b: float | None
    #: Their standard deviation in A.
    std_a: float | None
    #: The same in B.
    std_b: float | None
    #: What was asked of the pair; null where bytes are the same, or nothing was compared.
    bound: Literal["equal", "nearest-level", "overlapping-cells", "rows", "none", None]
    #: Elements that the other side does not explain.
    outside: int | None
    #: Rows that hold them.
    outside_rows: int | None
    #: The first of them, at most eight.
    places: list[DiffTensorPlace]
    #: What the change looks like, in words.
    change: str | None
    #: With --reencode, where the original was encoded once more: what came of it.
    reencoded: NotRequired[DiffTensorReencoded]
    #: The verdict; the guide says what each means.
    status: Literal["identical", "equal-after-rounding", "within-precision", "changed", "unjudged", "shape", "undecoded", "uncompared"]
    #: It counts as a difference.
    failed: bool
    #: What else there is to say.
    message: str | None


class DiffMetadataChanged(TypedDict):
    """Part of a report."""

    #: The key.
    key: str
    #: What it holds in A.
    a: Any
    #: What it holds in B.
    b: Any


class DiffMetadata(TypedDict):
    """Entries of metadata and configs that are not the same."""

    #: Keys of A alone.
    only_a: list[str]
    #: Keys of B alone.
    only_b: list[str]
    #: Keys of both that hold something else.
    changed: list[DiffMetadataChanged]


class DiffReport(TypedDict):
    """How two models compare. Figures that are not finite are null. More fields may be added."""

    #: The version of the fields.
    schema: int
    #: The first model.
    a: str
    #: The second model.
    b: str
    #: Nothing counts as a difference.
    ok: bool
    #: Counts of pairs by their verdict, and figures over all of them.
    summary: DiffSummary
    #: Weights of A without a counterpart.
    only_a: list[str]
    #: Weights of B without a counterpart.
    only_b: list[str]
    #: Weights that need no counterpart.
    explained: list[DiffReasons]
    #: With --skip-unreadable: weights that cannot be read.
    skipped: list[DiffReasons]
    #: The pairs.
    tensors: list[DiffTensor]
    #: Entries of metadata and configs that are not the same.
    metadata: DiffMetadata
    #: How names were matched, and what is worth knowing.
    notes: list[str]


class StatsTensorFinding(TypedDict):
    """Part of a report."""

    #: A stable word for it.
    kind: Literal["nan", "infinite", "exploded-rows", "saturated", "all-zero", "constant", "dead-rows", "dead-columns", "outliers"]
    #: The same in words, with places.
    message: str


# Part of a report.
StatsTensorHistogram = TypedDict(
    "StatsTensorHistogram",
    {
        #: Where the first stretch begins.
        "from": "float",
        #: Where the last one ends.
        "to": "float",
        #: The share of the numbers in each.
        "shares": "list[float]",
    },
)


class StatsTensorRows(TypedDict):
    """What is known of rows; absent where there are not several."""

    #: How many rows.
    count: int
    #: Numbers of a row.
    elements: int
    #: Rows of nothing but zeros.
    dead: int
    #: The first of them.
    first_dead: list[int]
    #: Columns of nothing but zeros; null where there are too many columns to say.
    dead_columns: int | None
    #: The first of them.
    first_dead_columns: list[int]
    #: Rows whose largest number is surely more than 1000 times that of the median row.
    exploded: int
    #: Numbers as large as the largest of their row, but for one of each row.
    repeated_extremes: int


class StatsTensor(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: Its logical shape.
    shape: list[int]
    #: How it is stored.
    scheme: str
    #: The kind within the scheme.
    variant: str
    #: What looks wrong, the worst first.
    findings: list[StatsTensorFinding]
    #: How many numbers.
    elements: int
    #: Their mean; null if none is finite.
    mean: float | None
    #: Their standard deviation.
    deviation: float | None
    #: The smallest.
    min: float | None
    #: The first place of it.
    min_index: list[int] | None
    #: The largest.
    max: float | None
    #: The first place of it.
    max_index: list[int] | None
    #: How many are zero.
    zeros: int
    #: How many are NaN.
    nan: int
    #: The first of those; absent if there is none.
    first_nan: NotRequired[list[int]]
    #: How many are infinite.
    infinite: int
    #: The first of those; absent if there is none.
    first_infinite: NotRequired[list[int]]
    #: Finite numbers that the quantiles and the histogram are made of: all, or of a large weight
    #: one in sixteen.
    counted: int
    #: How far the share of numbers below a quantile may be from its percent: 0 where all were
    #: counted.
    rank_error: float
    #: By percent: 1, 5, 25, 50, 75, 95, 99.
    quantiles: dict[str, float | None]
    #: Numbers surely more than 20 deviations from the mean; at least so many where not all were
    #: counted.
    outliers: int
    #: Even stretches; null where there is nothing to divide.
    histogram: StatsTensorHistogram | None
    #: What is known of rows; absent where there are not several.
    rows: NotRequired[StatsTensorRows]


class StatsSkipped(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: Why it cannot be read.
    reason: str


class StatsReport(TypedDict):
    """Figures of all weights of a model, what looks worst first. More fields may be added."""

    #: The version of the fields.
    schema: int
    #: What was opened.
    path: str
    #: Weights that were looked at.
    weights: int
    #: Their numbers.
    elements: int
    #: Numbers that are NaN.
    nan: int
    #: Numbers that are infinite.
    infinite: int
    #: Weights with findings.
    odd: int
    #: How far a quantile may be from the right one, as a share of itself.
    quantile_error: float
    #: The weights: what looks worst comes first, otherwise in the order of the model.
    tensors: list[StatsTensor]
    #: With --skip-unreadable: weights that cannot be read.
    skipped: list[StatsSkipped]
    #: What was decided, and what is worth knowing.
    notes: list[str]


class HashSkipped(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: Why it cannot be read.
    reason: str


class HashTensorPart(TypedDict):
    """Part of a report."""

    #: Its name in the file.
    name: str
    #: What it does in the weight.
    role: str
    #: Its stored type.
    dtype: str
    #: Its stored shape.
    shape: list[int]
    #: Its bytes.
    bytes: int
    #: The BLAKE3 of its bytes.
    hash: str


class HashTensor(TypedDict):
    """Part of a report."""

    #: Its name.
    name: str
    #: Its hash.
    hash: str
    #: Its logical shape.
    shape: list[int]
    #: The stored tensors it is made of; absent with --values.
    parts: NotRequired[list[HashTensorPart]]


class HashReport(TypedDict):
    """The hash of one model. With several models, --json prints an array of these objects (and of errors), --json-lines one a line. What is hashed is described in the guide. More fields may be added."""

    #: The version of the fields.
    schema: int
    #: What was opened.
    path: str
    #: The hash of the model.
    hash: str
    #: What was hashed: what is stored, or with --values the numbers as f32.
    of: Literal["stored", "values"]
    #: The version of what a hash is made of.
    encoding: int
    #: Weights that were hashed.
    weights: int
    #: Bytes that were hashed.
    bytes: int
    #: With --skip-unreadable: weights that were left out.
    skipped: list[HashSkipped]
    #: What was decided, and what is worth knowing.
    notes: list[str]
    #: With --tensors: every weight, sorted by name.
    tensors: NotRequired[list[HashTensor]]


# Part of a report.
StatsFiguresHistogram = TypedDict(
    "StatsFiguresHistogram",
    {
        #: Where the first stretch begins.
        "from": "float",
        #: Where the last one ends.
        "to": "float",
        #: The share of the numbers in each.
        "shares": "list[float]",
    },
)


class StatsFiguresRows(TypedDict):
    """What is known of rows; absent where there are not several."""

    #: How many rows.
    count: int
    #: Numbers of a row.
    elements: int
    #: Rows of nothing but zeros.
    dead: int
    #: The first of them.
    first_dead: list[int]
    #: Columns of nothing but zeros; null where there are too many columns to say.
    dead_columns: int | None
    #: The first of them.
    first_dead_columns: list[int]
    #: Rows whose largest number is surely more than 1000 times that of the median row.
    exploded: int
    #: Numbers as large as the largest of their row, but for one of each row.
    repeated_extremes: int


class StatsFigures(TypedDict):
    """Figures of some numbers; mean, deviation, extremes and quantiles are those of the finite ones. Also the field stats of show --stats."""

    #: How many numbers.
    elements: int
    #: Their mean; null if none is finite.
    mean: float | None
    #: Their standard deviation.
    deviation: float | None
    #: The smallest.
    min: float | None
    #: The first place of it.
    min_index: list[int] | None
    #: The largest.
    max: float | None
    #: The first place of it.
    max_index: list[int] | None
    #: How many are zero.
    zeros: int
    #: How many are NaN.
    nan: int
    #: The first of those; absent if there is none.
    first_nan: NotRequired[list[int]]
    #: How many are infinite.
    infinite: int
    #: The first of those; absent if there is none.
    first_infinite: NotRequired[list[int]]
    #: Finite numbers that the quantiles and the histogram are made of: all, or of a large weight
    #: one in sixteen.
    counted: int
    #: How far the share of numbers below a quantile may be from its percent: 0 where all were
    #: counted.
    rank_error: float
    #: By percent: 1, 5, 25, 50, 75, 95, 99.
    quantiles: dict[str, float | None]
    #: Numbers surely more than 20 deviations from the mean; at least so many where not all were
    #: counted.
    outliers: int
    #: Even stretches; null where there is nothing to divide.
    histogram: StatsFiguresHistogram | None
    #: What is known of rows; absent where there are not several.
    rows: NotRequired[StatsFiguresRows]


class ShowReport(TypedDict):
    """The numbers of one weight, or some of them. More fields may be added."""

    #: The version of the fields.
    schema: int
    #: What was opened.
    path: str
    #: The name of the weight.
    name: str
    #: Its logical shape, outermost dimension first.
    shape: list[int]
    #: How it is stored.
    scheme: str
    #: The kind within the scheme.
    variant: str
    #: The type that the numbers are given in.
    dtype: str
    #: Which rows of the outermost dimension are given.
    rows: list[int]
    #: Which elements of the innermost dimension are given.
    cols: list[int]
    #: The numbers, in nested arrays.
    values: list[Any] | float | bool | None
    #: With --stats: figures of these numbers.
    stats: NotRequired[StatsFigures]


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
    "DiffMetadata",
    "DiffMetadataChanged",
    "DiffReasons",
    "DiffReport",
    "DiffSummary",
    "DiffSummaryReencoded",
    "DiffSummaryWorst",
    "DiffSummaryWorstTensor",
    "DiffTensor",
    "DiffTensorPlace",
    "DiffTensorReencoded",
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
