package das

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/internaltoken"
	"github.com/mintlake/mintlake/gateway/jsonrpc"
)

const secret = "0123456789abcdef"

// api stands in for the token API: it has tokens in the order of their mints.
type api struct {
	*httptest.Server
	mints  []string
	rows   map[string]string
	asked  []string // paths with queries
	sorts  []string
	status int
	junk   string
	// owners are answers of GET /owners/{owner}/accounts by path.
	owners map[string]string
}

func newAPI(t *testing.T, tokens int) *api {
	t.Helper()
	a := &api{rows: map[string]string{}}
	for i := range tokens {
		a.add(mint(i), `"symbol":"T`+strconv.Itoa(i)+`","name":"Token `+strconv.Itoa(i)+`","decimals":6,"is_token22":false,"supply":"5"`)
	}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) add(mint, members string) {
	a.rows[mint] = `{"mint":"` + mint + `",` + members + `}`
	a.mints = append(a.mints, mint)
	slices.Sort(a.mints)
}

func mint(i int) string {
	key := make([]byte, 32)
	key[0], key[1], key[2] = 1, byte(i>>8), byte(i)
	return base58.Encode(key)
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked = append(a.asked, r.URL.String())
	switch {
	case a.status != 0:
		w.WriteHeader(a.status)
		return
	case a.junk != "":
		fmt.Fprint(w, a.junk)
		return
	case r.Header.Get(internaltoken.Header) != secret:
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/owners/") {
		text := a.owners[r.URL.Path+"?cursor="+r.URL.Query().Get("cursor")]
		if text == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, text)
		return
	}
	items, more := []json.RawMessage{}, ""
	if r.Method == http.MethodPost {
		var body struct{ Mints []string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		if len(body.Mints) > 500 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, mint := range body.Mints {
			if row := a.rows[mint]; row != "" {
				items = append(items, json.RawMessage(row))
			}
		}
	} else {
		q := r.URL.Query()
		a.sorts = append(a.sorts, q.Get("sort"))
		limit, _ := strconv.Atoi(q.Get("limit"))
		page, _ := strconv.Atoi(q.Get("page"))
		from := (page - 1) * limit
		if q.Get("sort") == "mint" {
			from, _ = slices.BinarySearch(a.mints, q.Get("cursor")+"\x00")
		}
		if limit > 200 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for i := from; i < min(from+limit, len(a.mints)); i++ {
			items = append(items, json.RawMessage(a.rows[a.mints[i]]))
		}
		if q.Get("sort") == "mint" && from+limit < len(a.mints) {
			more = a.mints[from+limit-1]
		}
	}
	answer := map[string]any{"items": items, "total": len(a.mints), "next_cursor": nil}
	if more != "" {
		answer["next_cursor"] = more
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func newServer(t *testing.T, a *api) *Server {
	t.Helper()
	s, err := New(Config{API: a.URL + "/", Token: secret}, Deps{Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	return s
}

// upstream answers what it is asked with result or failure, and remembers the questions.
type upstream struct {
	result  string
	failure *jsonrpc.CallError
	asked   []string
}

func (u *upstream) ask(_ context.Context, method string, params json.RawMessage) (json.RawMessage, *jsonrpc.CallError, error) {
	u.asked = append(u.asked, method+" "+string(params))
	switch {
	case u.failure != nil:
		return nil, u.failure, nil
	case u.result == "":
		return nil, nil, errors.New("away")
	}
	return json.RawMessage(u.result), nil, nil
}

// answer asks s; u may be nil.
func answer(t *testing.T, s *Server, u *upstream, method, params string) (string, error) {
	t.Helper()
	var ask jsonrpc.Ask
	if u != nil {
		ask = u.ask
	}
	result, err := s.Answer(t.Context(), method, json.RawMessage(params), ask)
	return string(result), err
}

func requireCode(t *testing.T, err error, code int, text string) {
	t.Helper()
	var failure *jsonrpc.CallError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, code, failure.Code)
	require.Contains(t, failure.Message, text)
}
