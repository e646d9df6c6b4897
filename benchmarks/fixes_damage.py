"""What `fix` finds and restores of damage that was done to our sample graphs.

    uv run python benchmarks/fixes_damage.py                     # a minute
    uv run python benchmarks/fixes_damage.py --data ../shared/data   # large graphs, too

split     10 % of the entities get a second spelling, which takes every second relation; merges are proposed
aliases   aliases that shorten the name are removed, and names get initials; questions use the short forms
relations 5 % of the relations are dropped; the owner is asked
types     the relation types of 10 % of the relations become codes (R17): nothing can be proposed from names
folder    a LightRAG folder whose Korean questions shorten names

Every line is a mean over five random seeds. Restored: the share of the loss in ndcg@5 that comes back, gold
held to what it meant. Right: a merge joins two halves; an alias leads to the entity that the short form
or the question's seed_entities mean.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.config import Config
from tiny_graph_rag.fixing.aliases import propose_aliases
from tiny_graph_rag.fixing.applying import apply, frozen
from tiny_graph_rag.fixing.merges import propose_merges
from tiny_graph_rag.fixing.missing import propose_asks
from tiny_graph_rag.fixing.patch import DRAFT, empty_patch
from tiny_graph_rag.fixing.renames import propose_renames
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.name_forms import initials_of
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.tables import Relations
from tiny_graph_rag.language.function_words import final_consonant
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.study.evaluate import evaluate

ROOT = Path(__file__).resolve().parent.parent
OWN = (("en", "conan-doyle-speckled-band"), ("ko", "김유정-동백꽃"))
FOLDER = "home-appliances"
MEASURE = Measure("ndcg", 5)
SEEDS = range(5)
SYLLABLES = 3  # of the last word of a Korean name that people use alone
SPLIT, NO_RELATION, OPAQUE = 0.10, 0.05, 0.10


@dataclass(frozen=True)
class Split:
    """graph: with the second halves at its end. halves: id of the first → id of the second."""

    graph: KnowledgeGraph
    halves: dict[str, str]
    spellings: dict[str, str]


def second_spellings(name: str) -> Iterator[tuple[str, str]]:
    """How an extraction may write the same name again: (kind, spelling)."""
    hangul = any(final_consonant(letter) is not None for letter in name)
    words = name.split()
    if len(words) > 1:
        yield "no space", name.replace(" ", "") if hangul else name.replace(" ", "-")
    if hangul:
        if len(name) > 1 and final_consonant(name[-1]):
            yield "particle", name + "이"
        yield "particle", name + ("을" if final_consonant(name[-1]) else "를")
        yield "quotes", f"'{name}'"
        if len(words) > 1:
            yield "particle", f"{words[0]}의 {' '.join(words[1:])}" if not words[0].endswith("의") else name
        return
    yield "small letters", name.lower()
    yield "capitals", name.upper()
    if name.startswith("The "):
        yield "article", name[4:]
    else:
        yield "article", f"the {name}"
    if words[-1].isalpha() and words[-1].islower() and not name.endswith("s"):
        yield "plural", f"{name[:-1]}ies" if name.endswith("y") and name[-2] not in "aeiou" else f"{name}s"
    long = max(words, key=len)
    if len(long) > 6:
        middle = len(long) // 2
        swapped = long[: middle - 1] + long[middle] + long[middle - 1] + long[middle + 1 :]
        yield "swapped letters", name.replace(long, swapped)
    if len(words) == 2 and words[0].isalpha() and words[1][0].isupper():
        yield "turned round", f"{words[1]}, {words[0]}"


def split(graph: KnowledgeGraph, seed: int, share: float = SPLIT) -> Split:
    """Entities with two relations or more get a second spelling (drawn among all kinds) with the same type
    and no text; every second relation moves there."""
    random = np.random.default_rng(seed)
    degrees, entities = graph.adjacency.degrees, graph.entities
    able = np.flatnonzero(degrees > 1)
    chosen = np.sort(random.permutation(able)[: max(1, round(share * len(graph)))]).tolist()
    taken = set(entities.names)
    sources, targets = graph.relations.sources.copy(), graph.relations.targets.copy()
    ids: list[str] = []
    names: list[str] = []
    types: list[str] = []
    halves: dict[str, str] = {}
    spellings: dict[str, str] = {}
    for row in chosen:
        name = entities.names[row]
        kinds = [(kind, text) for kind, text in second_spellings(name) if text not in taken and text != name]
        kind, spelling = kinds[int(random.integers(len(kinds)))]
        taken.add(spelling)
        new = len(graph) + len(ids)
        ids.append(f"{entities.ids[row]}-second")
        names.append(spelling)
        types.append(entities.types[row])
        halves[entities.ids[row]] = ids[-1]
        spellings[ids[-1]] = f"{kind}: {name} | {spelling}"
        at = np.flatnonzero((sources == row) | (targets == row))
        for relation in random.permutation(at)[::2].tolist():
            column = sources if sources[relation] == row else targets
            column[relation] = new
    blank = [""] * len(ids)
    more = replace(
        entities,
        ids=Strings.of([*entities.ids, *ids]),
        names=Strings.of([*entities.names, *names]),
        types=Categories.of([*entities.types, *types]),
        descriptions=Strings.of([*entities.descriptions, *blank]),
        aliases=StringLists.of([*entities.aliases, *[[]] * len(ids)]),
        source_chunks=StringLists.of([*entities.source_chunks, *[[]] * len(ids)]),
        details=Strings.of([*entities.details, *blank]),
    )
    relations = replace(graph.relations, sources=sources, targets=targets)
    return Split(KnowledgeGraph.of(more, relations, name=graph.name), halves, spellings)


def without_relations(graph: KnowledgeGraph, seed: int) -> tuple[KnowledgeGraph, list[int]]:
    """The graph without a share of its relations, and their rows."""
    random = np.random.default_rng(seed)
    gone = np.sort(random.permutation(len(graph.relations))[: round(NO_RELATION * len(graph.relations))])
    keep = np.ones(len(graph.relations), dtype=bool)
    keep[gone] = False
    return KnowledgeGraph.of(graph.entities, _relations_of(graph, np.flatnonzero(keep)), name=graph.name), [
        *gone.tolist()
    ]


def with_opaque_types(graph: KnowledgeGraph, seed: int) -> KnowledgeGraph:
    """The graph with codes for the types of a share of its relations: R and the number of the type."""
    random = np.random.default_rng(seed)
    types, relations = list(graph.relations.types), graph.relations
    number = {type: place for place, type in enumerate(relations.types.names)}
    for row in random.permutation(len(types))[: round(OPAQUE * len(types))].tolist():
        types[row] = f"R{number[types[row]]}"
    return KnowledgeGraph.of(graph.entities, replace(relations, types=Categories.of(types)), name=graph.name)


def _relations_of(graph: KnowledgeGraph, rows: NDArray[np.int64]) -> Relations:
    old = graph.relations
    return replace(
        old,
        ids=Strings.of([old.ids[row] for row in rows.tolist()]),
        sources=old.sources[rows],
        targets=old.targets[rows],
        types=Categories.of([old.types[row] for row in rows.tolist()]),
        descriptions=Strings.of([old.descriptions[row] for row in rows.tolist()]),
        weights=old.weights[rows],
        source_chunks=StringLists.of([old.source_chunks[row] for row in rows.tolist()]),
        details=Strings.of([old.details[row] for row in rows.tolist()]),
    )


def held_to(examples: EvalSet, graph: KnowledgeGraph, damaged: KnowledgeGraph) -> EvalSet:
    """Gold that means on the damaged graph what it meant on the whole one, by id."""
    names = NameIndex.of(graph)
    row_of = {id: row for row, id in enumerate(damaged.entities.ids)}
    meanings = {
        name: (tuple(row_of[graph.entities.ids[row]] for row in rows), level)
        for name, (rows, level) in names.resolve_all(
            name for one in examples for name in (*one.reference_entities, *one.highly_relevant_entities)
        ).items()
    }
    return replace(examples, meanings=meanings)


def score_of(graph: KnowledgeGraph, examples: EvalSet) -> float:
    column = np.asarray(evaluate(graph, examples, Config(), [MEASURE]).scores[MEASURE])
    return float(np.nanmean(column))


def with_patch(graph: KnowledgeGraph, examples: EvalSet, **sections: Any) -> tuple[KnowledgeGraph, EvalSet]:
    """sections: of a patch, each with its entries; all of them are applied."""
    patch = msgspec.structs.replace(
        empty_patch(graph, examples), **{name: tuple(entries) for name, entries in sections.items()}
    )
    made = apply(graph, patch, (DRAFT,))
    return made, frozen(examples, graph, made, patch, (DRAFT,))


def restored(whole: float, damaged: float, mended: float) -> float:
    """The share of the loss that came back; NaN where there was none."""
    return (mended - damaged) / (whole - damaged) if whole - damaged > 1e-9 else float("nan")


def own_sets() -> Iterator[tuple[str, KnowledgeGraph, list[EvalSet]]]:
    for language, name in OWN:
        graph = read_graph(ROOT / "data" / "kg" / f"{name}-KG.json")
        sets = [
            read_eval_set(ROOT / "data" / "eval" / f"{name}-{kind}.jsonl") for kind in ("eval", "hardset")
        ]
        yield language, graph, sets


def _both(graph: KnowledgeGraph, sets: Sequence[EvalSet]) -> float:
    """The mean over the questions of both sets."""
    counts = [len(examples) for examples in sets]
    return float(np.average([score_of(graph, examples) for examples in sets], weights=counts))


def splits(*, verbose: bool = False) -> None:
    for language, graph, sets in own_sets():
        whole = _both(graph, sets)
        found = right = proposed = of = 0
        shares, seconds = [], 0.0
        for seed in SEEDS:
            damage = split(graph, seed)
            held = [held_to(examples, graph, damage.graph) for examples in sets]
            start = time.process_time()
            merges = propose_merges(damage.graph, held[1])
            seconds += time.process_time() - start
            halves = set(damage.halves.items()) | {(two, one) for one, two in damage.halves.items()}
            pairs = [(merge.keep_id, drop) for merge in merges for drop in merge.drop_ids]
            hits = [pair for pair in pairs if pair in halves]
            found, right, proposed, of = (
                found + len(hits), right + len(hits), proposed + len(pairs), of + len(damage.halves)
            )  # fmt: skip
            if verbose:
                missed = {two for one, two in damage.halves.items()} - {id for pair in hits for id in pair}
                print("   missed:", [damage.spellings[id] for id in sorted(missed)])
                print(
                    "   wrong: ",
                    [merge.names for merge in merges if (merge.keep_id, merge.drop_ids[0]) not in halves],
                )
            mended = []
            for examples in held:
                made, gold = with_patch(damage.graph, examples, merges=merges)
                mended.append(score_of(made, gold))
            counts = [len(examples) for examples in sets]
            after = float(np.average(mended, weights=counts))
            shares.append(restored(whole, _both(damage.graph, held), after))
        print(
            f"split {language}: {found} of {of} found, {right} of {proposed} right, "
            f"{np.nanmean(shares):.0%} restored ({', '.join(f'{share:.0%}' for share in shares)}), "
            f"{seconds / len(SEEDS):.2f} CPU s"
        )


def shortened(graph: KnowledgeGraph) -> Iterator[tuple[int, str]]:
    """(entity, short form): aliases that are words of the name or end it, the initials of longer names, the
    last word of Korean ones (청소로봇 for H1 청소로봇); each of one entity only."""
    names, meant = graph.entities.names, dict[str, set[int]]()
    for row, name in enumerate(names):
        letters = initials_of(name) if name.isascii() else None
        forms = [alias for alias in graph.entities.aliases[row] if _is_part(alias, name)]
        last = name.split()[-1]
        forms += [letters.upper()] if letters and letters.isalpha() else []
        forms += [last] if last != name and not last.isascii() and len(last) >= SYLLABLES else []
        for form in dict.fromkeys(forms):
            meant.setdefault(form, set()).add(row)
    words = Counter(word for name in names for word in set(name.split()))
    for form, rows in meant.items():
        if len(rows) == 1 and form not in names and words[form] < 2:
            yield rows.pop(), form


def _is_part(alias: str, name: str) -> bool:
    """Holmes in Sherlock Holmes, 춘향 in 성춘향; `the area` is none."""
    words, parts = name.split(), alias.split()
    if all(part in words for part in parts):
        return len(parts) < len(words) and alias[0].isupper() == name[0].isupper()
    return not alias.isascii() and " " not in alias and name.endswith(alias)


def short_forms(*, verbose: bool = False) -> None:
    """One question for each short form, on the graph without it."""
    graphs = [(language, graph) for language, graph, _ in own_sets()]
    for language, name in (("en", "verne-voyages-KG.json"), ("ko", "korean-novels-KG.json"), ("ko", FOLDER)):
        graphs.append((language, read_graph(ROOT / "benchmarks" / name)))
    for language in ("en", "ko"):
        of = linked = proposed = right = 0
        for graph in (graph for other, graph in graphs if other == language):
            forms = list(shortened(graph))
            gone = {form for _, form in forms}
            lists = [[alias for alias in aliases if alias not in gone] for aliases in graph.entities.aliases]
            entities = replace(graph.entities, aliases=StringLists.of(lists))
            damaged = KnowledgeGraph.of(entities, graph.relations, name=graph.name)
            text = "What happened to {}?" if language == "en" else "{} 이야기의 끝은?"
            questions = EvalSet(tuple(Example(form, text.format(form), ()) for _, form in forms))
            owners = {form: graph.entities.ids[row] for row, form in forms}
            seeds = NameLinker(damaged, NameIndex.of(damaged)).link(questions.examples)
            ids = damaged.entities.ids
            known = {
                example.id
                for example, question in zip(questions, seeds, strict=True)
                if owners[example.id] in {ids[seed.entity] for seed in question.named}
            }
            aliases = propose_aliases(damaged, questions)
            hits = {entry.alias for entry in aliases if owners.get(entry.alias) == entry.entity_id}
            if verbose:
                print("   wrong: ", [(one.alias, one.name) for one in aliases if one.alias not in hits])
                print("   missed:", sorted(gone - hits - known))
            of, linked = of + len(forms), linked + len(known)
            proposed, right = proposed + len(aliases), right + len(hits)
        print(
            f"short forms {language}: of {of} {linked} link already, {right} are proposed "
            f"({(linked + right) / of:.0%}); {right} of {proposed} proposals right"
        )


def dropped_relations() -> None:
    for language, graph, sets in own_sets():
        whole = _both(graph, sets)
        asked = of = true = 0
        shares = []
        for seed in SEEDS:
            damaged, gone = without_relations(graph, seed)
            held = [held_to(examples, graph, damaged) for examples in sets]
            ids, old = graph.entities.ids, graph.relations
            lost = {frozenset((ids[old.sources[row]], ids[old.targets[row]])): row for row in gone}
            asks = {ask.entity_ids: ask for examples in held for ask in propose_asks(damaged, examples)}
            answered = [lost[frozenset(pair)] for pair in asks if frozenset(pair) in lost]
            asked, of, true = asked + len(asks), of + len(gone), true + len(answered)
            rows = np.setdiff1d(np.arange(len(old)), sorted(set(gone) - set(answered)))
            answered_truly = KnowledgeGraph.of(graph.entities, _relations_of(graph, rows), name=graph.name)
            mended = [score_of(answered_truly, examples) for examples in held]
            counts = [len(examples) for examples in sets]
            after = float(np.average(mended, weights=counts))
            shares.append(restored(whole, _both(damaged, held), after))
        print(
            f"relations {language}: {asked} asked for {of} dropped relations, {true} of them theirs; "
            f"answered truly, {np.nanmean(shares):.0%} of the loss restored"
        )


def opaque_types() -> None:
    for language, graph, sets in own_sets():
        whole = _both(graph, sets)
        losses, proposals = [], 0
        for seed in SEEDS:
            damaged = with_opaque_types(graph, seed)
            losses.append(_both(damaged, sets) - whole)
            proposals += len(propose_merges(damaged, sets[1])) + len(propose_aliases(damaged, sets[1]))
        print(
            f"types {language}: {np.mean(losses):+.3f}; {proposals} aliases and merges proposed (0 is right)"
        )


def folder(*, verbose: bool = False) -> None:
    graph = read_graph(ROOT / "benchmarks" / "home-appliances")
    examples = read_eval_set(ROOT / "benchmarks" / "home-appliances-eval.jsonl")
    by_id = {example.id: example for example in examples}
    aliases = propose_aliases(graph, examples)
    right = [
        entry
        for entry in aliases
        if all(entry.name in (by_id[id].seed_entities or ()) for id in entry.questions)
    ]
    made, gold = with_patch(graph, examples, aliases=aliases)
    for excluded in (False, True):
        config = Config()
        config = replace(config, retrieval=replace(config.retrieval, exclude_seeds=excluded))
        before, after = (evaluate(*pair, config, [MEASURE]) for pair in ((graph, examples), (made, gold)))
        gains = np.asarray(after.scores[MEASURE]) - np.asarray(before.scores[MEASURE])
        without = [sum(not question.named for question in run.linked) for run in (before, after)]
        print(
            f"folder{' --exclude-seeds' if excluded else ''}: {len(right)} of {len(aliases)} aliases right; "
            f"questions without a named seed {without[0]} → {without[1]} of {len(examples)}; {MEASURE} "
            f"{np.nanmean(before.scores[MEASURE]):.3f} → {np.nanmean(after.scores[MEASURE]):.3f}, "
            f"{int((gains < -1e-9).sum())} lower"
        )


def large(data: Path) -> None:
    """Seconds of each proposal maker on 43,000 names and on 16,000."""
    for name, kind in (("metaqa", "2hop"), ("musique-openie", None)):
        graph = read_graph(data / name / f"{name}-KG.json")
        examples = read_eval_set(
            data / name / (f"{name}-{kind}-eval.jsonl" if kind else f"{name}-eval.jsonl")
        )
        examples = replace(examples, examples=examples.examples[:500])
        NameIndex.of(graph)
        makers: dict[str, Callable[[KnowledgeGraph, EvalSet], Sequence[object]]] = {
            "merges": propose_merges,
            "aliases": propose_aliases,
            "asks": propose_asks,
        }
        size = f"{name} ({len(graph):,} entities)"
        for what, make in makers.items():
            start = time.process_time()
            count = len(make(graph, examples))
            print(f"{size} {what}: {count}, {time.process_time() - start:.1f} CPU s")
        start = time.process_time()
        propose_renames(graph, graph, examples)
        print(f"{size} renames: {time.process_time() - start:.1f} CPU s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with metaqa and musique-openie")
    parser.add_argument("--verbose", action="store_true", help="list what was missed and what is wrong")
    arguments = parser.parse_args()
    splits(verbose=arguments.verbose)
    short_forms(verbose=arguments.verbose)
    dropped_relations()
    opaque_types()
    folder(verbose=arguments.verbose)
    if arguments.data is not None:
        large(arguments.data)


if __name__ == "__main__":
    main()
