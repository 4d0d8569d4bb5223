package chtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A query that gets no answer is asked again with its whole body; one that is refused is not.
func TestRepeating(t *testing.T) {
	var asked atomic.Int32
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		switch n := asked.Add(1); {
		case n == 1:
			<-r.Context().Done() // a query that stands still until its client leaves
		case n == 2:
			panic(http.ErrAbortHandler) // an engine that ends
		case strings.HasPrefix(string(body), "refused"):
			http.Error(w, "no", http.StatusBadRequest)
		default:
			_, _ = w.Write(append([]byte("ran "), body...))
		}
	}))
	defer engine.Close()
	server := repeating(strings.TrimPrefix(engine.URL, "http://"), 50*time.Millisecond)
	defer server.Close()
	ask := func(query string) (int, string) {
		response, err := http.Post(server.URL, "", strings.NewReader(query))
		require.NoError(t, err)
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(answer)
	}
	status, answer := ask("INSERT")
	require.Equal(t, "ran INSERT", answer)
	require.Equal(t, http.StatusOK, status)
	require.EqualValues(t, 3, asked.Load())
	status, _ = ask("refused")
	require.Equal(t, http.StatusBadRequest, status)
	require.EqualValues(t, 4, asked.Load())
}
