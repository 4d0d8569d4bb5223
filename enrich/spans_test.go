package enrich

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/tracetest"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/schemas"
)

// TestSpans: a trace leads from the block that asked, through the reads, to whoever stores the
// facts.
func TestSpans(t *testing.T) {
	collector := tracetest.Start(t)
	tracer, err := tracing.New(t.Context(), tracing.Config{Endpoint: collector.URL, Ratio: 1}, nil)
	require.NoError(t, err)
	w := newWorld()
	w.deps.Tracer = tracer
	traced, silent := mintKey(1), mintKey(2)
	w.rpc.putMint(traced, "Lake", "https://meta.test/1.json")
	w.rpc.putMint(silent, "Pond", "https://meta.test/2.json")
	_, block := tracer.Start(t.Context(), "ingest block")
	w.request(t, ask(traced, sighted, 900, ""))
	for partition := range w.requests {
		for i := range w.requests[partition] {
			record := &w.requests[partition][i]
			record.Headers = append(record.Headers, kafka.Header{Key: tracing.Header, Value: []byte(block.Traceparent())})
		}
	}
	block.End()
	_, stop := w.start(t)
	w.drained(t)
	w.request(t, ask(silent, sighted, 900, ""))
	w.drained(t)
	require.NoError(t, stop())
	require.NoError(t, tracer.Close(t.Context()))

	spans := collector.ByName()
	require.Len(t, spans["enrich accounts"], 1, "nobody traced the second request")
	require.Len(t, spans["enrich document"], 1)
	accounts, document := spans["enrich accounts"][0], spans["enrich document"][0]
	require.Equal(t, []string{spans["ingest block"][0].SpanID}, accounts.Links)
	require.Equal(t, accounts.Links, document.Links)
	require.Equal(t, "ok", document.Attributes["outcome"])
	marks := map[string]string{}
	for _, record := range w.records(schemas.TopicEnrichments) {
		for _, header := range record.Headers {
			if header.Key == tracing.Header {
				require.Equal(t, traced.String(), string(record.Key))
				marks[string(record.Headers[0].Value)] = string(header.Value)[36:52]
			}
		}
	}
	require.Equal(t, map[string]string{
		"enrichment.mint_account": accounts.SpanID, "enrichment.metaplex_account": accounts.SpanID, "enrichment.offchain": document.SpanID,
	}, marks)
}
