// Package tracing makes OpenTelemetry spans and sends them to an OTLP collector over HTTP.
//
// In: the work of the rooms. Out: spans, and W3C traceparent texts for HTTP and Kafka headers.
// Guarantees: off unless an endpoint is configured. A nil *Tracer and a nil *Span do nothing,
// allocate nothing and connect to nothing, so no room needs to ask whether tracing is on. Spans
// wait in a bounded buffer; while the collector is away they are dropped, and nothing else waits
// for it.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Header is the name of the HTTP and Kafka header that carries a span's identity (W3C Trace
// Context).
const Header = "traceparent"

const (
	// defaultPath is the path for traces in OTLP over HTTP, if the endpoint has none.
	defaultPath = "/v1/traces"
	// maxLinks bounds the links of one span.
	maxLinks = 32
	// complainEvery is the shortest time between two log lines about a collector that is away.
	complainEvery = time.Minute
)

// Config says where spans are sent. Request headers, such as one with a key, come from
// OTEL_EXPORTER_OTLP_HEADERS.
type Config struct {
	// Endpoint is the collector's URL, such as http://host:4318. Empty: tracing is off.
	Endpoint string
	// Ratio is the share of traces beginning here that are kept, 0 to 1. A request with a
	// traceparent is kept if its caller keeps it.
	Ratio float64
	// Version is the attribute service.version of all spans.
	Version string
}

// Validate returns what is wrong with the configuration.
func (c *Config) Validate() error {
	if c.Ratio < 0 || c.Ratio > 1 {
		return fmt.Errorf("tracing.sample_ratio: %v: must be 0 to 1", c.Ratio)
	}
	if c.Endpoint == "" {
		return nil
	}
	if u, err := url.Parse(c.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("tracing.endpoint: must be an http or https URL of an OTLP collector, as http://127.0.0.1:4318")
	}
	return nil
}

// Tracer makes spans. Nil makes none.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New makes a Tracer, or returns nil if there is no endpoint. The tracer connects when it sends its
// first spans. Close sends those that wait.
func New(ctx context.Context, cfg Config, logger *slog.Logger) (*Tracer, error) {
	if err := cfg.Validate(); err != nil || cfg.Endpoint == "" {
		return nil, err
	}
	endpoint, err := url.Parse(cfg.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	if endpoint.Path == "" || endpoint.Path == "/" {
		endpoint.Path = defaultPath
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint.String()))
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	about := resource.NewSchemaless(
		attribute.String("service.name", "mintlake"), attribute.String("service.version", cfg.Version))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(2*time.Second)),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.Ratio))),
		sdktrace.WithResource(about))
	otel.SetErrorHandler(newComplainer(logger))
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/mintlake/mintlake")}, nil
}

// Close sends the waiting spans, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Span measures one operation. A nil Span does nothing.
type Span struct{ span trace.Span }

// sampled returns span as a Span if it is recorded, else nil.
func sampled(span trace.Span) *Span {
	if !span.IsRecording() {
		return nil
	}
	return &Span{span}
}

// Start begins a trace, or a span inside the span of ctx if ctx has one.
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name)
	return ctx, sampled(span)
}

// Server begins the span of a request. traceparent is the request's header, and the span belongs to
// that trace. If it is empty or malformed, the span begins a new trace.
func (t *Tracer) Server(ctx context.Context, name, traceparent string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(withParent(ctx, traceparent), name, trace.WithSpanKind(trace.SpanKindServer))
	return ctx, sampled(span)
}

// Linked begins a span that several traces caused, such as a batch of records. It belongs to the
// first trace that is sampled, and links to the first maxLinks different sampled traces. It is
// sampled whatever Ratio says. If no trace is sampled there is no span.
func (t *Tracer) Linked(ctx context.Context, name string, traceparents []string) (context.Context, *Span) {
	if t == nil || len(traceparents) == 0 {
		return ctx, nil
	}
	var links []trace.Link
	known := map[string]bool{}
	for _, text := range traceparents {
		if known[text] || len(links) == maxLinks {
			continue
		}
		known[text] = true
		if parent := trace.SpanContextFromContext(withParent(context.Background(), text)); parent.IsSampled() {
			links = append(links, trace.Link{SpanContext: parent})
		}
	}
	if len(links) == 0 {
		return ctx, nil
	}
	// The first link is the parent too. So the sampler keeps the span, and the trace shows the
	// whole path of one block.
	ctx = trace.ContextWithRemoteSpanContext(ctx, links[0].SpanContext)
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(links...))
	return ctx, sampled(span)
}

// Child begins a span inside the span of ctx. If ctx has no span, Child returns a nil Span.
func Child(ctx context.Context, name string) (context.Context, *Span) {
	return child(ctx, name, trace.SpanKindInternal)
}

// Client is like Child, for a request to another server.
func Client(ctx context.Context, name string) (context.Context, *Span) {
	return child(ctx, name, trace.SpanKindClient)
}

func child(ctx context.Context, name string, kind trace.SpanKind) (context.Context, *Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	ctx, span := parent.TracerProvider().Tracer("github.com/mintlake/mintlake").Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, sampled(span)
}

// String adds an attribute to the span. Values must not be secrets.
func (s *Span) String(key, value string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Int adds an attribute to the span.
func (s *Span) Int(key string, value int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// Fail marks the span as failed. message must not hold a secret.
func (s *Span) Fail(message string) {
	if s != nil {
		s.span.SetStatus(codes.Error, message)
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}

// EndWith ends the span, as failed if err is not nil. The error's text is not sent: it may hold an
// address with a key.
func (s *Span) EndWith(err error) {
	if err != nil {
		s.Fail("failed")
	}
	s.End()
}

// Traceparent returns the value of Header for a request or record that belongs to the span. It is
// empty if s is nil.
func (s *Span) Traceparent() string {
	if s == nil {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), s.span), carrier)
	return carrier.Get(Header)
}

// withParent returns ctx with the span of traceparent, which is in another process, as its span. An
// empty or malformed traceparent changes nothing.
func withParent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{Header: traceparent})
}
