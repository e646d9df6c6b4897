"""Every setting: a dataclass field with its default, its unit, its bounds and a comment."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, field
from typing import Any

from tiny_graph_rag.errors import ConfigError, nearest

MOST = 2**63 - 1  # of any number: what an int64 holds
MOST_HOPS = 1000  # beyond the diameter of any graph that is worth walking; a walk takes room for each hop
FULL, COMPACT = "full", "compact"  # of --results
MOST_ENTITIES = 2**31 - 1  # entities are numbered by int32
SHOWN_RANKS = 10  # of each ranking at least, where it is so long


def setting(
    default: Any,
    comment: str,
    *,
    env: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """A setting with its comment; env overrides the file; low and high are its bounds, both allowed; choices:
    the words that it can be, where these are few. default: `dict` for an empty one."""
    known = {"comment": comment, "env": env, "low": low, "high": high, "choices": choices}
    return (
        field(default_factory=dict, metadata=known)
        if default is dict
        else field(default=default, metadata=known)
    )


def check_bounds(item: Field[Any], value: Any, place: str) -> None:
    """Raises ConfigError for a value out of a setting's bounds or choices; place: its name in the error."""
    low, high, choices = (item.metadata[name] for name in ("low", "high", "choices"))
    if choices and value not in choices:
        listed = f"{', '.join(choices[:-1])} or {choices[-1]}"
        raise ConfigError(f"{place} must be {listed}, got {value!r}{nearest(str(value), choices)}")
    if value is None or not isinstance(value, int | float):
        return
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{place} must be a finite number, got {value}")
    if low is not None and high is not None and not low <= value <= high:
        raise ConfigError(f"{place} must be from {low} to {high}, got {value}")
    if low is not None and not value >= low:
        raise ConfigError(f"{place} must be {low} or more, got {value}")
    if high is not None and not value <= high:
        raise ConfigError(f"{place} must be {high} or less, got {value}")
    if abs(value) > MOST:
        raise ConfigError(
            f"{place} must be below 2^63 in size, got a number of {len(str(int(value)))} digits"
        )


@dataclass(frozen=True, slots=True)
class Storage:
    """Folders that relative file names are looked for in first."""

    kg_dir: str = setting("data/kg", "knowledge graphs (environment: KG_DIR)", env="KG_DIR")
    dataset_dir: str = setting("data/eval", "gold sets (environment: DATASET_DIR)", env="DATASET_DIR")
    results_dir: str = setting("data/results", "results (environment: RESULTS_DIR)", env="RESULTS_DIR")


@dataclass(frozen=True, slots=True)
class Retrieval:
    """From the question to ranked entities."""

    linker: str = setting(
        "names+text",
        "how seeds are found: names, names+text (texts too), gold, none, or llm (asks the model)",
    )
    fuzzy: float | None = setting(
        None, "link misspelt names that are so alike, e.g. 0.85 (1 is equal); off by default", low=0.5, high=1
    )
    retriever: str = setting(
        "bfs", "how entities are found and ranked; or a function of your own, my_rag.py:retrieve"
    )
    hops: int = setting(2, "relations walked from a seed at most; 3 to 4 for hardsets", low=0, high=MOST_HOPS)
    depth: int = setting(100, "entities returned a question at most", low=1, high=MOST_ENTITIES)
    exclude_seeds: bool = setting(False, "the topic itself is no answer: leave the seeds out")
    direction: str = setting(
        "both", "steps along relations (out), against them (in) or both", choices=("both", "out", "in")
    )
    relations: str = setting("", "relation types to walk (a,b); all where empty")
    not_relations: str = setting("", "relation types not to walk (a,b)")
    types: str = setting("", "entity types to return (a,b); all where empty")
    min_weight: float = setting(0.0, "relations of less weight are not walked", low=0)
    max_degree: int = setting(0, "entities with more relations are not walked through; 0: any", low=0)
    min_score: float = setting(0.0, "entities below this score are not returned", low=0, high=1)
    vocabulary: str = setting("auto", "words for relations: auto (beside the graph), none, or a file")
    relation_similarity: str = setting(
        "words",
        "how words find relations: words, or embeddings too (asks the API for unlike words)",
        choices=("words", "embeddings"),
    )
    text_similarity: str = setting(
        "words",
        "what texts say of an entity: words, or embeddings too (asks the API for entities and questions)",
        choices=("words", "embeddings"),
    )

    @property
    def embeds(self) -> bool:
        """Whether ranking asks the service for embeddings."""
        return "embeddings" in (self.relation_similarity, self.text_similarity)


