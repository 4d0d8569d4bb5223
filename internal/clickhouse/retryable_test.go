package clickhouse_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func TestRetryable(t *testing.T) {
	exception := func(code int32) error { return fmt.Errorf("insert: %w", &ch.Exception{Code: code}) }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nil":                 {nil, false},
		"cancelled":           {context.Canceled, false},
		"deadline":            {fmt.Errorf("x: %w", context.DeadlineExceeded), true},
		"EOF":                 {fmt.Errorf("x: %w", io.EOF), true},
		"broken answer":       {io.ErrUnexpectedEOF, true},
		"reset":               {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		"url refused":         {&url.Error{Op: "Post", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, true},
		"url idle closed":     {&url.Error{Op: "Post", Err: errors.New("http: server closed idle connection")}, true},
		"url malformed":       {&url.Error{Op: "parse", Err: errors.New("invalid port")}, false},
		"certificate":         {&url.Error{Op: "Post", Err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}}, false},
		"no such host":        {&net.DNSError{Err: "no such host", IsNotFound: true}, true},
		"pool empty":          {ch.ErrAcquireConnTimeout, true},
		"memory":              {exception(241), true},
		"too many parts":      {exception(252), true},
		"read-only table":     {exception(242), true},
		"keeper":              {exception(999), true},
		"no keeper":           {exception(225), true},
		"syntax":              {exception(62), false},
		"no table":            {exception(60), false},
		"type":                {exception(53), false},
		"readonly user":       {exception(164), false},
		"password":            {exception(516), false},
		"memory over HTTP":    {&ch.HTTPError{StatusCode: 500, Err: &ch.Exception{Code: 241}}, true},
		"syntax over HTTP":    {&ch.HTTPError{StatusCode: 503, Err: &ch.Exception{Code: 62}}, false},
		"proxy":               {&ch.HTTPError{StatusCode: 502, Err: errors.New("bad gateway")}, true},
		"not found":           {&ch.HTTPError{StatusCode: 404, Err: errors.New("nothing here")}, false},
		"text is not the way": {errors.New("connection reset by peer; Code: 241"), false},
		"invalid batch":       {ch.ErrBatchInvalid, false},
	} {
		require.Equal(t, c.want, clickhouse.Retryable(c.err), name)
	}
}

// TestRetryableOnTheWire asks real errors of clickhouse-go instead of imagined ones.
func TestRetryableOnTheWire(t *testing.T) {
	conn, _ := chtest.Start(t)
	require.False(t, clickhouse.Retryable(conn.Exec(t.Context(), "SELEKT")))
	ctx := ch.Context(t.Context(), ch.WithSettings(ch.Settings{"max_memory_usage": 1 << 20}))
	require.True(t, clickhouse.Retryable(conn.Exec(ctx, "SELECT groupArray(number) FROM numbers(10000000)")))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.True(t, clickhouse.Retryable(conn.Exec(ctx, "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)")))

	_, err := clickhouse.Open(t.Context(), "http://127.0.0.1:1")
	require.True(t, clickhouse.Retryable(err), "%v", err)
	_, err = clickhouse.Open(t.Context(), "clickhouse://127.0.0.1:1")
	require.True(t, clickhouse.Retryable(err), "%v", err)

	for status, want := range map[int]bool{502: true, 503: true, 429: true, 404: false, 400: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", status) }))
		_, err = clickhouse.Open(t.Context(), server.URL)
		server.Close()
		require.Equal(t, want, clickhouse.Retryable(err), "%d: %v", status, err)
	}
	hangUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	_, err = clickhouse.Open(t.Context(), hangUp.URL)
	hangUp.Close()
	require.True(t, clickhouse.Retryable(err), "%v", err)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("\x01"))
	}))
	_, err = clickhouse.Open(t.Context(), broken.URL)
	broken.Close()
	require.True(t, clickhouse.Retryable(err), "%v", err)
}

// TestRetryableCodesAreClickHouses compares our table of codes with the engine's.
func TestRetryableCodesAreClickHouses(t *testing.T) {
	conn, _ := chtest.Start(t)
	n := 0
	for code := range int32(1100) {
		want, ok := clickhouse.RetryableCode(code)
		if !ok {
			continue
		}
		n++
		var name string
		require.NoError(t, conn.QueryRow(t.Context(), fmt.Sprintf("SELECT errorCodeToName(%d)", code)).Scan(&name))
		require.Equal(t, name, want, code)
		require.Equal(t, strings.ToUpper(name), name)
	}
	require.Greater(t, n, 20)
}
