package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// signInto returns the cookie of a session.
func (f *fixture) signInto(presented string, headers ...string) (*http.Response, *http.Cookie) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, "http://"+f.Addr()+"/session", strings.NewReader(`{"token":"`+presented+`"}`))
	require.NoError(f.t, err)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(f.t, err)
	defer response.Body.Close()
	for _, cookie := range response.Cookies() {
		return response, cookie
	}
	return response, nil
}

func TestASessionStandsForTheToken(t *testing.T) {
	f := start(t, Config{wrongTokens: 3, wrongTokenEvery: time.Hour})
	response, cookie := f.signInto(token, "X-Forwarded-Proto", "https")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.True(t, cookie.HttpOnly && cookie.Secure && cookie.SameSite == http.SameSiteStrictMode)
	require.NotContains(t, cookie.Value, token)
	as := "mintlake_admin=" + cookie.Value
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Cookie", as}, 200},
		{[]string{"Cookie", as, "Sec-Fetch-Site", "same-origin"}, 200},
		{[]string{"Cookie", as, "Origin", "http://" + f.Addr()}, 200},
		{[]string{"Cookie", as, "Sec-Fetch-Site", "same-site"}, 403},
		{[]string{"Cookie", as, "Origin", "http://127.0.0.1:1"}, 403},
		// an opaque origin
		{[]string{"Cookie", as, "Origin", "null", "Sec-Fetch-Site", "cross-site"}, 403},
		{[]string{"Cookie", as, "Origin", "null"}, 403},
		{[]string{"Cookie", as + "x"}, 401},
	} {
		status, _ := f.do(http.MethodGet, "/v1/keys", "", append(c.headers, "Authorization", "")...)
		require.Equal(t, c.status, status, c.headers)
	}
	status, answer := f.do(http.MethodPost, "/v1/keys", `{"product":"rpc","name":"by-page"}`, "Cookie", as, "Authorization", "", ActorHeader, "", "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusCreated, status)
	require.Equal(t, "dashboard", answer["created_by"])
	response, _ = f.signInto(token, "Origin", "http://elsewhere.example")
	require.Equal(t, http.StatusForbidden, response.StatusCode)

	status, _ = f.do(http.MethodDelete, "/session", "", "Cookie", as)
	require.Equal(t, http.StatusOK, status)
	status, _ = f.do(http.MethodGet, "/v1/keys", "", "Cookie", as, "Authorization", "")
	require.Equal(t, http.StatusUnauthorized, status)
	for range 3 {
		response, _ = f.signInto("wrong")
		require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	}
	response, _ = f.signInto(token)
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode, "signing in is throttled like the token")
}

func TestSessionsAreBoundedAndEnd(t *testing.T) {
	s, now := newSessions(), time.Now()
	first := s.begin(now)
	for i := range maxSessions - 1 {
		s.begin(now.Add(time.Duration(i+1) * time.Second))
	}
	require.True(t, s.use(first, now.Add(time.Minute)), "used, so it stays")
	s.begin(now.Add(2 * time.Minute))
	require.Len(t, s.byID, maxSessions)
	require.True(t, s.use(first, now.Add(time.Hour)))
	require.False(t, s.use(first, now.Add(time.Hour+sessionIdle+time.Second)), "idle")
	last := s.begin(now)
	for at := now; at.Before(now.Add(sessionAge)); at = at.Add(sessionIdle / 2) {
		require.True(t, s.use(last, at))
	}
	require.False(t, s.use(last, now.Add(sessionAge+time.Second)), "old")
}

func TestNodeTellsOfUpstreamsAndStreams(t *testing.T) {
	registry := prometheus.NewRegistry()
	set := func(name string, value float64, labels ...string) {
		names, values := []string{}, []string{}
		for i := 0; i < len(labels); i += 2 {
			names, values = append(names, labels[i]), append(values, labels[i+1])
		}
		gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name}, names)
		require.NoError(t, registry.Register(gauge))
		gauge.WithLabelValues(values...).Set(value)
	}
	set("mintlake_gateway_rpc_upstream_slot", 9, "upstream", "a", "commitment", "processed")
	set("mintlake_gateway_rpc_upstream_condition", 1, "upstream", "a", "condition", "behind")
	set("mintlake_gateway_rpc_upstream_recent_seconds", 0.5, "upstream", "a", "quantile", "0.95")
	set("mintlake_api_pipeline_lag_records", 3, "reader", "enrich")
	set("mintlake_api_coverage_gaps", 2)
	f := start(t, Config{})
	f.deps.Gatherer = registry
	f.deps.Streams = func() *StreamAnswer {
		return &StreamAnswer{Slot: 7, Clients: 2, List: []StreamClient{{Key: "a"}, {Key: "b", Waiting: 5}}}
	}
	status, answer := f.do(http.MethodGet, "/v1/node", "")
	require.Equal(t, http.StatusOK, status)
	upstream := answer["upstreams"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"a", "behind", 0.5}, []any{upstream["name"], upstream["condition"], upstream["seconds"].(map[string]any)["0.95"]})
	require.Equal(t, map[string]any{"enrichment_queue_records": 3.0, "coverage_gaps": 2.0}, answer["figures"])
	require.Equal(t, "b", answer["streams"].(map[string]any)["list"].([]any)[0].(map[string]any)["key"], "the furthest behind comes first")
}

func TestPagesNeedNoToken(t *testing.T) {
	s := &Server{deps: Deps{Pages: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })}, sessions: newSessions()}
	for path, want := range map[string]int{"/": 418, "/dashboard/main.js": 418, "/v1/keys": 401, "/else": 401} {
		w := httptest.NewRecorder()
		s.routes().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, want, w.Code, path)
	}
}