@dataclass(frozen=True, slots=True)
class RankingPrices:
    """Prices of `bfs`: an entity costs what its cheapest explanation costs (docs/retrieval.md)."""

    step: float = setting(0.1, "a step: of two equal explanations the shorter wins", low=0.001, high=10)
    against: float = setting(
        0.1, "more, for a step against the direction that its words name", low=0, high=10
    )
    unexplained: float = setting(1.0, "more, for a step that no word speaks for", low=0, high=10)
    unexplained_least: float = setting(0.2, "that price in a long question, at least", low=0, high=10)
    short_question: int = setting(3, "words of content with which a question asks about one step", low=0)
    long_question: float = setting(
        0.2, "less for an unexplained step with each word beyond: they tell of a way", low=0, high=10
    )
    again: float = setting(0.6, "more, for a step whose slots are filled already", low=0, high=10)
    early: float = setting(0.3, "more, for a step while an earlier slot is empty", low=0, high=10)
    off_focus: float = setting(1.0, "an answer whose last relation isn't the one asked for", low=0, high=10)
    referred: float = setting(
        2.0, "an entity that a pronoun stands for: the question asks for another", low=0, high=10
    )
    off_head: float = setting(0.8, "an answer that isn't of the kind asked for", low=0, high=10)
    other_seed: float = setting(1.2, "each mention that an explanation leaves out", low=0, high=10)
    same_stem: float = setting(0.9, "weight of a word with a relation's lemma or stem", low=0, high=1)
    related_word: float = setting(0.8, "weight of a word that shares a part with a relation's", low=0, high=1)
    vocabulary_word: float = setting(0.7, "weight of a word of the vocabulary file", low=0, high=1)
    similar_word: float = setting(
        0.7, "weight of a word as near to a relation's name as can be; less by its cosine", low=0, high=1
    )
    similar_from: float = setting(
        0.5, "cosine from which a word is near: half way from unrelated to equal", low=0.001, high=1
    )
    description_word: float = setting(0.6, "weight of a word in one relation's description", low=0, high=1)
    entity_word: float = setting(0.5, "weight of a word in one entity's description or type", low=0, high=1)
    rarest: float = setting(0.06, "weight below which a word of descriptions says too little", low=0, high=1)
    there_and_back: float = setting(
        0.5, "weight of the way back: also, same, together, 같은, 함께", low=0, high=1
    )
    repeated: float = setting(
        0.15, "weight of a relation's second word: below a step back, so it lengthens no walk", low=0, high=1
    )
    text_seeds: int = setting(5, "seeds by text that a question gets, at most", low=0, high=100)
    text_seed: float = setting(1.5, "a path from a seed by text instead of one by name", low=0, high=10)
    text_bit: float = setting(
        0.05,
        "each bit of text score less than the best has, times what the best path leaves unexplained",
        low=0,
        high=10,
    )
    explained: float = setting(
        0.1, "left unexplained by the best path, up to which texts change no rank", low=0, high=10
    )
    told_least: float = setting(
        0.26,
        "share of a question's bits that one entity's texts must hold where nothing is named",
        low=0,
        high=1,
    )
    untyped_hop: float = setting(0.1, "a hop, where relation types say nothing", low=0, high=10)
    untyped_text_seed: float = setting(0.2, "a path from a seed by text there", low=0, high=10)
    untyped_text_bit: float = setting(
        0.04, "each bit of text score less than the best has there", low=0, high=10
    )
    slots: int = setting(6, "words or mentions that an explanation weighs, at most", low=1, high=8)


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """How a run is scored."""

    top_k: int = setting(5, "rank at which measures cut; at most retrieval.depth", low=1)
    save_reasons: bool = setting(False, "keep what each rank shown is made of in the results")
    latency_sample: int = setting(200, "questions that are timed one by one, at most", low=0)
    match: str = setting(
        "auto",
        "when a passage is a reference: auto (by id, else by text), id, text, rouge1, rouge2 or rougeL",
        choices=("auto", "id", "text", "rouge1", "rouge2", "rougeL"),
    )
    rouge_threshold: float = setting(0.5, "ROUGE F1 from which a text is a reference", low=0.001, high=1)
    relation_match: str = setting(
        "ends",
        "when a relation is a reference: ends (and type), exact (as written) or id",
        choices=("ends", "exact", "id"),
    )
    source_chunks: str = setting(
        "none",
        "judge returned entities by their source_chunks (passages), returned passages by their entities "
        "(entities), or none",
        choices=("none", "passages", "entities"),
    )
    seed: int = setting(0, "seed of everything random (tests, samples)", low=0)

    @property
    def shown_ranks(self) -> int:
        """How much of a ranking results hold and show; --save-run writes all of it."""
        return max(self.top_k, SHOWN_RANKS)


