"""The results files of `eval` and `score` (and what is read of a sweep's and a comparison's) as types.

Whoever writes a question's part of a file makes these records, and whoever reads a file decodes into them or
into a `part` of them, so the JSON schema that is generated from them describes what is written:

    python -m tiny_graph_rag.results        # prints the JSON schema

docs/results.md says in words what the fields mean. A field that may be absent is UNSET; an undefined value is
None. Fields that are not named here are passed over, so files of later versions load.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Count = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[float, Meta(ge=0)]
Hop = Annotated[int, Meta(ge=-1)]
Sha256 = Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")]
Json = dict[str, Any]


class File(Struct):
    name: str
    sha256: Sha256 = ""


class Selection(Struct):
    limit: Count | None = None
    tags: list[str] = []
    ids: list[str] = []


class Dataset(File):
    selection: Selection | None = None


class RunFile(Struct):
    name: str
    sha256: str = ""
    format: str | UnsetType = UNSET


class PatchFile(RunFile):
    """applied: what of it, in words."""

    applied: str | UnsetType = UNSET


class Made(Struct):
    """When, by which command and under which label a file was made."""

    at: str | None = None
    label: str | None = None
    command: str | None = None


class Tokens(Struct):
    prompt_tokens: Count | UnsetType = UNSET
    completion_tokens: Count | UnsetType = UNSET
    total_tokens: Count | UnsetType = UNSET
    cached_tokens: Count | UnsetType = UNSET
    reasoning_tokens: Count | UnsetType = UNSET


class Mean(Struct):
    """A mean over n questions with the ends of its confidence interval; null where no question defines it."""

    mean: float | None
    n: Count
    low: float | None = None
    high: float | None = None
    reliable: bool = True


class Slice(Struct):
    """Counts and means of all questions, or of those of one tag.

    rightly_empty: of those without gold, answered with an empty list. failed: questions that failed or that
    the run lacks, with the worst value of every measure; failed_without_gold: of those, the ones without
    gold. groups: of questions that are variants of one, where the gold set has groups.
    """

    questions: Count
    scored: Count
    without_gold: Count
    nothing_retrieved: Count
    failed: Count
    measures: dict[str, Mean]
    rightly_empty: Count | UnsetType = UNSET
    failed_without_gold: Count | UnsetType = UNSET
    groups: Some | UnsetType = UNSET
    answers: Json | UnsetType = UNSET
    usage: Json | UnsetType = UNSET


class WaterfallStep(Struct):
    """recall: what remains after the step; loss: what it takes, the first one from 1; references: how many it
    takes; those of all steps and the hits are all there are."""

    step: str
    recall: Share | None
    loss: float | None
    references: Count | UnsetType = UNSET


class NotRecognised(Struct):
    """questions: in which no entity was recognised by name; of: all that name something by the gold set or
    may do so; by_text: of the former, those with seeds by text."""

    questions: Some
    of: Some
    by_text: Count


class Recommended(Struct):
    rule: str
    text: str
    said: str | UnsetType = UNSET
    values: Json | UnsetType = UNSET
    evidence: Json | UnsetType = UNSET


class TriedSetting(Struct, kw_only=True):
    """One setting, tried on all questions of a gold set.

    settings: what it changes in today's, by name; {} for today's own. label: the same as options. mean: of
    the deciding measure; change: against today's, with how many questions got better, stayed, got worse. p:
    two-sided, that nothing differs, corrected for all settings tried; certain: whether that is unlikely.
    against: the loss (a verdict) that it was tried for.
    """

    settings: Json
    label: str
    mean: float | None = None
    change: float | None = None
    better: Count = 0
    same: Count = 0
    worse: Count = 0
    p: float | None = None
    certain: bool = False
    against: str = ""


class Decision(Struct, kw_only=True):
    """Which of the settings tried to take. recommended, best: their places in `tried`; no setting is
    recommended for too few groups of questions. expected: the gain over today's that other questions can be
    expected to show, less than what these show. certain: whether the recommended setting is certain to beat
    today's. reason: the sentence that says so."""

    measure: str
    questions: Count
    groups: Count
    tried: list[TriedSetting]
    recommended: int | None
    best: int | None
    expected: float | None
    certain: bool
    reason: str


