"""Sweeps and comparisons."""

from __future__ import annotations

from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.markdown.tables import cells, table_of, titled
from tiny_graph_rag.report.plain import markdown_text, three


def sweep(document: Document) -> list[str]:
    settings = document.content["settings"]
    measures = list(dict.fromkeys(each for setting in settings for each in setting["measures"]))
    rows = [
        [
            each["retriever"],
            str(each["hops"]),
            str(each["top_k"]),
            *cells(each, measures),
            three(each.get("oracle_recall")),
        ]
        for each in settings
    ]
    lines = [titled("By hops", 2), *table_of(["retriever", "hops", "k", *measures, "oracle recall"], rows)]
    overall = (document.content.get("recommended") or {}).get("overall")
    if overall and overall.get("reason"):
        lines += [f"Recommended: {markdown_text(str(overall['reason']), 600)}", ""]
    return lines


def comparison(document: Document) -> list[str]:
    lines = [titled("Compared", 2)]
    for measure, rows in document.content["measures"].items():
        table = []
        for row in rows:
            first = row.get("wins") is None
            table.append(
                [
                    markdown_text(row["system"]),
                    f"{three(row['mean'])} ({three(row['mean_low'])} – {three(row['mean_high'])})",
                    "baseline" if first else three(row["difference"]),
                    "" if first else f"{three(row['low'])} – {three(row['high'])}",
                    "" if first else three(row.get("p_holm")),
                    "" if first else f"{row['wins']} / {row['ties']} / {row['losses']}",
                    f"{row['n']:,}",
                ]
            )
        lines += [
            f"**{measure}**",
            "",
            *table_of(
                [
                    "system",
                    "mean (95 % interval)",
                    "difference",
                    "95 % interval",
                    "p (Holm)",
                    "won / tied / lost",
                    "n",
                ],
                table,
            ),
        ]
    return lines
