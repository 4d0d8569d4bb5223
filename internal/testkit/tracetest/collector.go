// Package tracetest is an OTLP collector for tests: it keeps the spans that it is sent over HTTP.
package tracetest

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is one received span. IDs are hexadecimal.
type Span struct {
	Name, TraceID, SpanID, ParentID string
	// Links are the span IDs linked to.
	Links      []string
	Attributes map[string]string
	Failed     bool
	// Service is the service's name and version.
	Service string
}

// Collector receives spans at URL.
type Collector struct {
	URL string

	mu    sync.Mutex
	spans []Span
}

// Start starts a collector that ends with the test.
func Start(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request collectorpb.ExportTraceServiceRequest
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			http.Error(w, "no spans", http.StatusBadRequest)
			return
		}
		c.keep(&request)
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// ByName returns the spans received so far, by name.
func (c *Collector) ByName() map[string][]Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string][]Span{}
	for i := range c.spans {
		all[c.spans[i].Name] = append(all[c.spans[i].Name], c.spans[i])
	}
	return all
}

func (c *Collector) keep(request *collectorpb.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, group := range request.GetResourceSpans() {
		about := texts(group.GetResource().GetAttributes())
		service := strings.TrimSpace(about["service.name"] + " " + about["service.version"])
		for _, scope := range group.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans = append(c.spans, read(span, service))
			}
		}
	}
}

func read(span *tracepb.Span, service string) Span {
	out := Span{
		Name: span.GetName(), TraceID: hex.EncodeToString(span.GetTraceId()), SpanID: hex.EncodeToString(span.GetSpanId()),
		ParentID: hex.EncodeToString(span.GetParentSpanId()), Attributes: texts(span.GetAttributes()), Service: service,
		Failed: span.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
	}
	for _, link := range span.GetLinks() {
		out.Links = append(out.Links, hex.EncodeToString(link.GetSpanId()))
	}
	return out
}

func texts(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, pair := range list {
		if text, ok := pair.GetValue().GetValue().(*commonpb.AnyValue_StringValue); ok {
			out[pair.GetKey()] = text.StringValue
		} else {
			out[pair.GetKey()] = pair.GetValue().String()
		}
	}
	return out
}
