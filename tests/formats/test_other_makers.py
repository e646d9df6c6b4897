"""Gold sets as other programs write them: each shape loads as it lies, and goes back as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from click.testing import Result

from tests.conftest import real, write_kg
from tiny_graph_rag.errors import DatasetError, InputError
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.formats.gold.exchange import written
from tiny_graph_rag.gold.examples import Example

QUESTION, ANSWER = "Who keeps the bees?", "Anna keeps the bees."
PASSAGE = "Anna keeps the bees behind the house."
PARAGRAPHS = [
    {"title": "Bees", "paragraph_text": PASSAGE, "is_supporting": True},
    {"title": "Cats", "paragraph_text": "Nobody keeps cats.", "is_supporting": False},
]
# shape → (document, what must be read of its first question)
JSON_SHAPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "ragas new": (
        [
            {
                "user_input": QUESTION,
                "reference_contexts": [PASSAGE],
                "reference": ANSWER,
                "synthesizer_name": "one_hop",
            }
        ],
        {"reference_texts": (PASSAGE,), "ground_truth": (ANSWER,), "tags": ("synthesizer_name:one_hop",)},
    ),
    "ragas old testset": (
        [{"question": QUESTION, "contexts": [PASSAGE], "ground_truth": ANSWER, "evolution_type": "simple"}],
        {"reference_texts": (PASSAGE,), "ground_truth": (ANSWER,), "tags": ("evolution_type:simple",)},
    ),
    "ragas evaluated: contexts are what was retrieved": (
        [{"question": QUESTION, "answer": "Ben.", "contexts": ["x"], "ground_truths": [ANSWER]}],
        {"reference_texts": (), "ground_truth": (ANSWER,)},
    ),
    "deepeval": (
        [{"input": QUESTION, "expected_output": ANSWER, "context": [PASSAGE], "retrieval_context": ["x"]}],
        {"reference_texts": (PASSAGE,), "ground_truth": (ANSWER,), "context": ()},
    ),
    "columns": (
        {"questions": [QUESTION, "Who else?"], "ground_truths": [ANSWER, "Ben."]},
        {"ground_truth": (ANSWER,)},
    ),
    "columns as pandas writes them": (
        {"question": {"0": QUESTION, "1": "Who else?"}, "answer": {"0": ANSWER, "1": "Ben."}},
        {"ground_truth": (ANSWER,)},
    ),
    "an object around the list": (
        {
            "schema_version": "1.0",
            "qa_pairs": [{"id": "E01", "question": QUESTION, "expected_answer": ANSWER}],
        },
        {"id": "E01", "ground_truth": (ANSWER,)},
    ),
    "questions by id": (
        {"q7": {"question": QUESTION, "answer": ANSWER}, "q8": {"question": "Who else?", "answer": "Ben."}},
        {"id": "q7", "ground_truth": (ANSWER,)},
    ),
    "LlamaIndex LabelledRag": (
        {
            "examples": [
                {
                    "query": QUESTION,
                    "query_by": {"type": "ai"},
                    "reference_answer": ANSWER,
                    "reference_contexts": [PASSAGE],
                }
            ]
        },
        {"reference_texts": (PASSAGE,), "ground_truth": (ANSWER,)},
    ),
    "LlamaIndex EmbeddingQA": (
        {"queries": {"u1": QUESTION}, "corpus": {"c1": PASSAGE, "c2": "x"}, "relevant_docs": {"u1": ["c1"]}},
        {"id": "u1", "reference_chunks": ("c1",), "reference_texts": (PASSAGE,)},
    ),
    "HotpotQA": (
        [
            {
                "_id": "5a",
                "question": QUESTION,
                "answer": "Anna",
                "type": "bridge",
                "level": "hard",
                "supporting_facts": [["Bees", 0]],
                "context": [["Bees", [PASSAGE]], ["Cats", ["Nobody."]]],
            }
        ],
        {
            "id": "5a",
            "reference_texts": (PASSAGE,),
            "reference_chunks": ("Bees",),
            "context": (),
            "tags": ("type:bridge", "level:hard"),
        },
    ),
    "MuSiQue": (
        [
            {
                "id": "2hop__1",
                "question": QUESTION,
                "answer": "Anna",
                "paragraphs": PARAGRAPHS,
                "answerable": True,
            }
        ],
        {"reference_texts": (PASSAGE,), "ground_truth": ("Anna",)},
    ),
    "2WikiMultihopQA: evidences are triples": (
        [{"question": QUESTION, "answer": "Anna", "evidences": [["Anna", "keeps", "bees"]]}],
        {"reference_relations": (["Anna", "keeps", "bees"],), "reference_texts": ()},
    ),
    "GraphRAG-Bench": (
        [
            {
                "id": "M-1",
                "source": "Medical",
                "question": QUESTION,
                "answer": ANSWER,
                "evidence": PASSAGE,
                "question_type": "Fact Retrieval",
            }
        ],
        {"id": "M-1", "reference_texts": (PASSAGE,), "tags": ("question_type:Fact Retrieval",)},
    ),
    "CWQ": (
        [
            {
                "ID": "WebQTest-8",
                "question": QUESTION,
                "topic_entity": {"m.03": "Lou Seal"},
                "answer": "Anna",
                "compositionality_type": "composition",
            }
        ],
        {"id": "WebQTest-8", "seed_entities": ("Lou Seal",), "ground_truth": ("Anna",)},
    ),
    "a golden set of a course": (
        [
            {
                "id": "t1",
                "question": QUESTION,
                "expected_answer": ANSWER,
                "relevant_passage_ids": ["1-1", 7],
                "metadata": {"difficulty": "hard", "section": "1"},
            }
        ],
        {"reference_chunks": ("1-1", "7"), "tags": ("difficulty:hard",)},
    ),
    "Korean keys": (
        [{"번호": 3, "질문": "누가 벌을 칩니까?", "정답": "안나가 벌을 칩니다.", "질문 유형": "사실"}],
        {
            "id": "3",
            "query": "누가 벌을 칩니까?",
            "ground_truth": ("안나가 벌을 칩니다.",),
            "tags": ("질문_유형:사실",),
        },
    ),
    "a chat": (
        [
            {
                "eval_id": 78,
                "msg": [{"role": "user", "content": "Bees?"}, {"role": "user", "content": QUESTION}],
            }
        ],
        {"id": "78", "query": QUESTION, "context": ("Bees?",)},
    ),
    "questions alone": ([QUESTION, "Who else?"], {"query": QUESTION}),
}


@pytest.mark.parametrize("shape", JSON_SHAPES)
def test_a_shape_is_read_as_it_lies(tmp_path: Path, shape: str) -> None:
    document, wanted = JSON_SHAPES[shape]
    path = tmp_path / "golden.json"
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2), encoding="utf-8")
    gold = read_gold(path)
    rows = max(
        (
            len(value)
            for value in (document.values() if isinstance(document, dict) else [document])
            if isinstance(value, list)
        ),
        default=len(gold),
    )
    assert len(gold) == rows
    assert gold[0].query == wanted.get("query", QUESTION)
    for field, value in wanted.items():
        assert getattr(gold[0], field) == value, field
    assert not any(example.judged for example in gold)


@pytest.mark.parametrize("shape", [name for name in JSON_SHAPES if "column" not in name])
@pytest.mark.parametrize("indent", [None, 1, 2, 4])
@pytest.mark.parametrize("ascii", [False, True])
def test_a_list_goes_back_byte_for_byte(tmp_path: Path, shape: str, indent: int | None, ascii: bool) -> None:
    document, _ = JSON_SHAPES[shape]
    if shape in ("questions by id", "LlamaIndex EmbeddingQA", "questions alone"):
        pytest.skip("the rows are made while reading")
    path = tmp_path / "golden.json"
    path.write_text(json.dumps(document, ensure_ascii=ascii, indent=indent), encoding="utf-8")
    gold = read_gold(path)
    assert b"".join(written(gold.examples, path, "json", gold)) == path.read_bytes()


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_keep_their_keys_and_only_what_was_changed_is_written_anew(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "set.jsonl"
    rows = [
        {"id": 7, "question": "Who?", "z": 1, "answer": "Ann", "a": None},
        {"question": "Whom?", "answer": ["Bob", "Cy"], "metadata": {"annotator": "x"}},
    ]
    path.write_bytes("".join(json.dumps(row) + ending for row in rows).encode())
    gold = read_gold(path)
    assert b"".join(written(gold.examples, path, "jsonl", gold)) == path.read_bytes()
    from dataclasses import replace

    changed = replace(gold[0], ground_truth=("Anna",))
    first = json.loads(next(iter(written([changed], path, "jsonl", gold))))
    assert first == {**rows[0], "answer": "Anna"}
    assert list(first) == list(rows[0])


def test_beir_qrels_metaqa_and_two_encodings(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td3\t1\n")
    first, second = read_gold(path)
    assert (first.grades, second.grades) == ({"d1": 2, "d2": 0}, {"d3": 1})
    path = tmp_path / "qa_dev.txt"
    path.write_text("what does [Joe Thomas] appear in\tThe Inbetweeners Movie|The Inbetweeners 2\n")
    (example,) = read_gold(path)
    assert example.query == "what does Joe Thomas appear in"
    assert example.seed_entities == ("Joe Thomas",)
    assert example.reference_entities == ("The Inbetweeners Movie", "The Inbetweeners 2")
    path = tmp_path / "excel.csv"
    path.write_bytes("질문,정답,유형\n누가 싸웠어?,점순; 나,다중홉\n".encode("cp949"))
    gold = read_gold(path)
    assert gold[0].reference_entities == ("점순", "나")
    assert gold[0].tags == ("유형:다중홉",)
    assert "read as CP949" in str(gold.notes[0])


def workbook(path: Path, cells: list[list[str]]) -> Path:
    import zipfile

    rows = "".join(
        f'<row r="{n}">' + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>"
        for n, row in enumerate(cells, start=1)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        book.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="a" Type="{office}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
            '<sheet name="S" sheetId="1" r:id="s"/></sheets></workbook>',
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="s" Type="{office}/worksheet" '
            'Target="worksheets/sheet1.xml"/></Relationships>',
        )
        book.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
        )
    return path


def test_a_worksheet_is_read_where_its_reader_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    cells = [["id", "question", "references"], ["1", "Who?", "Ann; Bob"], ["2", "Whom?", "Cy"]]
    path = workbook(tmp_path / "set.xlsx", cells)
    first, second = read_gold(path)
    assert (first.id, first.reference_entities) == ("1", ("Ann", "Bob"))
    assert second.query == "Whom?"


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet"])
def test_a_column_that_is_given_twice_is_refused_in_every_table(tmp_path: Path, form: str) -> None:
    header, row = ["question", "references", "references"], ["Who?", "Ann", "Ben"]
    path = tmp_path / f"s.{form}"
    if form == "csv":
        path.write_text(f"{','.join(header)}\n{','.join(row)}\n", encoding="utf-8")
    elif form == "parquet":
        columns = [[cell] for cell in row]
        pyarrow.parquet.write_table(pyarrow.table(columns, names=header), path)
    else:
        pytest.importorskip("python_calamine")
        workbook(path, [header, row])
    with pytest.raises(InputError, match="the column 'references' is given twice"):
        read_gold(path, "sheet")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{\n "name": "x",\n "items": [1, 2]\n}',
            "no questions in this JSON, an object with the keys 'name', 'items'",
        ),
        ("[\n 1,\n 2\n]", "wanted an object"),
        ('{"a": {"b": 1}}', "no questions in this JSON|wanted an object|must be a list|'query' is missing"),
    ],
)
def test_sound_json_is_never_called_no_json(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        read_gold(path)
    assert "not JSON" not in str(caught.value)


def test_an_id_that_is_used_twice_is_told_and_kept_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    rows = [{"id": "n", "question": "Who?", "answer": "A"}, {"id": "n", "question": "Whom?", "answer": "B"}]
    path.write_text(json.dumps(rows))
    gold = read_gold(path)
    assert [example.id for example in gold] == ["n", "n-2"]
    assert "ids used twice: 1, such as n" in str(gold.notes[0])
    assert json.loads(b"".join(written(gold.examples, path, "json", gold))) == rows


def test_a_set_without_references_is_refused_where_it_would_be_judged_by(
    own_folder: Path, run_cli: Callable[..., Result]
) -> None:
    write_kg(own_folder / "a-KG.json", ["Ann", "Bob"], [("Ann", "KNOWS", "Bob")])
    (own_folder / "qa.json").write_text('[{"question": "Whom does Ann know?", "answer": "Bob"}]')
    done = run_cli("eval", "--dataset", "qa.json", "-g", "a-KG.json", "--skip-generation")
    assert done.exit_code == 2
    assert "qa.json: 1 question without 'reference_entities'" in done.stderr
    assert "`dataset from`" in done.stderr
    found = run_cli("dataset", "stats", "qa.json")
    assert found.exit_code == 0, found.output


def test_quoted_names_with_commas_are_answered_with_the_sign_that_parts_names(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('question,references\nWho?,"Ann","Bob"\n')
    with pytest.raises(InputError, match="separate several names with ;"):
        read_gold(path)
    path = tmp_path / "b.jsonl"
    path.write_text('{"query": "Who?", "reference_entities": "Ann, Bob"}\n')
    with pytest.raises(DatasetError, match=r'write several names as a list: \["Ann", "Bob"\]'):
        read_gold(path)


@pytest.mark.realdata
def test_the_openie_sample_and_the_korean_sets_go_back_byte_for_byte() -> None:
    for parts in (
        ("musique-openie", "musique-openie-eval.jsonl"),
        ("tiny-graph-rag", "eval", "김유정-동백꽃-eval.jsonl"),
        ("tiny-graph-rag", "eval", "김유정-동백꽃-hardset.jsonl"),
    ):
        path = real(*parts)
        gold = read_gold(path)
        assert b"".join(written(gold.examples, path, "jsonl", gold)) == path.read_bytes()
        assert all(isinstance(example, Example) for example in gold)
