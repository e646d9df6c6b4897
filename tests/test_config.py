"""Settings by their full names, where caches lie, `.env` in the current folder and what it may set, and where
every variable that is read may come from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer

from tests.conftest import PAGES, ROOT, read_json, script, write_gold, write_kg
from tiny_graph_rag.cli import app
from tiny_graph_rag.config import FLAGS, Config, Setting, all_settings, as_option, find_setting
from tiny_graph_rag.config.sources import (
    OF_DOTENV,
    cache_folder,
    dotenv_values_of,
    load_config,
    require_trust,
)
from tiny_graph_rag.errors import ConfigError, TinyGraphRagError, UsageError


def test_the_cache_folder_is_xdgs() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/tiny-graph-rag")
    assert cache_folder({}) == Path("~/.cache/tiny-graph-rag").expanduser()
    assert cache_folder({"XDG_CACHE_HOME": "x"}) == cache_folder({})  # as its specification says


def test_how_the_work_is_done_is_not_recorded_in_results() -> None:
    assert "running" not in Config().as_dict()


def test_a_full_name_means_its_own_section() -> None:
    config = Config().replaced({"openai.seed": 3, "evaluation.seed": 4})
    assert (config.openai.seed, config.evaluation.seed) == (3, 4)
    assert Config().replaced({"seed": 5}).evaluation.seed == 5  # as `evaluation.seed` says it
    assert find_setting("exclude-seeds") is find_setting("retrieval.exclude_seeds")
    assert [find_setting(setting.full_name) for setting in all_settings()] == list(all_settings())


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("nonsense.min_weight", "retrieval.min_weight"),
        ("evaluation.hops", "retrieval.hops"),
        ("ranking.seed", "'evaluation.seed', 'openai.seed'"),
        ("retrieval.hop", "retrieval.hops"),
        ("hopps", "'hops'"),
        ("", "the command `settings` lists all"),
        ("retrieval", "'retriever'"),
        ("retrieval.hops.x", "retrieval.hops"),
    ],
)
def test_a_name_of_another_section_or_of_none_is_refused_with_the_right_one(name: str, near: str) -> None:
    with pytest.raises(UsageError, match="unknown setting") as raised:
        find_setting(name)
    assert near in str(raised.value)


@pytest.mark.parametrize("setting", all_settings(), ids=lambda setting: setting.full_name)
def test_a_setting_reads_its_own_default_back_and_no_other_type(setting: Setting) -> None:
    text = "none" if setting.default is None else str(setting.default)
    assert setting.parse(text, "x") == setting.default
    if setting.type is not str:
        with pytest.raises(ConfigError, match=r"^x"):
            setting.parse("words", "x")


def command_files(folder: Path) -> None:
    """A graph, a gold set and a results file that commands can be asked about."""
    write_kg(folder / "t-KG.json", ["Ann", "Bob"], [("Ann", "KNOWS", "Bob")])
    question = {"id": "q1", "query": "Whom does Ann know?", "reference_entities": ["Bob"]}
    write_gold(folder / "t-eval.jsonl", question)
    (folder / "r.trec").write_text("q1 Q0 Bob 1 2.0 x\n", encoding="utf-8")


SET = [
    ("eval", "--dataset", "t-eval.jsonl", "-g", "t-KG.json", "--skip-generation", "-o", "-"),
    ("query", "Whom does Ann know?", "-g", "t-KG.json", "--skip-generation"),
    ("score", "--run", "r.trec", "--gold", "t-eval.jsonl", "-o", "-"),
    ("sweep", "--dataset", "t-eval.jsonl", "-g", "t-KG.json", "-o", "-"),
    ("stats", "-g", "t-KG.json"),
    ("validate", "--dataset", "t-eval.jsonl", "-g", "t-KG.json"),
    ("measures",),
    ("settings",),
]


@pytest.mark.parametrize("call", SET, ids=lambda call: call[0])
def test_every_command_takes_any_setting_by_its_full_name(
    call: tuple[str, ...], own_folder: Path, run_cli
) -> None:
    command_files(own_folder)
    done = run_cli(*call, "--set", "running.graph_cache=false")
    assert done.exit_code in (0, 1), done.output  # 1: `validate` found something
    for wrong, words in (
        ("retrieval.nope=1", "unknown setting 'retrieval.nope'"),
        ("evaluation.seed", "write a setting and its value"),
        ("evaluation.seed=x", "--set evaluation.seed must be a whole number, got 'x'"),
        ("evaluation.seed=-1", "--set evaluation.seed must be 0 or more, got -1"),
    ):
        refused = run_cli(*call, "--set", wrong, code=2)
        assert words in refused.stderr


def test_a_setting_for_one_run_reaches_the_results(own_folder: Path, run_cli) -> None:
    command_files(own_folder)
    call = ("eval", "--dataset", "t-eval.jsonl", "-g", "t-KG.json", "--skip-generation", "-o", "./r.json")
    run_cli(*call, "--set", "retrieval.depth=7", "--set", "openai.seed=none", code=0)
    config = read_json(own_folder / "r.json")["config"]
    found = (config["retrieval"]["depth"], config["openai"]["seed"], config["evaluation"]["seed"])
    assert found == (7, None, 0)


UPSTREAM = """\
openai: {base_url: null, model: "gpt-4o-mini", temperature: 0.0, max_tokens: 4096}
chunking: {chunk_size: 1024, chunk_overlap: 64}
storage: {kg_dir: null, dataset_dir: null, hardset_dir: "data/eval-hardset"}
"""


def test_upstreams_settings_are_taken_and_what_makes_graphs_is_named(own_folder: Path, run_cli) -> None:
    command_files(own_folder)
    (own_folder / "config.yaml").write_text(UPSTREAM, encoding="utf-8")
    done = run_cli(*SET[0], code=0)
    ignored = "config.yaml: ignored settings of upstream tiny-graph-RAG: chunking, storage.hardset_dir"
    assert f"warning: {ignored}" in done.stderr
    config = json.loads(done.stdout)["config"]
    assert (config["openai"]["model"], config["openai"]["max_tokens"]) == ("gpt-4o-mini", 4096)
    assert config["storage"]["kg_dir"] == "data/kg"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("evaluation.seed=1,2",), "--set evaluation.seed can't change what is retrieved"),
        (("seed=1,2",), "--set evaluation.seed can't change"),
        (("retrieval.vocabulary=auto,none",), "--set retrieval.vocabulary can't change"),
        (("nonsense.min_weight=0,0.5",), "unknown setting 'nonsense.min_weight'"),
        (("retrieval.hops=1,2",), "--hops"),
    ],
)
def test_a_sweep_refuses_to_vary_what_changes_nothing(
    given: tuple[str, ...], words: str, own_folder: Path, run_cli
) -> None:
    command_files(own_folder)
    refused = run_cli("sweep --dataset t-eval.jsonl -g t-KG.json --set", *given, code=2)
    assert words in refused.stderr


@pytest.mark.parametrize(
    "given",
    [
        ("ranking.step=0.1,0.2", "--retriever", "hybrid:bfs+bm25,bm25"),
        ("ranking.text_seeds=1,2", "--retriever", "pagerank"),
        ("retrieval.types=A,B", "--retriever", "bm25"),
        ("evaluation.seed=3",),
    ],
)
def test_a_sweep_varies_what_changes_something(given: tuple[str, ...], own_folder: Path, run_cli) -> None:
    command_files(own_folder)
    done = run_cli("sweep --dataset t-eval.jsonl -g t-KG.json -o - --set", *given)
    assert "can't change" not in done.output


def test_a_folders_code_stays_untrusted_in_a_sweep_and_is_trusted_by_set(own_folder: Path, run_cli) -> None:
    command_files(own_folder)
    (own_folder / "theirs.py").write_text("def ask(question):\n    return ['Bob']\n", encoding="utf-8")
    (own_folder / "config.yaml").write_text("retrieval: {retriever: 'theirs.py:ask'}\n", encoding="utf-8")
    call = ("--dataset", "t-eval.jsonl", "-g", "t-KG.json")
    for command in ("eval", "sweep"):
        refused = run_cli(command, *call, code=2)
        assert "isn't trusted" in refused.stderr
    run_cli("eval", *call, "--set", "retrieval.retriever=theirs.py:ask", "--skip-generation", code=0)


@pytest.mark.slow
def test_the_environment_the_file_and_help_say_the_same_of_every_setting() -> None:
    documents = (ROOT / "config.yaml").read_text(encoding="utf-8")
    for setting in all_settings():
        assert f"  {setting.name}: " in documents
        assert f"# {setting.comment}\n" in documents
        assert setting.environment in setting.comment  # whoever reads of it reads how to set it


EVAL = """dataset dataset-dir graph kg-dir results-dir output config top-k hops retriever linker exclude-seeds
measures skip-generation generate model dry-run max-cost judge resume report save-run fail-under tags ids
limit label patch set quiet lang"""  # what other people's scripts use


def test_options_are_few_none_is_hidden_and_those_of_eval_stay(run_cli) -> None:
    program = typer.main.get_command(app)
    slots = [(name, option) for name, options in script(PAGES).commands() for option in options]
    slots += [("", option) for option in program.params]
    options = [(name, option) for name, option in slots if option.param_type_name == "option"]
    assert len(options) <= 250
    assert [option.name for _, option in options if getattr(option, "hidden", False)] == []
    flags = {flag for name, option in options if name in ("", "eval") for flag in option.opts}
    assert {f"--{name}" for name in EVAL.split()} | {"-g", "-o"} <= flags
    named = set(re.findall(r"(?m)^ +(?:-\w, )?(--[a-z-]+)", help_ := run_cli("eval --help").stdout))
    named |= set(re.findall(r"--[a-z-]+", help_[help_.index("On every command") :]))
    assert len(named) <= 34
    assert {f"--{name}" for name in EVAL.split()} <= named
    assert {f"--{name.replace('_', '-')}" for name in FLAGS} <= flags


def test_common_options_stand_before_or_after_the_command(run_cli, own_folder) -> None:
    before, after = run_cli("--lang ko measures"), run_cli("measures --lang=ko")
    assert before.stdout == after.stdout != run_cli("measures").stdout
    assert run_cli("query -- --quiet").exit_code == 2  # a question, and no graph is here
    assert run_cli("measures --set").stderr.startswith("error: --set needs a value")


def test_an_unusable_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in all_settings():
        if setting.environment and setting.type is not str:
            with pytest.raises(TinyGraphRagError, match=setting.environment):
                load_config(environment={setting.environment: "words"})


@pytest.mark.parametrize(
    ("name", "value", "option"),
    [
        ("hops", 3, "--hops 3"),
        ("exclude_seeds", True, "--exclude-seeds"),
        ("exclude_seeds", False, "--set retrieval.exclude_seeds=false"),
        ("fuzzy", None, "--set retrieval.fuzzy=null"),
    ],
)
def test_a_setting_is_said_as_the_command_line_takes_it(name: str, value: object, option: str) -> None:
    assert as_option(name, value) == option


# Every variable that the program reads. Those of OF_DOTENV may come from a folder's `.env`, all others
# only from the real environment.
VARIABLES = {
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_TEMPERATURE", "OPENAI_MAX_TOKENS"),
    *("KG_DIR", "DATASET_DIR", "RESULTS_DIR"),
    *("XDG_DATA_HOME", "XDG_CACHE_HOME"),
    *("LC_ALL", "LC_MESSAGES", "LANG", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"),
}
HOSTILE = ("XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME", "HTTPS_PROXY", "SSL_CERT_FILE", "PYTHONPATH", "KG_DIR")


def _env(folder: Path, **values: str) -> None:
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in values.items()))


@pytest.mark.parametrize(
    ("file", "environment", "wanted"),
    [
        ({"OPENAI_API_KEY": "sk-f", "OPENAI_MODEL": "s"}, {"OPENAI_MODEL": "l"}, {"OPENAI_API_KEY": "sk-f"}),
        ({"OPENAI_BASE_URL": "http://x/v1"}, {"OPENAI_API_KEY": "sk-mine"}, {}),
        ({"OPENAI_BASE_URL": "http://x/v1", "OPENAI_API_KEY": "sk-f"}, {"OPENAI_API_KEY": "sk-mine"}, {}),
        (dict.fromkeys(HOSTILE, "/x"), {}, {}),
    ],
)
def test_a_dotenv_file_sets_a_key_and_a_model(tmp_path: Path, file, environment, wanted) -> None:
    pytest.importorskip("dotenv")
    _env(tmp_path, **file)
    assert dotenv_values_of(environment, tmp_path) == wanted


def test_its_address_needs_its_own_key_and_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dotenv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "records"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    _env(tmp_path, OPENAI_API_KEY="sk-f", OPENAI_BASE_URL="http://x/v1", XDG_DATA_HOME=str(tmp_path / "own"))
    config = load_config()
    assert config.openai.base_url == "http://x/v1"
    with pytest.raises(ConfigError, match=r"\.env: openai.base_url is http://x/v1, and"):
        require_trust(config, "base_url")
    load_config(trust=True)
    require_trust(load_config(), "base_url")
    assert not (tmp_path / "own").exists()
    _env(tmp_path, OPENAI_API_KEY="sk-f", OPENAI_BASE_URL="http://y/v1")
    assert load_config().untrusted == ("base_url",), "trust belongs to one content"


def test_every_variable_that_is_read_is_known() -> None:
    source = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "tiny_graph_rag").rglob("*.py")))
    read = set(re.findall(r"environ(?:ment)?(?:\.get\(|\[)\"([A-Z_]+)\"", source))
    read |= set(re.findall(r"\"(XDG_\w+|LC_\w+|LANG|GITHUB_\w+)\"", source))
    written = {"OPENBLAS_NUM_THREADS"}  # for libraries, read by none of ours
    assert (read | {item.environment for item in all_settings() if item.environment}) - written == VARIABLES
    assert set(OF_DOTENV) < VARIABLES
    assert "os.getenv" not in source


def test_numbers_of_the_environment_are_numbers() -> None:
    found = load_config(environment={"OPENAI_MAX_TOKENS": "77", "OPENAI_TEMPERATURE": "0.5"}).openai
    assert (found.max_tokens, found.temperature) == (77, 0.5)
    for name, value in (("OPENAI_MAX_TOKENS", "x"), ("OPENAI_TEMPERATURE", "9")):
        with pytest.raises(ConfigError, match=name):
            load_config(environment={name: value})