class Latency(Struct):
    """Seconds a question, over those that were timed."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    n: Count = 0


class Summary(Slice, kw_only=True):
    """oracle_recall: reachable within h hops, the share of references that any ranking within the hops could
    return; null where the hops bound nothing. verdicts, waterfall: of what only texts brought near, but was
    ranked low, the step at which the names of the question lose it. waterfall_gold_seeds:
    from the gold set's own seeds."""

    k: Some
    by_tag: dict[str, Slice]
    mean_precision_at_k: float | None
    mean_recall_at_k: float | None
    mean_mrr: float | None
    mean_ndcg_at_k: float | None
    total_token_usage: Count
    estimated_cost_usd: float | None
    token_usage: Tokens | UnsetType = UNSET
    verdicts: dict[str, Count] | UnsetType = UNSET
    waterfall: list[WaterfallStep] | UnsetType = UNSET
    waterfall_by_tag: dict[str, list[WaterfallStep]] | UnsetType = UNSET
    oracle_recall: Share | UnsetType | None = UNSET
    waterfall_gold_seeds: list[WaterfallStep] | UnsetType | None = UNSET
    linking: Json | UnsetType | None = UNSET
    not_recognised: NotRecognised | UnsetType = UNSET
    ties: Json | UnsetType | None = UNSET
    recommendations: list[Recommended] | UnsetType = UNSET
    decision: Json | UnsetType = UNSET
    latency: Latency | UnsetType | None = UNSET
    questions_per_second: float | UnsetType | None = UNSET
    own_retriever: Json | UnsetType = UNSET


class Step(Struct, gc=False, rename={"source": "from", "target": "to"}):
    """A step of a path, by entity ids. forward: with the relation's direction."""

    source: str
    relation: str
    target: str
    forward: bool


class Seed(Struct):
    """start, end: of the mention in the query; None where it stands elsewhere."""

    id: str
    name: str
    mention: str
    start: Count | None
    end: Count | None
    rule: str
    weight: Positive


class Cost(Struct, gc=False, forbid_unknown_fields=True):
    """total: the sum of the other five."""

    total: Positive
    link: Positive
    path: Positive
    text: Positive
    neighbour: Positive
    pagerank: Positive


class Reason(Struct, gc=False, frozen=True):
    """A part of what an entity's place is made of. what: a step of its path in words, or a rule.

    words: of the question, which it explains or leaves unexplained. price: all of an entity's add up to its
    cost, and its score is 1 / (1 + cost).
    """

    what: str
    words: tuple[str, ...]
    price: float


class Ranked(Struct, gc=False):
    """hop: relations of the path shown; -1 and null: none known."""

    id: str
    name: str
    score: float | None
    hop: Hop | None
    cost: Cost | UnsetType = UNSET
    walk: list[Step] | UnsetType = UNSET
    reasons: list[Reason] | UnsetType = UNSET


class Reference(Struct, gc=False):
    """tried: with the verdict no_seed, the words or names looked for, none of which the graph has. nearest:
    names like one that the graph lacks. above: ids within k that are no reference."""

    name: str
    grade: int
    entity_ids: list[str]
    resolved_by: str | None
    ambiguous: bool | UnsetType = UNSET
    shares_entity: bool | UnsetType = UNSET
    verdict: str | UnsetType | None = UNSET
    rank: Some | UnsetType | None = UNSET
    hop: Hop | UnsetType | None = UNSET
    matched: str | UnsetType | None = UNSET
    path: list[Step] | UnsetType | None = UNSET
    nearest: list[str] | UnsetType | None = UNSET
    tried: list[str] | UnsetType = UNSET
    above: list[str] | UnsetType | None = UNSET


class Linking(Struct, kw_only=True):
    """With --linker llm: what asking the model took, and why it failed if it did."""

    error: str | None
    calls: Count
    prompt_tokens: Count | UnsetType = UNSET
    completion_tokens: Count | UnsetType = UNSET
    total_tokens: Count
    cached_tokens: Count | UnsetType = UNSET
    reasoning_tokens: Count | UnsetType = UNSET
    cost_usd: float | None
    estimated: bool


class WrittenAnswer(Struct):
    """error: why there is none. citations: ids of entities that the cited facts speak of."""

    text: str | None = None
    error: str | Json | None = None
    abstained: bool | UnsetType = UNSET
    cited_facts: list[int] | UnsetType = UNSET
    citations: list[str] | None = None
    scores: dict[str, float | None] | None = None
    verdicts: Json | UnsetType = UNSET
    context: Json | UnsetType = UNSET
    tokens: Tokens | None = None
    cost_usd: float | None = None
    estimated: bool | None = None
    usage: Json | UnsetType = UNSET


class Question(Struct, kw_only=True):
    """tp, fp, fn: names of what the first k hold correctly and wrongly, and of the references they miss."""

    id: str
    query: str
    context: list[str] | UnsetType = UNSET
    ground_truth: list[str] | UnsetType = UNSET
    tags: list[str]
    group: str | UnsetType = UNSET
    linked: list[Seed]
    own_retriever: Json | UnsetType = UNSET
    relations: Json | UnsetType = UNSET
    passages: Json | UnsetType = UNSET
    ranked: list[Ranked]
    references: list[Reference]
    metrics: dict[str, float | None]
    answer: WrittenAnswer | None = None
    tp: list[str] | UnsetType = UNSET
    fp: list[str] | UnsetType = UNSET
    fn: list[str] | UnsetType = UNSET
    latency_seconds: float | None = None
    linking: Linking | UnsetType = UNSET


