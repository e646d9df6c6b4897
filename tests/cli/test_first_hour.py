"""What a user meets first: help in two screens, files where completion says, words in any encoding; `init`,
`stats`, `query` and `retrieve`, and what the program's own help says of all commands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from click.testing import Result

from tests.conftest import read_json, write_gold, write_kg, write_set
from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.help import command_lines, paragraphs
from tiny_graph_rag.cli.settings import _samples
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.measures import KINDS
from tiny_graph_rag.messages import LANGUAGES
from tiny_graph_rag.outputs import output_path
from tiny_graph_rag.report.plain import cell_width


@pytest.fixture
def tale(own_folder: Path) -> Path:
    """A chain, Anna to Dora over Rex, with a misspelt question, one beyond two hops and one that is found."""
    return write_set(
        own_folder,
        "tale",
        ["Anna", "Bertram", "Rex", "Dora"],
        [("Anna", "KNOWS", "Bertram"), ("Bertram", "OWNS", "Rex"), ("Rex", "BITES", "Dora")],
        {"id": "near", "query": "Whom does Anna know?", "reference_entities": ["Bertram"]},
        {"id": "far", "query": "Whom does Anna dread?", "reference_entities": ["Dora"]},
        {"id": "misspelt", "query": "What does Brtram own?", "reference_entities": ["Rex"]},
    )


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("command", ["eval", "sweep", "score", "query", "compare"])
def test_help_fits_two_screens(run_cli, command: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run_cli(command, "--lang", language, "--help").stdout.splitlines()
    assert 0 < len(lines) <= 2 * 50  # lines of a terminal window
    assert max(map(cell_width, lines)) <= 80


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("x.json", "data/results/x.json"),
        ("sub/x.json", "data/results/sub/x.json"),
        ("data/results/x.json", "data/results/x.json"),
        ("data/results/sub/x.json", "data/results/sub/x.json"),
        ("data//results/x.json", "data/results/x.json"),
        ("./x.json", "x.json"),
        ("../x.json", "../x.json"),
        ("/x.json", "/x.json"),
        ("data/x.json", "data/results/data/x.json"),
    ],
)
def test_a_name_that_already_has_the_results_folder_is_taken_as_it_stands(given: str, place: str) -> None:
    assert output_path(given, Path("data/results")) == Path(place)


def test_the_worst_question_says_what_stood_in_the_way_and_how_to_look(tale: Path, run_cli) -> None:
    call = ("eval", "--dataset", "tale-eval.jsonl", "--skip-generation")
    said = run_cli(*call).stdout
    assert "1 of 3 questions: the answer is among the first 5." in said
    assert "One of the 2 worst questions: far (Dora: needs 3 hops)" in said
    assert "query --dataset tale-eval.jsonl --id far" in said
    details = run_cli(*call, "--details").stdout
    assert "Dora: needs 3 hops" in details
    assert "Rex: no entity of the question was recognised; looked for: Brtram" in details


def test_what_was_tried_is_what_eval_says_of_it(tale: Path, run_cli) -> None:
    run_cli("eval --dataset tale-eval.jsonl --skip-generation -o ./r.json")
    summary = read_json(tale / "r.json")["summary"]
    tried = {record["label"]: record for record in summary["decision"]["tried"]}
    assert {"--set retrieval.fuzzy=0.85", "--hops 3"} <= set(tried)
    assert tried["--hops 3"]["against"] == "beyond_hops"
    assert summary["decision"]["recommended"] is None
    assert (
        "too few groups of questions to compare settings (3 of at least 30)" in summary["decision"]["reason"]
    )
    for label in ("--set retrieval.fuzzy=0.85", "--hops 3"):
        run_cli("eval --dataset tale-eval.jsonl", *label.split(), "-o", "./a.json", code=0)
        measures = read_json(tale / "a.json")["summary"]["measures"]
        assert tried[label]["mean"] == pytest.approx(measures[summary["decision"]["measure"]]["mean"])


def test_a_search_by_words_is_tried_where_questions_link_to_nothing(own_folder: Path, run_cli) -> None:
    question = {"id": "unlinked", "query": "What is owned?", "reference_entities": ["Rex"]}
    write_set(own_folder, "t", ["Ann Lee", "Rex"], [("Ann Lee", "OWNS", "Rex")], question)
    run_cli("eval --dataset t-eval.jsonl -o ./r.json --retriever bfs-plain --linker names")
    tried = read_json(own_folder / "r.json")["summary"]["decision"]["tried"]
    assert {record["label"]: record["against"] for record in tried}["--retriever bm25"] == "no_seed"
    said = run_cli("query", "What is owned?", "-g", "t-KG.json", "--retriever", "bm25").stdout
    assert "0.263    –" in said  # no hop is claimed for what was not walked to


def test_headers_show_every_setting_that_is_not_the_default(tale: Path, run_cli) -> None:
    (tale / "config.yaml").write_text("ranking:\n  step: 0.2\n")
    first = run_cli(
        "eval --dataset tale-eval.jsonl --skip-generation --set retrieval.fuzzy=0.9"
    ).stdout.splitlines()[0]
    assert first.endswith("bfs, 2 hops, fuzzy 0.9, ranking.step 0.2")


def test_a_page_can_be_named(tale: Path, run_cli) -> None:
    run_cli("eval --dataset tale-eval.jsonl --skip-generation -o ./r.json")
    assert run_cli("report r.json -o ./page.html").exit_code == 0
    assert (tale / "page.html").read_text("utf-8").startswith("<!doctype html>")
    both = run_cli("report r.json --report html,md -o ./page.html", code=2)
    assert "wanted a folder, or one report of this kind" in both.stderr


def test_sweep_takes_any_setting_and_names_the_best_mean_of_few_questions(tale: Path, run_cli) -> None:
    call = (
        "sweep",
        "--dataset",
        "tale-eval.jsonl",
        "--hops",
        "1-3",
        "--set",
        "retrieval.fuzzy=none,0.85",
        "--set",
        "ranking.step=0.1,0.3",
    )
    done = run_cli(*call, "-o", "./s.json", code=0)
    settings = read_json(tale / "s.json")["settings"]
    assert len(settings) == 3 * 2 * 2
    assert {(setting["settings"]["fuzzy"], setting["settings"]["step"]) for setting in settings} == {
        *((None, 0.1), (None, 0.3), (0.85, 0.1), (0.85, 0.3))
    }
    assert "No recommendation: too few groups of questions" in done.stdout
    assert "more settings (5): --details" in done.stdout
    wrong = run_cli("sweep --dataset tale-eval.jsonl --set ranking.stepp=1", code=2)
    assert "did you mean 'ranking.step'" in wrong.stderr


def test_init_writes_files_that_the_program_reads_and_never_overwrites(own_folder: Path, run_cli) -> None:
    assert run_cli("init").exit_code == 0
    config = own_folder / "config.yaml"
    assert yaml.safe_load(config.read_text())["retrieval"]["hops"] == 2
    assert len(read_eval_set(own_folder / "data/eval/my-graph-eval.jsonl")) == 8
    config.write_text("retrieval:\n  hops: 4\n")
    again = run_cli("init")
    assert "config.yaml: already exists, left unchanged" in again.stdout
    assert config.read_text() == "retrieval:\n  hops: 4\n"


@pytest.mark.slow
def test_the_commands_that_init_prints_run(own_folder: Path, run_cli) -> None:
    said = run_cli("init", code=0).stdout
    commands = [line.strip() for line in said.splitlines() if line.strip().startswith("tiny-graph-rag ")]
    assert len(commands) == 3
    for command in commands:
        run_cli(*shlex.split(command)[1:], code=0)
    assert list((own_folder / "data/results").glob("*.json"))


def test_the_current_folder_is_a_graph(own_folder: Path, run_cli) -> None:
    (own_folder / "nodes.csv").write_text("id,name\n1,Ann\n2,Bea\n")
    (own_folder / "edges.csv").write_text("source,target,relation\n1,2,KNOWS\n")
    (own_folder / f"{own_folder.name}-vocabulary.yaml").write_text("KNOWS: [met]\n")
    assert "KNOWS" in run_cli("stats -g .", code=0).stdout
    assert "met" in run_cli("query", "Who met Ann?", "-g", ".", "--explain", code=0).stdout


def test_query_reruns_one_question_beside_its_references(own_folder: Path, run_cli) -> None:
    write_kg(own_folder / "data/kg/a-KG.json", ["Anna", "Ben"], [("Anna", "KNOWS", "Ben")])
    question = {"id": "Q7", "query": "Whom does Anna know?", "reference_entities": ["Ben", "Ghost"]}
    write_gold(own_folder / "data/eval/a-eval.jsonl", question)
    done = run_cli("query --dataset a-eval.jsonl --id Q7")
    assert "✓ Ben" in done.stdout
    assert "reference Ghost: not in the graph" in done.stdout


@pytest.mark.parametrize(
    "arguments", [[], ["Who?", "--id", "Q7"], ["--id", "Q7"], ["  "], ["--dataset", "a.jsonl"]]
)
def test_query_wants_a_question_or_an_id(own_folder: Path, run_cli, arguments: list[str]) -> None:
    write_kg(own_folder / "data/kg/a-KG.json", ["Anna"])
    assert run_cli("query", *arguments).exit_code == 2


def test_a_question_in_words_is_ranked_like_the_same_one_of_a_gold_set(own_folder: Path, run_cli) -> None:
    write_kg(
        own_folder / "data/kg/a-KG.json",
        ["Anna", "Ben", "Carl", "Dora"],
        [("Anna", "KNOWS", "Ben"), ("Ben", "FEEDS", "Carl"), ("Dora", "KNOWS", "Carl")],
    )
    question = {"id": "Q7", "query": "Whom does Anna know?", "reference_entities": ["Nobody"]}
    write_gold(own_folder / "data/eval/a-eval.jsonl", question)
    for more in ([], ["--explain"], ["--linker", "none"], ["--retriever", "pagerank"]):
        asked = run_cli("query", question["query"], "--hops", "3", *more)
        again = run_cli("query --dataset a-eval.jsonl --id Q7 --hops 3", *more)
        assert asked.exit_code == again.exit_code == 0, asked.output + again.output
        without_reference = [line for line in again.stdout.splitlines() if "reference" not in line]
        assert asked.stdout.splitlines() == without_reference


def test_measures_lists_every_measure_on_a_line_of_its_own(run_cli) -> None:
    lines = run_cli("measures").stdout.splitlines()
    named = [re.match(r"\w+", line)[0] for line in lines]
    assert named == list(KINDS)


def test_help_says_of_each_command_what_its_own_help_begins_with() -> None:
    commands = getattr(typer.main.get_command(app), "commands", {})
    assert {name: paragraphs(its.help)[0] for name, its in commands.items()} == command_lines()


def test_samples_are_copied_without_what_lies_beside_them(own_folder: Path, run_cli, monkeypatch) -> None:
    brought = own_folder / "package" / "samples"
    for name in ("kg/conan-doyle-speckled-band-KG.json", "kg/mine-KG.json", "eval/draft.jsonl"):
        (brought / name).parent.mkdir(parents=True, exist_ok=True)
        (brought / name).write_text("{}")
    monkeypatch.setattr("tiny_graph_rag.cli.settings.resources.files", lambda name: own_folder / "package")
    copied = {path.name for path, _ in _samples(own_folder, own_folder)}
    assert copied == {"conan-doyle-speckled-band-KG.json"}


RELATIONS = [("Anna", "KNOWS", "Ben"), ("Ben", "KNOWS", "Cleo")]


@pytest.fixture
def town(own_folder: Path) -> Path:
    write_kg(own_folder / "town-KG.json", ["Anna", "Ben", "Cleo"], RELATIONS)
    rows = [
        {"eval_id": 78, "msg": [{"role": "user", "content": "Whom does Anna know?"}]},
        {"eval_id": 9, "msg": [{"role": "user", "content": "hello"}]},
        {"eval_id": "x", "msg": [{"role": "user", "content": "Who knows Cleo?"}]},
    ]
    (own_folder / "eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return own_folder


def mean_precision(gold: dict[Any, list[str]], predictions: list[dict[str, Any]]) -> float:
    """The contest's rule, as it is published: written here anew from its description."""
    total = 0.0
    for row in predictions:
        wanted = gold[row["eval_id"]]
        if not wanted:
            total += not row["topk"]
            continue
        hits = [rank for rank, id in enumerate(row["topk"][:3], start=1) if id in wanted]
        total += sum(place / rank for place, rank in enumerate(hits, start=1)) / len(hits) if hits else 0.0
    return total / len(predictions)