@dataclass(frozen=True, slots=True)
class Embeddings:
    """How `--retriever dense`, `--relation-similarity`, `--text-similarity` ask the service of `openai`."""

    dense_model: str = setting("text-embedding-3-small", "model of the embeddings")
    embeddings_batch: int = setting(128, "texts a call", low=1, high=2048)
    usd_per_million_embedded: float | None = setting(None, "price of a million tokens; null: unknown", low=0)


@dataclass(frozen=True, slots=True)
class Running:
    """How the work is done: not in results files, which say what max_steps or max_states cut."""

    threads: int = setting(0, "threads for large gold sets; 0 is one for each core", low=0)
    compiled: bool = setting(True, "use numba where it is installed and the work is worth its start-up")
    max_steps: int = setting(
        50_000_000, "relations that one question's walks look at; hops beyond are left out; 0: any", low=0
    )
    max_states: int = setting(
        4_000_000, "ways that one question's walks keep, 170 bytes each; the same; 0: any", low=0
    )
    graph_cache: bool = setting(True, "keep loaded graphs under the user's cache folder")
    answer_cache: bool = setting(True, "keep a model's answers under the user's cache folder")
    largest_unpacked: float = setting(
        1.0, "GiB that a packed file (.gz) may unpack to in memory; on disk 16 times", low=0.001, high=1024
    )
    results: str = setting(
        FULL,
        "what a results file holds: full, or compact (no walks, no ranks below k)",
        choices=(FULL, COMPACT),
    )


@dataclass(frozen=True, slots=True)
class OpenAI:
    """The API that answers, any like OpenAI's chat completions; its key: environment OPENAI_API_KEY."""

    base_url: str = setting(
        "", "empty for OpenAI itself (environment: OPENAI_BASE_URL)", env="OPENAI_BASE_URL"
    )
    model: str = setting("gpt-4.1-mini", "model that answers (environment: OPENAI_MODEL)", env="OPENAI_MODEL")
    judge_model: str = setting("", "model that judges answers; empty for the same")
    temperature: float | None = setting(
        0.0, "null leaves it to the model", env="OPENAI_TEMPERATURE", low=0.0, high=2.0
    )
    max_tokens: int = setting(
        512, "tokens of an answer at most, reasoning included", env="OPENAI_MAX_TOKENS", low=1
    )
    timeout: float = setting(
        60.0, "seconds for a whole call (of the API, of your own retriever) until it is given up", low=0.001
    )
    largest_reply: int = setting(32, "MiB of one reply of the API at most", low=1, high=2047)
    concurrency: int = setting(8, "calls under way at once, at most", low=1, high=1024)
    seed: int | None = setting(0, "asks for repeatable answers where the API can; null leaves it out")
    prices: dict[str, Any] = setting(  # noqa: RUF009 - a field, as every setting
        dict, "USD a million tokens, {model: {input: 0.4, output: 1.6, cached_input: 0.1}}"
    )


@dataclass(frozen=True, slots=True)
class Generation:
    """What the model is given and how its answers are judged."""

    context_tokens: int = setting(2000, "tokens of graph facts in a prompt at most", low=1)
    prompt: str = setting("", "file with a prompt of your own; empty for the built-in one")
    bleu: bool = setting(False, "sentence BLEU beside the other answer scores (package sacrebleu)")
    judge: str = setting("", "correctness, faithfulness, quality, retrieval, factuality; empty for none")
    accuracy_model: str = setting(
        "", "model whose embeddings give ACC beside the judge factuality; empty for none"
    )
    fail_on_error: float = setting(
        1.0, "share of failed questions that ends the run with exit code 3", low=0, high=1
    )
