package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestReadiness(t *testing.T) {
	r := newReadiness(prometheus.NewRegistry())
	ask := func() (int, string) {
		recorder := httptest.NewRecorder()
		r.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return recorder.Code, recorder.Body.String()
	}
	var kafka, clickhouse error
	r.add("kafka", true, func(context.Context) error { return kafka })
	r.add("clickhouse", false, func(context.Context) error { return clickhouse })
	status, text := ask()
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "not ready\nstarting\nkafka: not looked at yet\nclickhouse: fails, and is not needed to be ready: not looked at yet\n", text)

	r.look(t.Context())
	status, text = ask()
	require.Equal(t, http.StatusServiceUnavailable, status, "not before all rooms run: "+text)
	r.setState("")
	status, text = ask()
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ready\nkafka: ok\nclickhouse: ok\n", text)

	clickhouse = errors.New("no answer\nat all")
	r.look(t.Context())
	status, text = ask()
	require.Equal(t, http.StatusOK, status, "the API serves on without")
	require.Contains(t, text, "clickhouse: fails, and is not needed to be ready: no answer; at all\n")
	require.Zero(t, testutil.ToFloat64(r.up.WithLabelValues("clickhouse")))
	r.add("clickhouse", true, nil) // the projector does not
	status, _ = ask()
	require.Equal(t, http.StatusServiceUnavailable, status)

	clickhouse, kafka = nil, errors.New("refused")
	r.look(t.Context())
	status, text = ask()
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "kafka: refused\n")
	kafka = nil
	r.look(t.Context())
	status, _ = ask()
	require.Equal(t, http.StatusOK, status, "back again")
	require.InDelta(t, 1, testutil.ToFloat64(r.up.WithLabelValues("kafka")), 0)

	r.setState("stopping")
	status, text = ask()
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "stopping")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	kafka = errors.New("closed")
	r.look(ended)
	require.InDelta(t, 1, testutil.ToFloat64(r.up.WithLabelValues("kafka")), 0, "a stop is no outage")
}