class Entity(Struct):
    name: str
    type: str
    description: str


class _Head(Struct, kw_only=True):
    schema_version: Literal[1]
    package_version: str
    made: Made | UnsetType = UNSET


class Results(_Head, kw_only=True):
    """What `eval` and `score` write. entities: every entity that is mentioned by id anywhere, once."""

    kind: Literal["eval", "score"]
    graph: File | None = None
    dataset: Dataset
    config: dict[str, dict[str, Any]]
    summary: Summary
    results: list[Question]
    entities: dict[str, Entity]
    run: RunFile | UnsetType = UNSET
    patch: PatchFile | UnsetType = UNSET


class Setting(Struct, kw_only=True):
    """One setting of a sweep. oracle_recall: as Summary has it."""

    retriever: str
    hops: Count | None
    top_k: Some
    measures: dict[str, Mean]
    system: str | UnsetType = UNSET
    settings: Json | UnsetType = UNSET
    questions: Count | UnsetType = UNSET
    by_tag: dict[str, Json] | UnsetType = UNSET
    oracle_recall: Share | UnsetType | None = UNSET


class SweepResults(_Head, kw_only=True):
    """What `sweep` writes."""

    kind: Literal["sweep"]
    graph: File | None = None
    dataset: Dataset | None = None
    settings: list[Setting]
    recommended: Json


class ComparedRow(Struct, kw_only=True):
    """One system in one measure. difference: to the first system, with the ends of its interval."""

    system: str
    mean: float | None
    mean_reliable: bool | UnsetType = UNSET
    difference: float | UnsetType | None = UNSET
    low: float | UnsetType | None = UNSET
    high: float | UnsetType | None = UNSET
    reliable: bool | UnsetType = UNSET
    p_randomisation: float | UnsetType | None = UNSET
    p_holm: float | UnsetType | None = UNSET
    wins: Count | UnsetType | None = UNSET
    ties: Count | UnsetType | None = UNSET
    losses: Count | UnsetType | None = UNSET


class ComparisonResults(_Head, kw_only=True):
    """What `compare` writes."""

    kind: Literal["comparison"]
    dataset: Dataset | None = None
    systems: list[Json]
    measures: dict[str, list[ComparedRow]]


_ENCODER = msgspec.json.Encoder(enc_hook=str)  # texts of errors and names of measures become strings


def encoded(record: Any) -> bytes:
    """A record, or a dictionary of such, as JSON in one line.

    A number that is not finite is null, and what is no UTF-8 in a name is `?`.
    """
    try:
        return _ENCODER.encode(record)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(record, enc_hook=str), ensure_ascii=False)
        return _ENCODER.encode(json.loads(text.encode("utf-8", "replace"), parse_constant=lambda sign: None))


def as_read(record: Any) -> Any:
    """A record as a reader of the file gets it: dictionaries, lists and None."""
    return msgspec.json.decode(encoded(record))


KINDS: dict[str, type[Struct]] = {
    "eval": Results,
    "score": Results,
    "sweep": SweepResults,
    "comparison": ComparisonResults,
}


def part(record: type[Struct], *needed: str, types: Mapping[str, Any] | None = None, **defaults: Any) -> Any:
    """A record type with some fields of `record`, for readers that need no more: what else a file holds is
    passed over unread.

    needed: fields that a file must have. defaults: those that it may lack, with what they are then. types: of
    fields that are narrower here, a `part` of what they have.
    """
    known = {field.encode_name: field.type for field in msgspec.structs.fields(record)} | dict(types or {})
    fields: list[Any] = [(name, known[name]) for name in needed]
    fields += [
        (name, known[name] if default is not None else known[name] | None, default)
        for name, default in defaults.items()
    ]
    return msgspec.defstruct(record.__name__, fields, kw_only=True)


def schema() -> dict[str, Any]:
    """The JSON schema of a results file of any kind."""
    written = dict.fromkeys(KINDS.values())
    kinds, parts = msgspec.json.schema_components(written, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of Tiny-Graph-RAG eval",
        "description": "What eval, score, sweep and compare write; docs/results.md says what the fields "
        "mean. Fields that are not named here may come with any version; the ones named keep name and "
        "meaning within a schema_version.",
        "oneOf": list(kinds),
        "$defs": parts,
    }


if __name__ == "__main__":
    print(json.dumps(schema(), ensure_ascii=False, indent=2))