def test_a_submission_keeps_ids_as_they_are_and_scores_as_the_contest_scores(
    town: Path, run_cli: Callable[..., Result]
) -> None:
    done = run_cli("retrieve eval.jsonl -g town-KG.json -o ./sub.csv --format contest --names", code=0)
    assert "retrieved nothing for 1 question: 9" in done.stdout
    assert "run has no line" not in done.output
    rows = [json.loads(line) for line in (town / "sub.csv").read_text().splitlines()]
    assert [row["eval_id"] for row in rows] == [78, 9, "x"]
    assert rows[1]["topk"] == []
    assert "Ben" in rows[0]["topk"]
    gold = {78: ["Ben"], 9: [], "x": ["Ben"]}
    (town / "gold.json").write_text(json.dumps({str(id): names for id, names in gold.items()}))
    run_cli("score --run sub.csv --gold gold.json --measures contest_map@3 -o ./o.json")
    found = read_json(Path("o.json"))["summary"]["measures"]["contest_map@3"]["mean"]
    assert found == pytest.approx(mean_precision(gold, rows), abs=1e-12)


def test_a_text_of_questions_and_standard_output(town: Path, run_cli: Callable[..., Result]) -> None:
    (town / "q.txt").write_text("Whom, if anybody, does Anna know?\n\nWho knows Cleo?\n")
    done = run_cli("retrieve q.txt -g town-KG.json -o -", code=0)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == ["q001", "q003"]


def test_what_would_be_destroyed_or_is_no_form_is_refused(town: Path, run_cli: Callable[..., Result]) -> None:
    over = run_cli("retrieve eval.jsonl -g town-KG.json -o ./eval.jsonl")
    assert (over.exit_code, "would destroy it" in over.stderr) == (2, True)
    odd = run_cli("retrieve eval.jsonl -g town-KG.json -o ./run.xml", code=2)
    assert "doesn't say the format; end it in one of: .trec" in odd.stderr


def test_a_form_without_empty_lists_says_what_becomes_of_them(run_cli, town: Path) -> None:
    """A question that rightly gets nothing looks, in a TREC file, like one that was left out."""
    rows = [{"query": "Ben?", "reference_entities": ["Ben"]}, {"query": "Xyzzy?", "reference_entities": []}]
    (town / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for command in (
        ["retrieve", "gold.jsonl", "-o", "./a.trec"],
        ["eval", "--dataset", "gold.jsonl", "--skip-generation", "--save-run", "./b.csv"],
    ):
        done = run_cli(*command, "-g", "town-KG.json", code=0)
        assert "run has no line for a question that retrieved nothing" in done.output
