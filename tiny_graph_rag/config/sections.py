"""Every setting: a dataclass field with its default, its unit, its bounds and a comment."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, field
from functools import partial
from typing import Any

from tiny_graph_rag.errors import ConfigError, nearest
from tiny_graph_rag.messages import said

MOST = 2**63 - 1  # of any number: what an int64 holds
MOST_HOPS = 1000  # beyond the diameter of any graph that is worth walking; a walk takes room for each hop
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
    full_name: bool = False,
) -> Any:
    """A setting with its comment; env overrides the file; low and high are its bounds, both allowed; choices:
    the words that it can be, where these are few. default: `dict` for an empty one. full_name: its name alone
    means a setting of another section, so it is only ever given with its section."""
    known = {"comment": comment, "env": env, "low": low, "high": high, "choices": choices}
    known["full_name"] = full_name
    if default is dict:
        return field(default_factory=dict, metadata=known)
    return field(default=default, metadata=known)


def check_bounds(known: Field[Any], value: Any, place: str) -> None:
    """Raises ConfigError for a value out of a setting's bounds or choices; place: its name in the error."""
    low, high, choices = (known.metadata[name] for name in ("low", "high", "choices"))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    wanted, near = None, ""
    if choices and value not in choices:
        wanted = said("{some} or {last}", some=", ".join(choices[:-1]), last=choices[-1])
        value, near = repr(value), nearest(str(value), choices)
    elif isinstance(value, float) and not math.isfinite(value):
        wanted = said("a finite number")
    elif is_number and not (-MOST if low is None else low) <= value <= (MOST if high is None else high):
        wanted = said("{low} or more", low=low)
        if high is not None:
            wanted = said("from {low} to {high}", low=low, high=high)
        elif low is None or value > MOST:
            wanted = said("below 2^63 in size")
    if wanted is not None:
        values = {"place": place, "wanted": wanted, "got": value, "near": near}
        raise ConfigError("{place} must be {wanted}, got {got}{near}", **values)


@dataclass(frozen=True, slots=True)
class Storage:
    """Folders in which relative file names are looked up first."""

    kg_dir: str = setting("data/kg", "folder: knowledge graphs (environment: KG_DIR)", env="KG_DIR")
    dataset_dir: str = setting("data/eval", "folder: gold sets (environment: DATASET_DIR)", env="DATASET_DIR")
    results_dir: str = setting(
        "data/results", "folder: results (environment: RESULTS_DIR)", env="RESULTS_DIR"
    )


@dataclass(frozen=True, slots=True)
class Retrieval:
    """From the question to ranked entities."""

    linker: str = setting(
        "names+text",
        "how a question's entities (seeds) are found: names, names+text (also texts), gold, none, or llm "
        "(asks the model)",
    )
    fuzzy: float | None = setting(
        None,
        "also link misspelt names: lowest similarity to accept, such as 0.85 (1: equal); null: off",
        low=0.5,
        high=1,
    )
    retriever: str = setting(
        "bfs", "how entities are found and ranked, or a function of yours: my_rag.py:retrieve"
    )
    hops: int = setting(
        2, "most relations on a path from a seed; 3 or 4 for hard sets", low=0, high=MOST_HOPS
    )
    depth: int = setting(100, "most entities returned per question", low=1, high=MOST_ENTITIES)
    exclude_seeds: bool = setting(False, "leave the seeds out of the ranking")
    direction: str = setting(
        "both", "follow relations forwards (out), backwards (in) or both", choices=("both", "out", "in")
    )
    relations: str = setting("", "relation types to follow (a,b); empty: all")
    not_relations: str = setting("", "relation types not to follow (a,b)")
    types: str = setting("", "entity types to return (a,b); empty: all")
    min_weight: float = setting(0.0, "relations with a lower weight are not followed", low=0)
    min_score: float = setting(0.0, "entities with a lower score are not returned", low=0, high=1)
    vocabulary: str = setting(
        "auto", "file with words for relation types: auto (the one next to the graph), none, or a path"
    )


