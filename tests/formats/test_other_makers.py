"""Gold sets as other programs write them: each shape is read, and written in our own form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from click.testing import Result

from tests.conftest import write_kg
from tests.tools.workbook import workbook
from tiny_graph_rag.errors import InputError
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.formats.gold.drafts import read_questions
from tiny_graph_rag.formats.writing import row_of, written
from tiny_graph_rag.run import Relation

QUESTION, ANSWER = "Who keeps the bees?", "Anna keeps the bees."
PASSAGE = "Anna keeps the bees behind the house."
PARAGRAPHS = [
    {"title": "Bees", "paragraph_text": PASSAGE, "is_supporting": True},
    {"title": "Cats", "paragraph_text": "Nobody keeps cats.", "is_supporting": False},
]
ADDRESS = f"https://bees.org/{'bee' * 20}"
KEEPS = ["Anna", "keeps", "bees"]
KEPT = ("Anna", "bees", "keeps")
ASKED = {"question": QUESTION, "answer": ANSWER}
TRUTH = {"ground_truth": (ANSWER,)}
TEXT = {"reference_texts": (PASSAGE,)}
TURNS = [("user", "Bees?"), ("assistant", "Yes."), ("user", QUESTION)]
CONTAINS = [{"type": "contains", "value": ANSWER}]
BY_ID = {"queries": {"u1": QUESTION}, "corpus": {"c1": PASSAGE, "c2": "x"}, "relevant_docs": {"u1": ["c1"]}}
FACTS = {"supporting_facts": [["Bees", 0]], "context": [["Bees", [PASSAGE]], ["Cats", ["Nobody."]]]}
# A record, and what must be read of it.
RECORDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ragas new": (
        {"user_input": QUESTION, "reference_contexts": [PASSAGE], "reference": ANSWER,
         "synthesizer_name": "one_hop"},
        TEXT | TRUTH | {"tags": ("synthesizer_name:one_hop",)},
    ),
    "ragas old testset": (
        {"question": QUESTION, "contexts": [PASSAGE], "ground_truth": ANSWER, "evolution_type": "simple"},
        TEXT | TRUTH | {"tags": ("evolution_type:simple",)},
    ),
    "ragas evaluated: contexts are what was retrieved": (
        {"question": QUESTION, "answer": "Ben.", "contexts": ["x"], "ground_truths": [ANSWER]},
        TRUTH | {"reference_texts": ()},
    ),
    "deepeval": (
        {"input": QUESTION, "expected_output": ANSWER, "context": [PASSAGE], "retrieval_context": ["x"]},
        TEXT | TRUTH | {"context": ()},
    ),
    "HotpotQA": (
        {**ASKED, **FACTS, "_id": "5a", "type": "bridge", "level": "hard"},
        TEXT
        | {"id": "5a", "reference_chunks": ("Bees",), "context": (), "tags": ("type:bridge", "level:hard")},
    ),
    "MuSiQue": ({**ASKED, "paragraphs": PARAGRAPHS, "answerable": True}, TEXT | TRUTH),
    "2WikiMultihopQA: evidences are triples": (
        {**ASKED, "evidences": [KEEPS]},
        {"reference_relations": (Relation(*KEPT),), "reference_texts": ()},
    ),
    "GraphRAG-Bench": (
        {**ASKED, "source": "Medical", "evidence": PASSAGE, "question_type": "Fact Retrieval"},
        TEXT | {"tags": ("question_type:Fact Retrieval",)},
    ),
    "CWQ": (
        {**ASKED, "ID": "WebQTest-8", "topic_entity": {"m.03": "Lou Seal"}},
        TRUTH | {"id": "WebQTest-8", "seed_entities": ("Lou Seal",)},
    ),
    "a golden set of a course": (
        {**ASKED, "relevant_passage_ids": ["1-1", 7], "metadata": {"difficulty": "hard", "section": "1"}},
        {"reference_chunks": ("1-1", "7"), "tags": ("difficulty:hard",)},
    ),
    "Korean keys": (
        {"번호": 3, "질문": QUESTION, "정답": "안나가 벌을 칩니다.", "질문 유형": "사실"},
        {"id": "3", "ground_truth": ("안나가 벌을 칩니다.",), "tags": ("질문_유형:사실",)},
    ),
    "Chinese keys": ({"问题": QUESTION, "答案": ANSWER}, TRUTH),
    "a chat": (
        {"eval_id": 78, "msg": [{"role": role, "content": text} for role, text in TURNS]},
        {"id": "78", "context": ("Bees?", "Yes.")},
    ),
    "entities and relationships beside the answer": (
        {**ASKED, "relationships": [KEEPS]},
        TRUTH | {"reference_relations": (Relation(*KEPT),)},
    ),
    "a reference context in the singular": (
        {"question": QUESTION, "reference_context": PASSAGE, "keywords": ["bees", "house"]},
        TEXT | {"ground_truth": ("bees", "house")},
    ),
    "keys that speak of what they hold": (
        {"q": QUESTION, "resposta_esperada": ANSWER, "expected_source_files": ["bees.md", "Our House.pdf"],
         "nao_deve_conter": ["wasps"], "expected_refusal": False},
        TRUTH | {"reference_chunks": ("bees.md", "Our House.pdf"),
                 "unknown": {"nao_deve_conter": ["wasps"], "expected_refusal": False}},
    ),
    "passages given as texts, and the document that a question comes from": (
        {"claim_id": 1, "question": QUESTION, "gold_chunks": [f"{PASSAGE} {PASSAGE}"], "source": "bees.md"},
        {"reference_chunks": (f"{PASSAGE} {PASSAGE}",)},
    ),
    "the document that a question comes from": (
        {**ASKED, "source": "docs/bees.md"},
        {"reference_chunks": ("docs/bees.md",)},
    ),
    "LangSmith's examples": (
        {"id": "e1", "inputs": {"question": QUESTION}, "outputs": {"answer": ANSWER}},
        TRUTH | {"id": "e1"},
    ),
    "questions in their document": (
        {"id": 1, "doc_id": "d1", "level": "easy", "questions": [{"qid": "u1", "question": QUESTION}]},
        {"id": "u1", "reference_chunks": ("d1",), "tags": ("level:easy",)},
    ),
    "HotpotQA in columns": (
        {
            "question": QUESTION,
            "supporting_facts": {"title": ["Bees"], "sent_id": [0]},
            "context": {"title": ["Bees", "Cats"], "sentences": [[PASSAGE], ["Nobody."]]},
        },
        TEXT | {"reference_chunks": ("Bees",)},
    ),
    "PubMedQA": (
        {"question": QUESTION, "context": {"contexts": [PASSAGE], "labels": []}, "long_answer": ANSWER},
        TEXT | TRUTH,
    ),
    "AutoRAG": (
        {"qid": "u1", "query": QUESTION, "retrieval_gt": [["c1", "c2"], ["c3"]], "generation_gt": [ANSWER]},
        TRUTH | {"id": "u1", "reference_chunks": ("c1", "c2", "c3")},
    ),
    "what a source contains is no answer": (
        {"question": QUESTION, "relevant_titles": ["Bees"], "expect_source_contains": ["honey"]},
        {"reference_chunks": ("Bees",), "unknown": {"expect_source_contains": ["honey"]}},
    ),
    "passages by their grades, and an answer that is a number": (
        {"question": QUESTION, "answer": 7, "relevant_docs": {"c1": 2, "c2": 0}},
        {"reference_chunks": ("c1",), "ground_truth": ("7",)},
    ),
    "keys in camel case": (
        {"queryId": "u1", "userQuery": QUESTION, "expectedDocs": ["c1"], "groundTruth": ANSWER},
        TRUTH | {"id": "u1", "reference_chunks": ("c1",)},
    ),
    "QALD: by language, with a query and its solutions": (
        {
            "id": "1",
            "question": [{"language": "de", "string": "Wer?"}, {"language": "en", "string": QUESTION}],
            "query": {"sparql": "SELECT ?x WHERE {?x :keeps :bees}"},
            "answers": [{"results": {"bindings": [{"x": {"type": "literal", "value": ANSWER}}]}}],
        },
        TRUTH,
    ),
    "LC-QuAD: what a query speaks of is asked about": (
        {"_id": "7", "corrected_question": QUESTION, "sparql_query": "SELECT", "entities": [":bees"]},
        {"id": "7", "seed_entities": (":bees",), "reference_entities": ()},
    ),
    "entities that the question names, answered by another": (
        {"question": QUESTION, "answer": "Anna", "entities": ["bees"]},
        {"seed_entities": ("bees",), "ground_truth": ("Anna",)},
    ),
    "judgments as objects": (
        {"question": QUESTION,
         "gold_relevance": [{"unit_id": "c1", "relevance": 3}, {"unit_id": "c2", "relevance": 0}]},
        {"reference_chunks": ("c1",)},
    ),
    "quotations of the answer": (
        {**ASKED, "citations": [{"page": "7", "quote": PASSAGE}]}, TRUTH | TEXT,
    ),
    "a path through the graph": (
        {"question": QUESTION, "gold_paths": [KEEPS], "expected_path": "(a)-[:R]->(b)"},
        {"reference_relations": (Relation(*KEPT),), "reference_chunks": ()},
    ),
    "contexts by their files": (
        {**ASKED, "contexts": ["bees.html"]},
        TRUTH | {"reference_chunks": ("bees.html",), "reference_texts": ()},
    ),
    "a context with a slash": (
        {**ASKED, "contexts": ["Ann and/or Ben"]}, {"reference_texts": ("Ann and/or Ben",)},
    ),
    "what is expected, in one object": (
        {"question": QUESTION, "expect": {"sources": ["a.md"], "answer_contains": ["Anna"], "k": 3}},
        {"reference_chunks": ("a.md",), "ground_truth": ("Anna",), "unknown": {"expect_k": 3}},
    ),
    "numbers are no names, and titles no texts": (
        {"question": QUESTION, "reference": "23", "supporting_titles": ["A " + "very " * 12 + "long title"]},
        {"ground_truth": ("23",), "reference_chunks": ("A " + "very " * 12 + "long title",)},
    ),
    "a chunk before its section": (
        {"question": QUESTION, "expected_section_ids": ["s1"], "expected_chunk_ids": ["c1"]},
        {"reference_chunks": ("c1",)},
    ),
    "pages of addresses": (
        {"question": QUESTION, "expected_citations": [{"url": f"{ADDRESS}.pdf", "page": 3}]},
        {"reference_chunks": (f"{ADDRESS}.pdf 3",)},
    ),
    "any of several": (
        {"question": QUESTION, "expected_keywords_any": ["Anna"], "relevance_judgments": [{"doc_id": "d1"}]},
        {"ground_truth": ("Anna",), "reference_chunks": ("d1",)},
    ),
    "places in the context are no answers": (
        {"question": QUESTION, "answers": [4, 5], "context": PASSAGE},
        TEXT | {"ground_truth": (), "unknown": {"answers": [4, 5]}},
    ),
    "the part before the whole": (
        {"question": QUESTION, "expect_book_id": "b1", "expect_chunk_id": "c1"},
        {"reference_chunks": ("c1",)},
    ),
    "evidence by its place": (
        {"q": QUESTION, "gold_evidence": [{"doc_id": "d1", "element_id": "e7"}], "gold_paths": [["Lead"]]},
        {"reference_chunks": ("e7",), "reference_relations": ()},
    ),
    "a long path is no passage": (
        {"question": QUESTION, "expected_paths": ["02/All that was said and written of bees this year.md"]},
        {"reference_chunks": ("02/All that was said and written of bees this year.md",)},
    ),
}  # fmt: skip
# A document, how many questions it holds, and what must be read of the first.
DOCUMENTS: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "columns": ({"questions": [QUESTION, "Who else?"], "ground_truths": [ANSWER, "Ben."]}, 2, TRUTH),
    "columns as pandas writes them": (
        {"question": {"0": QUESTION, "1": "Who else?"}, "answer": {"0": ANSWER, "1": "Ben."}}, 2, TRUTH,
    ),
    "an object around the list": ({"schema_version": "1.0", "qa_pairs": [ASKED]}, 1, TRUTH),
    "questions by id": ({"q7": ASKED, "q8": {**ASKED, "question": "Who else?"}}, 2, TRUTH | {"id": "q7"}),
    "LlamaIndex LabelledRag": (
        {"examples": [{"query": QUESTION, "query_by": {"type": "ai"}, "reference_answer": ANSWER}]}, 1, TRUTH,
    ),
    "LlamaIndex EmbeddingQA": (BY_ID, 1, {"id": "u1", "reference_chunks": ("c1",)}),
    "questions alone": ([QUESTION, "Who else?"], 2, {}),
    "lists in groups": ({"groups": [{"name": "a", "pairs": {"easy": [ASKED]}}]}, 1, TRUTH),
    "lists in a list": ([[ASKED]], 1, TRUTH),
    "promptfoo's test cases": (
        {"prompts": ["{{question}}"], "tests": [{"vars": {"question": QUESTION}, "assert": CONTAINS}]},
        1, TRUTH,
    ),
    "entities beside chunks": (
        [{"question": QUESTION, "expected_entities": ["Anna"], "relevant_chunk_ids": ["c1"]}] * 2,
        2, {"reference_entities": ("Anna",), "reference_chunks": ("c1",)},
    ),
    "chunk ids that are still to be filled in": ([{**ASKED, "relevant_chunk_ids": []}] * 2, 2, TRUTH),
    "SQuAD: a passage stands around its questions": (
        {"data": [{"title": "Bees", "paragraphs": [{"context": PASSAGE, "qas": [{**ASKED, "id": "u1"}]}]}]},
        1, TEXT | TRUTH | {"id": "u1"},
    ),
    "columns by id": (
        {"queries": {"u1": QUESTION, "u2": "Who else?"}, "responses": {"u1": ["Anna"], "u2": ["Ben"]}},
        2, {"id": "u1", "unknown": {"responses": ["Anna"]}},
    ),
    **{name: ([record], 1, wanted) for name, (record, wanted) in RECORDS.items()},
}  # fmt: skip


@pytest.mark.parametrize("shape", DOCUMENTS)
def test_a_shape_is_read_as_it_lies_and_what_is_written_reads_back(tmp_path: Path, shape: str) -> None:
    document, questions, wanted = DOCUMENTS[shape]
    path = tmp_path / "golden.json"
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2), encoding="utf-8")
    gold = read_gold(path)
    assert len(gold) == questions
    first = gold[0]
    assert first.query == QUESTION
    assert {field: getattr(first, field) for field in wanted} == wanted
    assert any(example.judged for example in gold) == bool(wanted.get("reference_entities"))
    for form in ("json", "jsonl"):
        own = tmp_path / f"own.{form}"
        own.write_bytes(b"".join(written(gold.examples, own, form)))
        again = read_gold(own)
        assert [row_of(example) for example in again] == [row_of(example) for example in gold]
        assert b"".join(written(again.examples, own, form)) == own.read_bytes()


GOLD = {"reference_entities": ("점순", "나"), "tags": ("다중홉",)}
CHUNKS = {"id": "q7", "query": QUESTION, "reference_entities": ("c1", "2")}
TOLD = {"query": QUESTION, "ground_truth": ("Anna",)}
EQUALS = "\n  assert: [{type: equals, value: Anna}]\n"
FILES: list[tuple[str, str | bytes, dict[str, Any]]] = [  # name, content, and what its first question holds
    (
        "nodes.json",
        json.dumps([{"question": QUESTION, "expected_node_ids": ["n1", "n2"]}]),
        {"reference_entities": ("n1", "n2")},
    ),
    (
        "labels.json",
        json.dumps([{"question": QUESTION, "expected_entities": [{"label": "Ann", "uri": "urn:a"}]}]),
        {"reference_entities": ("Ann",)},
    ),
    ("qrels.json", '{"q1": {"d1": 2, "d2": 0}}', {"id": "q1", "grades": {"d1": 2, "d2": 0}}),
    ("one column.csv", "Who keeps bees?\nWhere?\n", {"query": "Who keeps bees?", "judged": False}),
    ("marked.yaml", f"---\n- question: {QUESTION}\n", {"query": QUESTION}),
    *(
        (f"{id}.json", json.dumps([{id: "q7", asked: QUESTION, "relevant_chunk_ids": ["c1", 2]}]), CHUNKS)
        for id, asked in (("query_id", "query"), ("qid", "问题"), ("번호", "질문"))
    ),
    ("test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n", {"grades": {"d1": 2, "d2": 0}}),
    ("b", "query_id,doc_id,score\nQ1,d1,1\n", {"grades": {"d1": 1}}),
    ("a", "question,references,tags\nWho?,Bob; Cid,x\n", {"grades": {"Bob": 1, "Cid": 1}, "tags": ("x",)}),
    (
        "excel.csv",
        "질문,정답,유형\n누가 싸웠어?,점순; 나,다중홉\n".encode("cp949"),
        GOLD | {"tags": ("유형:다중홉",)},
    ),
    ("semicolon.csv", "질문;정답;태그\n누가 싸웠어?;점순|나;다중홉\n", GOLD | {"id": "line-2"}),
    ("tab.csv", "질문\t정답\t태그\n누가 싸웠어?\t점순; 나\t다중홉\n", GOLD),
    ("break.csv", '질문,정답,태그\n누가 싸웠어?,"점순\n나",다중홉\n', GOLD),
    ("list.csv", '질문,정답,태그\n누가 싸웠어?,"[""점순"", ""나""]",다중홉\n', GOLD),
    ("answers.csv", "question,answers\nWho?,Bob\n", {"ground_truth": ("Bob",), "judged": False}),
    ("roles.jsonl", json.dumps({"question": "Who?", "role": "clerk", "answer": "Ann"}), {"query": "Who?"}),
    ("plural.csv", "Questions,Answers\nWho?,Bob\n", {"query": "Who?", "ground_truth": ("Bob",)}),
    (
        "spanish.json",
        json.dumps([{"pregunta": QUESTION, "entidades": ["Anna"], "tipo": "simple"}]),
        {"reference_entities": ("Anna",), "tags": ("tipo:simple",)},
    ),
    (
        "many.csv",
        f'question,expected_ids\nWho?,"{",".join(f"E{n}" for n in range(99))}"\n',
        {"reference_chunks": tuple(f"E{n}" for n in range(99))},
    ),
    ("ids.csv", 'question,expected_docs\nWho?,"a.md, b-2"\n', {"reference_chunks": ("a.md", "b-2")}),
    (
        "title.csv",
        'question,expected_docs\nWho?,"Woodson, Arkansas"\n',
        {"reference_chunks": ("Woodson, Arkansas",)},
    ),
    ("topics.tsv", "q7\twho keeps bees\nq8\twho else\n", {"id": "q7", "query": "who keeps bees"}),
    ("qa.txt", "who keeps the [bees] of us\tAnn|Ben\nwho else\tCy\n", {"ground_truth": ("Ann", "Ben")}),
    ("qrels.tsv", "qid\tdocId\trel\nq1\td1\t2\n", {"grades": {"d1": 2}}),
    ("one.csv", "question\nWho, of all, is it; and why?\n", {"query": "Who, of all, is it; and why?"}),
    (
        "judged.csv",
        'query_id,query_text,doc_id,relevant\nq1,"who, then?",d1,1\nq1,"who, then?",d2,0\n',
        {"query": "who, then?", "reference_entities": ("d1",), "irrelevant_entities": ("d2",)},
    ),
    ("a.json", '{"_comment": "Pages.", "Who?": [3]}', {"query": "Who?", "reference_entities": ("3",)}),
    *(
        (f"{query}.json", json.dumps([{query: "Who?", key: value}]), {"query": "Who?", field: wanted})
        for query, key, value, field, wanted in (
            ("question_ar", "reference_answer_ar", "آن", "ground_truth", ("آن",)),
            ("soru", "kaynak_dosya", "a.pdf", "reference_chunks", ("a.pdf",)),
            ("soru", "cevap", "Ann", "ground_truth", ("Ann",)),
            ("question", "expected_concepts", ["Ann"], "reference_entities", ("Ann",)),
            ("question", "reponse_attendue", "Ann", "ground_truth", ("Ann",)),
            ("question", "required_elements", ["Ann", "Ben"], "ground_truth", ("Ann", "Ben")),
            ("soru", "hedef_id", "bees_1", "reference_chunks", ("bees_1",)),
            ("question", "intended_source", "Bees", "reference_chunks", ("Bees",)),
            ("question", "source_sections", ["4.1"], "reference_chunks", ("4.1",)),
            ("question", "expected_chapters", [17], "reference_chunks", ("17",)),
            ("question", "expected_sources", [{"section_no": 27}], "reference_chunks", ("27",)),
            ("question", "expected_chunk_contains", "12 mW", "reference_texts", ("12 mW",)),
            ("question", "must_include_arxiv_ids", ["2104.1"], "reference_chunks", ("2104.1",)),
            ("question", "must_contain", [["Ann", "Anna"], "Ben"], "ground_truth", ("Ann", "Anna", "Ben")),
            ("question", "ground_truth", {"girl": "Ann", "boy": None}, "ground_truth", ("Ann",)),
            ("question", "expected", ["T1003.001"], "reference_chunks", ("T1003.001",)),
        )
    ),
    ("promptfoo.yaml", f"tests:\n- vars: {{question: {QUESTION}}}{EQUALS}", TOLD),
    ("file.yaml", f"tests:\n- vars: {{a: file://a.txt, b: {QUESTION}}}{EQUALS}", TOLD),
    ("golden.yaml", f"- question: {QUESTION}\n  expected: Anna\n- question: Who?\n  expected: Ben\n", TOLD),
    (
        "tool.json",
        json.dumps(
            [{"question": QUESTION, "expected": "search", "reference": ANSWER, "expected_article": "87"}]
        ),
        TRUTH | {"reference_chunks": ("87",)},
    ),
    (
        "fiche.json",
        json.dumps([{"consulta": QUESTION, "expect": ["a/b.md"], "context": {"agency": "Finance"}}]),
        {"reference_chunks": ("a/b.md",), "context": ()},
    ),
    (
        "laws.json",
        json.dumps([{"question": QUESTION, "relevant": [{"law": "Bees Act", "article": 3}]}]),
        {"reference_chunks": ("Bees Act 3",)},
    ),
    (
        "turns.json",
        json.dumps([{"id": "t", "turns": ["Who?", "Why?"]}]),
        {"query": "Why?", "context": ("Who?",)},
    ),
    ("by id.json", json.dumps({"q1": "Who?", "q2": "So?"}), {"id": "q1", "query": "Who?"}),
    (
        "chunks.json",
        json.dumps([{**ASKED, "relevant_chunk_ids": [0], "source_file": "a.pdf"}]),
        {"reference_chunks": ("0",), "reference_entities": ()},
    ),
    ("slugs.yaml", f"- question: {QUESTION}\n  sources: [01-bees]\n", {"reference_chunks": ("01-bees",)}),
    ("made.json", json.dumps([{**ASKED, "source": "gpt_4"}]), {"reference_chunks": ()}),
    ("a run's.json", json.dumps([{**ASKED, "sources": ["a.md"]}]), {"reference_chunks": ()}),
    (  # what a key holds in all records decides
        "short.json",
        json.dumps(
            [
                {"question": q, "relevant_contexts": [text]}
                for q in ("Who?", "So?")
                for text in ("Anna: bees.", f"{PASSAGE} {PASSAGE}")
            ]
        ),
        {"reference_texts": ("Anna: bees.",)},
    ),
    (
        "one file.csv",
        "question,answer,document\nWho?,Ann,Ask.com\nSo?,Ben,Glacier cave\nY?,Cy,Bee\n",
        {"reference_chunks": ()},
    ),
    (
        "bar.json",
        json.dumps([{"input_text": QUESTION, "answer": "Ann | Ben", "relevant": ["c1"]}]),
        {"query": QUESTION, "ground_truth": ("Ann | Ben",), "reference_chunks": ("c1",)},
    ),
]


@pytest.mark.parametrize(("name", "content", "wanted"), FILES, ids=[name for name, _, _ in FILES])
def test_a_file_is_read_as_it_lies(
    tmp_path: Path, name: str, content: str | bytes, wanted: dict[str, Any]
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    first = read_gold(path)[0]
    assert {field: getattr(first, field) for field in wanted} == wanted


def test_questions_without_references_among_others_are_a_draft_and_no_gold_set(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    rows = [{"id": "a", **ASKED, "gold_nodes": ["Anna"]}, {"id": "b", **ASKED}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert [example.reference_entities for example in read_questions(path)] == [("Anna",), ()]
    with pytest.raises(InputError, match="question b: 'reference_entities' is missing; \\[\\] says"):
        read_gold(path)


def test_what_a_table_is_taken_for_is_said(tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv"
    path.write_text("q7\twho keeps bees\n", encoding="utf-8")
    assert (
        "the first line is read as data, not as a header; the columns are: query_id, question"
        in read_gold(path).notes
    )


REFUSED = [  # name, content, and what is said of it
    ("by key.json", '{"input1": ["Who keeps bees?"]}', "no questions in this file, an object with the keys"),
    ("2wiki.json", '{"Nodes": ["person"], "Relations": ["knows"]}', "no questions in this file"),
    ("x.json", '{\n "name": "x",\n "items": [1, 2]\n}', "an object with the keys 'name', 'items'"),
    ("labels.yaml", "1: cat\n2: dog\n", "no questions in this file, an object with the keys '1', '2'"),
    ("x.json", "[\n 1,\n 2\n]", "wanted an object"),
    ("x.json", '{"a": {"b": "c"}}', "no questions in this file"),
    (
        "notes.jsonl",
        "// ours\n" + json.dumps(ASKED),
        "notes.jsonl:1: wanted JSON, as the file is called; got",
    ),
    ("a.csv", 'question,references\nWho?,"Ann","Bob"\n', "separate several names with ;"),
    ("b.jsonl", '{"query": "Who?", "reference_entities": "Ann, Bob"}\n', r'Write \["Ann", "Bob"\]'),
    ("q.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "a pointer of Git LFS"),
    ("q.txt", "1 2 3\n4 5 6\n", "rows of numbers"),
    ("q.txt", "1,2,3\n4,5,6\n", "rows of numbers"),
    ("q.txt", "who keeps bees\tkeeps\tanna\nwho else\tis\tben\n", "'question'; it has: who keeps bees"),
    ("q.txt", "1\t1\tbees\n1\t2\tcats\n", "the column '1' is given twice"),
    (
        "calls.json",  # nor is what somebody says in a conversation
        '[{"id": "a", "dialog": [{"speaker": "agent", "text": "Hello, how can I help?"}]}]',
        "'query' is missing in all 1 records; they have: id, dialog",
    ),
    (
        "cases.json",  # a query in an expected answer is no question
        '{"cases": [{"message": {"content": "How?"}, "ground_truth": {"calls": {"tool": {"query": "a"}}}}]}',
        "'query' is missing in all 1 records",
    ),
]


@pytest.mark.parametrize(("name", "content", "said"), REFUSED)
def test_what_is_no_gold_set_is_refused_in_words(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    for read in (read_gold, read_questions):
        with pytest.raises(InputError, match=said) as caught:
            read(path)
        assert "not JSON" not in str(caught.value)


@pytest.mark.parametrize("title", [[], [["Our questions", "", ""], ["", "", ""]]])
def test_a_worksheet_is_a_table(tmp_path: Path, title: list[list[str]]) -> None:
    cells = [["id", "question", "references"], ["1", "Who?", "Ann; Bob"], ["2", "Whom?", "Cy"]]
    (tmp_path / "s.xlsx").write_bytes(workbook({"Sheet1": [*title, *cells]}))
    first, second = read_gold(tmp_path / "s.xlsx")
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
        path.write_bytes(workbook({"Sheet1": [header, row]}))
    with pytest.raises(InputError, match="the column 'references' is given twice"):
        read_gold(path, "sheet")


def test_a_set_without_references_is_refused_where_it_would_be_judged_by(
    own_folder: Path, run_cli: Callable[..., Result]
) -> None:
    write_kg(own_folder / "a-KG.json", ["Ann", "Bob"], [("Ann", "KNOWS", "Bob")])
    (own_folder / "qa.json").write_text('[{"question": "Whom does Ann know?", "answer": "Bob"}]')
    done = run_cli("eval --dataset qa.json -g a-KG.json --skip-generation", code=2)
    assert "qa.json: 1 question without 'reference_entities'" in done.stderr
    assert "`dataset from`" in done.stderr
    run_cli("dataset convert qa.json -o -", code=0)
