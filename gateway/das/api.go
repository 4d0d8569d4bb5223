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

// tokens looks mints up. Mints that are not in the registry are missing in the map.
func (s *Server) tokens(ctx context.Context, mints []pubkey.Key) (map[pubkey.Key]*token, error) {
	found := make(map[pubkey.Key]*token, len(mints))
	for some := range slices.Chunk(mints, batchMints) {
		body, err := json.Marshal(map[string][]pubkey.Key{"mints": some})
		if err != nil {
			return nil, err
		}
		answer, err := s.request(ctx, http.MethodPost, "/tokens/batch", body)
		if err != nil {
			return nil, err
		}
		for i := range answer.Items {
			found[answer.Items[i].Mint] = &answer.Items[i]
		}
	}
	return found, nil
}

// rows calls GET /tokens.
func (s *Server) rows(ctx context.Context, query url.Values) (*rows, error) {
	if query.Get("q") == "" {
		query.Del("q")
	}
	return s.request(ctx, http.MethodGet, "/tokens?"+query.Encode(), nil)
}

// request calls the API and counts the outcome. Its errors are meant for the client, except the end
// of ctx.
func (s *Server) request(ctx context.Context, method, path string, body []byte) (*rows, error) {
	began := time.Now()
	answer, outcome := s.roundTrip(ctx, method, path, body)
	if ctx.Err() != nil {
		outcome = "canceled"
	}
	s.metrics.requests.WithLabelValues(outcome).Inc()
	s.metrics.seconds.Observe(time.Since(began).Seconds())
	switch outcome {
	case "ok":
		return answer, nil
	case "canceled":
		return nil, ctx.Err()
	case "limited":
		return nil, unavailable("the registry's token API is at its limit for the gateway: configure api.internal_token at both")
	}
	return nil, unavailable("the registry's token API does not answer: try again")
}

func unavailable(text string) error {
	return &jsonrpc.CallError{Code: message.CodeUnavailable, Status: http.StatusServiceUnavailable, Message: text}
}

// roundTrip makes one request. outcome is a metric label; answer is set if outcome is ok.
func (s *Server) roundTrip(ctx context.Context, method, path string, body []byte) (answer *rows, outcome string) {
	req, err := http.NewRequestWithContext(ctx, method, s.cfg.API+path, bytes.NewReader(body))
	if err != nil {
		return nil, "error"
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "mintlake")
	if s.cfg.Token != "" {
		req.Header.Set(internaltoken.Header, s.cfg.Token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, "connection"
	}
	defer func() { _ = resp.Body.Close() }() // read only
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return nil, "limited"
	case resp.StatusCode != http.StatusOK:
		return nil, "status"
	}
	limited := &io.LimitedReader{R: resp.Body, N: s.cfg.maxBytes}
	decoder := json.NewDecoder(limited)
	answer = &rows{}
	if err := decoder.Decode(answer); err != nil {
		return nil, "malformed"
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) || limited.N == 0 {
		return nil, "malformed"
	}
	return answer, "ok"
}
