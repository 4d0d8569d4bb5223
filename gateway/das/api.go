package das

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/mintlake/mintlake/access/internaltoken"
	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// batchMints is how many mints one POST /tokens/batch may have.
const batchMints = 500

// rows is the answer of the token API to a search or to a batch.
type rows struct {
	Items      []token `json:"items"`
	Total      int     `json:"total"`
	NextCursor string  `json:"next_cursor"`
}

// tokens looks mints up in the registry. The map has only the mints that the registry lists.
func (s *Server) tokens(ctx context.Context, mints []pubkey.Key) (map[pubkey.Key]*token, error) {
	found := make(map[pubkey.Key]*token, len(mints))
	for some := range slices.Chunk(mints, batchMints) {
		body, err := json.Marshal(map[string][]pubkey.Key{"mints": some})
		if err != nil {
			return nil, err
		}
		answer := &rows{}
		if err := s.request(ctx, http.MethodPost, "/tokens/batch", body, answer); err != nil {
			return nil, err
		}
		for i := range answer.Items {
			found[answer.Items[i].Mint] = &answer.Items[i]
		}
	}
	return found, nil
}

// rows calls GET /tokens. It leaves out an empty search text q.
func (s *Server) rows(ctx context.Context, query url.Values) (*rows, error) {
	if query.Get("q") == "" {
		query.Del("q")
	}
	answer := &rows{}
	return answer, s.request(ctx, http.MethodGet, "/tokens?"+query.Encode(), nil, answer)
}

// errAbsent means that the API answered 404. It goes to the client, unless the caller of request
// handles it.
var errAbsent = unavailable("the registry's token API does not answer what the gateway asks for: are both of one version?")

// request calls the API, reads its answer into answer, and counts the outcome. Its errors are meant
// for the client, except ctx.Err().
func (s *Server) request(ctx context.Context, method, path string, body []byte, answer any) error {
	began := time.Now()
	outcome := s.roundTrip(ctx, method, path, body, answer)
	if ctx.Err() != nil {
		outcome = "canceled"
	}
	s.metrics.requests.WithLabelValues(outcome).Inc()
	s.metrics.seconds.Observe(time.Since(began).Seconds())
	switch outcome {
	case "ok":
		return nil
	case "absent":
		return errAbsent
	case "canceled":
		return ctx.Err()
	case "limited":
		return unavailable("the registry's token API is at its limit for the gateway: configure api.internal_token at both")
	}
	return unavailable("the registry's token API does not answer: try again")
}

func unavailable(text string) error {
	return &jsonrpc.CallError{Code: message.CodeUnavailable, Status: http.StatusServiceUnavailable, Message: text}
}

// roundTrip makes one request. outcome is a metric label. answer holds the whole answer only if
// outcome is ok.
func (s *Server) roundTrip(ctx context.Context, method, path string, body []byte, answer any) (outcome string) {
	req, err := http.NewRequestWithContext(ctx, method, s.cfg.API+path, bytes.NewReader(body))
	if err != nil {
		return "error"
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "mintlake")
	if s.cfg.Token != "" {
		req.Header.Set(internaltoken.Header, s.cfg.Token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return "connection"
	}
	defer func() { _ = resp.Body.Close() }() // read only
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return "limited"
	case resp.StatusCode == http.StatusNotFound:
		return "absent"
	case resp.StatusCode != http.StatusOK:
		return "status"
	}
	limited := &io.LimitedReader{R: resp.Body, N: s.cfg.maxBytes}
	decoder := json.NewDecoder(limited)
	if err := decoder.Decode(answer); err != nil {
		return "malformed"
	}
	// The answer must end after its JSON value, and before maxBytes.
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) || limited.N == 0 {
		return "malformed"
	}
	return "ok"
}
