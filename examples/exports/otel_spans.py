"""Questions of a results file as OpenTelemetry spans that Phoenix and others show as retrievals.

    pip install opentelemetry-sdk opentelemetry-exporter-otlp
    export OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:6006
    python otel_spans.py data/results/my-questions-results.json

The attributes are those of OpenInference: `retrieval.documents.N.document.id`, `.content`, `.score`.
"""

import json
import sys
import time
from pathlib import Path

from opentelemetry.trace import Tracer


def send(path: str, tracer: Tracer) -> int:
    """How many spans were made, one a question."""
    results = json.loads(Path(path).read_text(encoding="utf-8"))["results"]
    for question in results:
        seconds = question.get("latency_seconds") or 0.0
        end = time.time_ns()
        span = tracer.start_span("retrieve", start_time=end - int(seconds * 1e9))
        span.set_attribute("openinference.span.kind", "RETRIEVER")
        span.set_attribute("input.value", question["query"])
        for place, entity in enumerate(question["ranked"]):
            named = f"retrieval.documents.{place}.document"
            span.set_attribute(f"{named}.id", entity["id"])
            span.set_attribute(f"{named}.content", entity["name"])
            span.set_attribute(f"{named}.score", entity["score"])
        for measure, value in question["metrics"].items():
            if value is not None:
                span.set_attribute(f"eval.{measure}", value)
        span.end(end)
    return len(results)


if __name__ == "__main__":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    print(send(sys.argv[1], provider.get_tracer("tiny-graph-rag")), "spans")
    provider.shutdown()
