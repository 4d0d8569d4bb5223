package tracing_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/tracetest"
	"github.com/mintlake/mintlake/internal/tracing"
)

func TestSpansReachTheCollector(t *testing.T) {
	collector := tracetest.Start(t)
	tracer, err := tracing.New(t.Context(), tracing.Config{Endpoint: collector.URL, Ratio: 1, Version: "v1"}, nil)
	require.NoError(t, err)

	ctx, request := tracer.Server(t.Context(), "GET /tokens", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	_, upstream := tracing.Client(ctx, "upstream")
	upstream.String("upstream", "a")
	upstream.Fail("away")
	upstream.End()
	request.End()
	_, block := tracer.Start(t.Context(), "block")
	block.Int("slot", 7)
	block.End()
	parents := []string{block.Traceparent(), block.Traceparent(), "nonsense"}
	_, batch := tracer.Linked(t.Context(), "batch", parents)
	batch.End()
	require.NoError(t, tracer.Close(t.Context()))

	spans := collector.ByName()
	require.Len(t, spans, 4)
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", spans["GET /tokens"][0].TraceID, "the caller's trace goes on")
	require.Equal(t, "b7ad6b7169203331", spans["GET /tokens"][0].ParentID)
	require.Equal(t, spans["GET /tokens"][0].SpanID, spans["upstream"][0].ParentID)
	require.True(t, spans["upstream"][0].Failed)
	require.Equal(t, "a", spans["upstream"][0].Attributes["upstream"])
	require.Equal(t, []string{spans["block"][0].SpanID}, spans["batch"][0].Links)
	require.Equal(t, "mintlake v1", spans["block"][0].Service)
}

func TestRatio(t *testing.T) {
	collector := tracetest.Start(t)
	tracer, err := tracing.New(t.Context(), tracing.Config{Endpoint: collector.URL, Ratio: 0}, nil)
	require.NoError(t, err)
	_, none := tracer.Start(t.Context(), "not kept")
	require.Nil(t, none)
	require.Empty(t, none.Traceparent(), "what is not kept marks no record")
	_, span := tracer.Server(t.Context(), "kept by its caller", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	span.End()
	_, none = tracer.Linked(t.Context(), "batch of nothing kept", []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"})
	none.End()
	require.NoError(t, tracer.Close(t.Context()))
	require.Len(t, collector.ByName(), 1)
}

// TestOffCostsNothing: no endpoint, no dial, no allocation, whatever the environment says.
func TestOffCostsNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	tracer, err := tracing.New(t.Context(), tracing.Config{Ratio: 1}, nil)
	require.NoError(t, err)
	require.Nil(t, tracer)
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		inner, span := tracer.Server(ctx, "x", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		inner, other := tracing.Client(inner, "y")
		other.String("a", "b")
		other.EndWith(nil)
		span.Int("n", 1)
		span.End()
		_, linked := tracer.Linked(inner, "z", nil)
		linked.End()
		_ = span.Traceparent()
	}))
	require.NoError(t, tracer.Close(ctx))
	require.NoError(t, listener.(*net.TCPListener).SetDeadline(time.Now().Add(300*time.Millisecond)))
	_, err = listener.Accept()
	require.Error(t, err, "nobody connects")
}

// TestACollectorThatIsAway holds nobody up.
func TestACollectorThatIsAway(t *testing.T) {
	tracer, err := tracing.New(t.Context(), tracing.Config{Endpoint: "http://127.0.0.1:1", Ratio: 1}, nil)
	require.NoError(t, err)
	began := time.Now()
	for range 10_000 {
		_, span := tracer.Start(t.Context(), "x")
		span.End()
	}
	require.Less(t, time.Since(began), 5*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = tracer.Close(ctx) // says that they were not sent
}

func TestConfigIsChecked(t *testing.T) {
	for _, bad := range []tracing.Config{{Endpoint: "localhost:4317"}, {Endpoint: "ftp://x"}, {Ratio: 1.1}, {Ratio: -1}} {
		require.Error(t, bad.Validate(), bad)
	}
	require.NoError(t, (&tracing.Config{Endpoint: "https://collector.example/otlp/v1/traces", Ratio: 0.5}).Validate())
}