_cost = partial(setting, low=0, high=10)
_weight = partial(setting, low=0, high=1)


@dataclass(frozen=True, slots=True)
class RankingPrices:
    """Costs in the ranking of `bfs`: an entity has the cost of its cheapest path (docs/retrieval.md)."""

    step: float = setting(
        0.1, "cost of each hop, so that the shorter of two equal explanations wins", low=0.001, high=10
    )
    against: float = _cost(0.1, "added for a hop against the direction that its words name")
    unexplained: float = _cost(1.0, "added for a hop that no word of the question explains")
    short_question: int = setting(3, "content words in a question that asks about one hop", low=0)
    long_question: float = _cost(
        0.2, "subtracted from `unexplained` for each content word beyond `short_question`"
    )
    again: float = _cost(0.6, "added for a hop whose words already explain another hop")
    early: float = _cost(0.3, "added for a hop that skips an earlier word of the question")
    off_focus: float = _cost(1.0, "added where no hop is over the relation that the question asks for")
    referred: float = _cost(
        2.0, "added for an entity that a pronoun refers to, because the question asks for another one"
    )
    off_head: float = _cost(0.8, "added for an entity that is not of the kind that the question asks for")
    other_seed: float = _cost(1.2, "added for each mention in the question that the explanation leaves out")
    same_stem: float = _weight(0.9, "weight of a word that has the same lemma or stem as a relation type")
    related_word: float = _weight(0.8, "weight of a word that shares a part with a relation type")
    vocabulary_word: float = _weight(0.7, "weight of a word from the vocabulary file")
    description_word: float = _weight(0.6, "weight of a word in a relation's description")
    entity_word: float = _weight(0.5, "weight of a word in an entity's description or type")
    unknown_word: float = _weight(0.5, "weight of a word that stands for a relation in another language")
    rarest: float = _weight(0.06, "words of descriptions with a lower weight are ignored")
    there_and_back: float = _weight(
        0.5, "weight of words that ask for a path there and back: also, same, together, 같은, 함께"
    )
    repeated: float = _weight(
        0.15, "weight of a second word for the same relation; small, so that it never makes a path longer"
    )
    text_seeds: int = setting(5, "most seeds that a question gets by text", low=0, high=100)
    text_seed: float = _cost(1.5, "added for a path from a seed found by text instead of by name")
    text_bit: float = _cost(
        0.05,
        "added for each bit that the text score is below the best, times what the best path leaves "
        "unexplained",
    )
    explained: float = _cost(
        0.1, "texts change no rank while the best path leaves at most this much unexplained"
    )
    untyped_hop: float = _cost(0.02, "`step` in a graph whose relation types carry no meaning")
    untyped_text_seed: float = _cost(0.2, "`text_seed` in such a graph")
    slots: int = setting(
        6, "most words and mentions of a question that an explanation takes into account", low=1, high=8
    )


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """How a run is scored."""

    top_k: int = setting(5, "rank at which measures cut off (k); at most retrieval.depth", low=1)
    save_reasons: bool = setting(False, "record the details of each rank's cost in the results")
    latency_sample: int = setting(20, "most questions that are timed individually", low=0)
    match: str = setting(
        "auto",
        "when a passage counts as a reference: auto (same id, else same text), id, text, contains (the "
        "reference text), rouge1, rouge2 or rougeL",
        choices=("auto", "id", "text", "contains", "rouge1", "rouge2", "rougeL"),
    )
    rouge_threshold: float = setting(
        0.5, "lowest ROUGE F1 at which a text counts as a reference", low=0.001, high=1
    )
    source_chunks: str = setting(
        "none",
        "score returned entities by their source_chunks (passages), returned passages by their entities "
        "(entities), or neither (none)",
        choices=("none", "passages", "entities"),
    )
    seed: int = setting(0, "random seed (tests, samples)", low=0)

    @property
    def shown_ranks(self) -> int:
        """How much of a ranking results hold and show; --save-run writes all of it."""
        return max(self.top_k, SHOWN_RANKS)


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Embeddings of the API in `openai`, for `dense`."""

    dense_model: str = setting("text-embedding-3-small", "embedding model")
    embeddings_batch: int = setting(128, "texts in one call", low=1, high=2048)
    usd_per_million_embedded: float | None = setting(None, "USD per million tokens; null: unknown", low=0)


@dataclass(frozen=True, slots=True)
class Running:
    """How the work is done; not recorded in results files."""

    compiled: bool = setting(True, "use numba if it is installed and the work is large enough")
    graph_cache: bool = setting(True, "keep loaded graphs in the user's cache folder")
    answer_cache: bool = setting(True, "keep a model's answers in the user's cache folder")
    cluster: str = setting("", "Dask cluster that shares the work (tcp://HOST:8786); empty: none")
    columns: str = setting(
        "",
        "what the columns of a graph file mean (source=head,target=tail,name=label); empty: "
        "NAME-columns.yaml next to the graph, if there is one",
    )
    query: str = setting(
        "", "Cypher query that selects what to read from a graph database; empty: everything"
    )
    gate_on: str = setting(
        "mean",
        "what gates are compared with: mean, or the worse end of its 95 % interval (interval)",
        choices=("mean", "interval"),
    )
    largest_unpacked: float = setting(
        1.0,
        "most GiB that a compressed file (.gz) may unpack to in memory (16 times as much on disk)",
        low=0.001,
        high=1024,
    )
    own_process: bool = setting(False, "run your own retriever in processes of their own (slower)")


@dataclass(frozen=True, slots=True)
class OpenAI:
    """The API that answers: OpenAI or a compatible one. The key comes from OPENAI_API_KEY only."""

    base_url: str = setting(
        "", "address of the API; empty: OpenAI itself (environment: OPENAI_BASE_URL)", env="OPENAI_BASE_URL"
    )
    model: str = setting("gpt-4.1-mini", "model that answers (environment: OPENAI_MODEL)", env="OPENAI_MODEL")
    judge_model: str = setting("", "model that judges answers; empty: the same as `model`")
    temperature: float | None = setting(
        0.0,
        "sampling temperature; null: the model's own (environment: OPENAI_TEMPERATURE)",
        env="OPENAI_TEMPERATURE",
        low=0.0,
        high=2.0,
    )
    max_tokens: int = setting(
        512,
        "most tokens of an answer, reasoning included (environment: OPENAI_MAX_TOKENS)",
        env="OPENAI_MAX_TOKENS",
        low=1,
    )
    timeout: float = setting(
        60.0, "seconds to wait for a call (of the API or of your own retriever)", low=0.001
    )
    concurrency: int = setting(8, "most calls at the same time", low=1, high=1024)
    seed: int | None = setting(
        0,
        "random seed sent to the API for repeatable answers, if the API supports it; null: none",
        full_name=True,
    )
    prices: dict[str, Any] = setting(  # noqa: RUF009 - a field, as every setting
        dict, "USD per million tokens: {model: {input: 0.4, output: 1.6, cached_input: 0.1}}"
    )


@dataclass(frozen=True, slots=True)
class Generation:
    """What is sent to the model and how its answers are judged."""

    context_tokens: int = setting(2000, "most tokens of graph facts in a prompt", low=1)
    prompt: str = setting("", "file with a prompt of your own; empty: the built-in one")
    judge: str = setting(
        "",
        "what a model judges (a,b): correctness, preference, faithfulness, quality, retrieval, "
        "factuality; empty: nothing",
    )
    accuracy_model: str = setting(
        "", "embedding model for ACC, together with the judge factuality; empty: none"
    )
    fail_on_error: float = setting(
        1.0, "share of failed questions at which the exit code becomes 3", low=0, high=1
    )
