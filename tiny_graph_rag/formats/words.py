"""What columns and keys are called: one vocabulary for every form of graphs, gold sets and runs.

JSON, JSONL, CSV, Parquet and databases all name the same few things. Of several words for one thing the one
that is named first here counts. Graphs' words are compared as `graphs.table.key_of` spells them (without
signs, in lower case), those of questions as `records.folded` does.
"""

from __future__ import annotations

import re
from itertools import chain
from textwrap import dedent


class Role:
    """What a column of a graph is: what it says of an entity, of a relation or of its ends, or none of it."""

    NAME, TYPE, DESCRIPTION, ALIASES = "name", "type", "description", "aliases"
    CHUNKS, WEIGHT, ID, SOURCE, TARGET = "source chunks", "weight", "id", "source", "target"
    SOURCE_NAME, TARGET_NAME = "name of the source", "name of the target"
    SOURCE_TYPE, TARGET_TYPE = "type of the source", "type of the target"
    DIRECTED = "whether it is directed"
    DETAIL = "kept as a detail"
    UNUSED = "not used"


def _keys(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _table(text: str) -> dict[str, tuple[str, ...]]:
    """`name: words`, whose further lines are indented."""
    rows = re.split(r"\n(?=\S)", dedent(text).strip())
    return {name: _keys(words) for name, _, words in (row.partition(":") for row in rows)}


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- graphs
# Keys of lists, and what names of tables and files say that they hold.
ENTITY_LISTS, RELATION_LISTS = _table(
    """
    entities: entities nodes vertices concepts 개체 엔티티 노드 实体 节点 nodelist node entity vertex
        entidades nodos nós entités entites noeuds nœuds entitäten knoten entità nodi сущности узлы
    relations: relationships relations triples edges links rels triplets extractedtriples arcs claims
        statements facts 관계 엣지 关系 三元组 边 edgelist edge relation relationship link rel relaciones
        aristas relações relacoes arestas liens arêtes kanten beziehungen relazioni archi связи отношения
    """
).values()
PEOPLE_WORDS = _set("people persons characters actors 인물 人物")  # the entities, where no other word says it
# Types of nodes that are no entities, whoever uses them.
CHUNK_NODES = _set(
    "textchunk documentchunk textdocument pdfdocument audiodocument imagedocument textsummary nodeset"
)
# What holds the neighbours of each entity.
ADJACENCIES = _keys("adjacency adjacencylist adjacencies adj adjlist neighbors neighbours graphdict")
ENTITY_TYPES = _keys("entitytype nodetype entityclass")  # of records that are entities, related or not
INNER_KEYS = _keys("properties attributes data attrs props node tuple triple")
NODE_KEYS = _table(
    """
    id: id entityid nodeid vertexid conceptid canonicalid uid uuid guid identifier key iri uri nid eid
        code cui curie 식별자 아이디 编号 標識
    name: name entityname nodename conceptname displayname preferredname canonicalname canonical preflabel lbl
        fullname title entity names node vertex concept term word 이름 명칭 개체 개체명 엔티티 노드 名称 名字
        名稱 实体 实体名 實體 名前 nom nombre nome bezeichnung имя название
    type: entitytype nodetype filetype type types labels nodelabel nodelabels entitylabel category categories
        kind class entityclass semantictype group 유형 개체유형 종류 타입 분류 类型 类别 實體類型 实体类型
        实体类别 节点类型 類型 种类 タイプ tipo categoría categoria catégorie categorie typ
        kategorie тип категория
    description: description desc entitydescription summary definition observations 설명 정의 描述 说明
        简介 説明 descripción descripcion descrição descricao beschreibung descrizione описание
    aliases: aliases alias altlabels altlabel synonyms alsoknownas 별칭 이명 别名 別名
    """
)
# What a person's name is put together from, in this order.
NAME_PARTS = _table(
    """
    given: firstname givenname forename vorname prénom prenom nombre имя name
    middle: middlename patronym patronymic отчество
    family: lastname familyname surname nachname familienname apellido apellidos sobrenome cognome фамилия
    """
)
EDGE_KEYS = _table(
    """
    id: id edgeid relationid relationshipid relid linkid tripleid
    type: relationshiptype relationtype reltype edgetype etype linktype relation relationship relations rel
        predicate pred pre edgelabel relationlabel relationshiplabel relationname relationshipname relname
        predicatelabel interaction interactiontype metaedge edge type kind label labels property verb name
        title value p r predicateid 관계 관계유형 관계명 술어 서술어 유형 关系 关系类型 关系名 關係 谓语 谓词
        謂語 関係 述語 relación relacion relação relacao beziehung relazione отношение связь тип tipo typ role
    description: description desc relationshipdescription relationdescription edgedescription explanation
        설명 관계설명 描述 说明 説明
    weight: weight edgeweight relationshipweight strength relationshipstrength score weights value 가중치 权重
        權重
    """
)
CHUNK_KEYS = _keys(
    """
    sourceid sourceids sourcechunks sourcechunk sourcechunkid chunks chunkid chunkids textunitids
    tripletsourceid sourcefile sourcedoc sourcedocument docid documentid source
    """
)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((source, target) for source, _, target in (pair.partition("/") for pair in text.split()))


# Words for both ends. Tried in this order, so a `source` next to `subject` and `object` is no end.
PAIRS = _pairs(
    """
    subject/object subj/obj sub/obj subject/related head/tail source/target src/dst src/tgt
    source/destination source/dest src/dest src/target from/to start/end origin/destination
    주어/목적어 주체/객체 출발점/도착점 출발/도착 시작/끝 머리/꼬리 원본/대상 主语/宾语 主語/賓語
    主語/目的語 主体/客体 头/尾 頭/尾 源/目标 源/目標 origine/destination
    起点/终点 始点/終点 source/cible sujet/objet sujeto/objeto origen/destino fuente/destino sujeito/objeto
    origem/destino subjekt/objekt quelle/ziel soggetto/oggetto origine/destinazione субъект/объект
    источник/цель parent/child
    """
)
# These alone say too little, but for those before the last.
LETTERS = _pairs("s/o h/t n/m u/v x/y")
# entity_1 and entity_2, node_a and node_b
COUNTED = _pairs("1/2 a/b i/j 一/二")
LONE = _pairs("a/b i/j")  # of them those that may stand alone, in a table of more than a triple
ID_WORDS = _set("id ids key uid uuid guid index idx iri uri code no 编号")
NAME_WORDS = {""} | _set(
    """
    name entity ent node vertex concept term title text value 이름 명 노드 개체 엔티티 实体 實體 节点 名称 名
    """
)
LABEL_WORDS = _set("label labels")
TYPE_WORDS = _set("type types kind category class group 유형 종류 类型 類型")
# What a pair of columns may be about that is no end: `start_date` and `end_date`.
OTHER_WORDS = _set(
    """
    date time datetime timestamp ts year month day at hour age page line char offset pos position span
    token column row lat lon lng latitude longitude degree weight score count description desc embedding
    embeddings chunk chunks doc document file port handle arrow color url properties 날짜 일 sentence
    nodes length size x y amount price valid effective since until expires active created updated
    """
)
COUNTED_STEMS = (
    ID_WORDS
    | NAME_WORDS
    | _set(
        """
    e n v item person gene protein drug interactor user character actor author word element member
    object subject entities nodes
    """
    )
)
# `label_en`, `name_zh`: the languages of names, the one that counts most first.
LANGUAGES = _keys("en eng english ko kor kr zh zho cn chinese ja jp de fr es pt it nl ru ar hi vi tr pl")
TIME_PAIRS = (("from", "to"), ("start", "end"))
DIRECTEDNESS = {"type": _set("directed undirected mixed mutual"), "directed": _set("true false 1 0")}
# What follows from the graph, or is for programs.
UNUSED_KEYS = _set(
    "vector embeddingvector normlabel humanreadableid combineddegree sourcedegree targetdegree"
)
MISSING = _set("NA NaN nan None NULL null N/A")  # what R, pandas and databases write of nothing
NO_TYPES = _set("node nodes entity vertex edge link relationship relation default custom rel")
# What a label says where a graph is too small for counting.
COMMON_TYPES = _set(
    """
    person people character location place city country organization organisation org company event
    product concept topic category date animal object movie film book author disease drug gene protein
    symptom technology skill group 인물 사람 장소 도시 조직 회사 사건 개념 동물 제품 人物 地点 组织 公司 事件
    """
)
HEADER_WORDS = _set("entity node relation relationship predicate rel type label edge") | {*chain(*PAIRS)}

# --- questions, and what was judged or retrieved
# names of entities, or an answer in words: the values decide
NAMES_OR_ANSWER = _keys("reference gold 정답")
# A key is read by its ends where no list has it: `expected_source_file`, `gold_nodes`, `resposta_esperada`.
QUALIFIERS = _set(
    """
    cited intended expected expect gold golden relevant reference ref referenced ground truth correct required
    must should needed supporting ideal target wanted relevance esperada esperado esperadas esperados
    relevante relevantes esperti attendu attendue attendus attendues erwartet erwartete deve debe beklenen
    ожидаемый ожидаемые
    """
)
RETRIEVED = _set("retrieved returned found predicted ranked search top selected fetched")
NEGATIONS = _set("not no nao não forbid forbidden avoid wrong incorrect irrelevant score rank count label by")
# what such a key speaks of → its nouns
NOUNS = _table(
    """
    entities: entity entities node nodes concept concepts
    relations: relation relations relationship relationships triple triples triplets
    chunks: chunk chunks doc docs document documents documento documentos file files filename filenames book
        source sources path paths url urls slug slugs citation citations title titles page pages books
        section sections chapter chapters article articles clause clauses relevance judgment judgments
    texts: passage passages context contexts evidence text texts snippet snippets quote quotes
    answer: answer answers output response keyword keywords term terms value values point points token
        tokens fact facts phrase phrases element elements resposta respostas respuesta respuestas réponse
        réponses reponse reponses antwort antworten risposta cevap ответ
    ids: id ids
    """
)
# Passages are parts of these: an id of one counts after that of a part.
WHOLES = _set("doc docs document documents book file source sources page title titles")
# `expected_source_contains` speaks of the source.
CONTAINING = _set("contain contains include includes conter contener any all")
# In the order in which they are written. Other keys are read by a qualifier and a noun: `expected_entities`.
FIELDS = _table(
    """
    id: id query_id question_id qid eval_id example_id _id uid qa_id sample_id case_id test_id scenario_id
        item_id task_id testcase_id no 번호 질문id 질문_id
    query: query question q claim user_input input input_text msg messages prompt prompts user_query
        user_question question_text query_text claim_text text 질문 질의 물음 문항 사용자_질문 问题 提问
        問題 質問 pregunta pergunta questão вопрос frage soru domanda pytanie pertanyaan câu_hỏi vraag คำถาม
        प्रश्न প্রশ্ন سؤال السؤال سوال user_message consulta turns
    reference_entities: reference_entities references answer_entities entities entidades entités entità
        entitäten сущности
    ground_truth: ground_truth ground_truths truth ground_truth_answer reference_answer expected_output
        expected_answer expected_response preferred_response gold_answer golden_answer ideal_answer
        ideal_response correct_answer answer answers expected answer_text target 답 답변 모범답안 모범_답안
        기대_답변 答案 回答 参考答案 标准答案 答え 解答 respuesta resposta réponse reponse ответ antwort
        उत्तर উত্তর إجابة الإجابة جواب پاسخ cevap yanıt risposta odpowiedź jawaban câu_trả_lời đáp_án antwoord
        คำตอบ keywords expected_keywords expected_context_keywords expected_topics expected_terms key_facts
        key_points must_contain must_include expected_contains generation_gt long_answer
    tags: tags tag 태그
    group: group 묶음
    context: context 앞_대화
    seed_entities: seed_entities seeds seed seed_entity topic_entity topic_entities
        출발_개체
    highly_relevant_entities: highly_relevant_entities highly_relevant 핵심_정답 highly_relevant_chunk_ids
    irrelevant_entities: irrelevant_entities irrelevant 오답 irrelevant_chunk_ids
    expected_types: expected_types expected_doc_types
    reference_texts: reference_texts reference_contexts reference_context evidence evidences evidence_list
        evidence_texts gold_contexts gold_context ground_truth_contexts ground_truth_context
        source_context source_text context_texts supporting_passages supporting_texts gold_passages
        gold_chunk_substring 근거 문맥 contexts context paragraphs citations
    reference_chunks: reference_chunks reference_chunk_ids relevant_chunk_ids relevant_chunks gold_chunks
        relevant_ids relevant_doc_ids relevant_docs source_documents context_ground_truth required_references
        reference_node_id source_sections supporting_facts relevant relevantes retrieval_gt 정답_문서
    reference_relations: reference_relations reference_relationships reference_triples gold_triples
        evidence_triples evidences relationships
    """
)
ID_KEYS, QUERY_KEYS, ANSWER_KEYS = FIELDS["id"], FIELDS["query"], FIELDS["ground_truth"]
# Without a qualifier a file, an address or an id says where the question comes from; `category: x` sorts
# questions, as the tag `category:x`.
ORIGIN_KEYS, TYPE_KEYS = _table(
    """
    origin: chunk_id source_id source_chunk source_chunk_id source_doc source_document source_file
        relevant_doc doc_id document_id source doc document file doc_file filename document_url source_url url
        출처 来源 出典 fuente fonte quelle kaynak kaynak_dosya hedef_id źródło sumber nguồn источник
    types: category type difficulty question_type query_type level evolution_type synthesizer_name intent
        language compositionality_type hop_type 유형 질문_유형 질문유형 난이도 분류 카테고리 categoria
        categoría tipo dificultad dificuldade catégorie difficulté kategorie schwierigkeit
    """
).values()
STATEMENTS = _set("sparql sparql_query sparql_wikidata cypher cypher_query sql")  # what asks a database
RESPONSE_KEYS = _keys("response actual_output generated_answer model_answer prediction")
TEXT_KEYS = _keys("text page_content content fact paragraph_text passage body quote answer name label")
# keys of the list of questions in one object
QUESTION_LISTS = _keys(
    "results questions examples tests test_cases qa_pairs queries predictions data items samples goldens"
)
# of an object of columns: its key → the field of each row
COLUMN_KEYS = {
    **{key: key for key in QUERY_KEYS if key not in ("text", "msg", "messages")},
    **{"questions": "question", "queries": "query", "inputs": "input", "prompts": "prompt"},
    **{"answers": "answer", "ground_truths": "ground_truth"},
    **{key: key for key in ("references", "contexts")},
}
INNER_OBJECTS = _keys("vars inputs input outputs reference_outputs expected_output expected data")
ANSWER_CHECKS = _set(
    """
    equals contains icontains contains-any contains-all icontains-any icontains-all similar factuality
    """
)
# Of a table: a column of its own before any `id`.
QUESTION_NAMES = (*(key for key in ID_KEYS if key != "id"), "id")
DOCUMENT_NAMES = _keys("doc_id docid document_id corpus_id entity_id name")
GRADE_NAMES = _keys("score relevance grade rel label relevant is_relevant judgment judgement gain")
SCORE_NAMES = _keys("score similarity 점수 유사도")
# Of a run by hand: an entity a row by its rank, or all of a question in one cell.
RANK_NAMES = _keys("rank position 순위 등수")
ENTITY_COLUMNS = _keys("entity entity_name retrieved_entity title 개체 엔티티 实体")
LIST_COLUMNS = _keys("retrieved_entities retrieved entities 검색결과 검색_결과 检索结果")
# Of a run, in which a text or a message is what was retrieved.
ASKED_KEYS = tuple(key for key in QUERY_KEYS if key not in ("text", "input", "msg", "messages"))
# what `NAME-columns.yaml` next to a run may name
RUN_FIELDS = _keys("id query entities retrieved_entities name rank score passages relations")
# the first of them counts
RETRIEVED_KEYS = _keys(
    "entities retrieved retrieved_entities topk contexts evidence retrieved_nodes results output hits "
    "ranking 검색결과 검색_결과 检索结果"
)
RELATIONS_KEYS = _keys("relations relationships triples")
PASSAGES_KEYS = _keys(
    "passages chunks contexts source_nodes retrieved_contexts retrieval_context documents docs context"
)
# of one relation, passage or entity that was retrieved
SOURCE_END = _keys(
    "source src_id source_entity_id source_id source_node_id head subject start src from entity1"
)
TARGET_END = _keys("target tgt_id target_entity_id target_id target_node_id tail object end tgt to")
RELATION_TYPES = _keys("type relationship_type relation_type relation relationship predicate label")
ENTITY_NAMES = _keys("name entity_name entity title")
PASSAGE_TEXTS = _keys("page_content text content chunk body")
PASSAGE_IDS = _keys("id chunk_id node_id id_ doc_id document_id passage_id _id url title")
PASSAGE_SOURCES = _keys("source file_path file_name title")
