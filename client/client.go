// Package client calls a Mintlake node: search, look-ups, history, candles, pools, status, quotes,
// and the change feed.
//
// In: the URL of a token API. Out: what its OpenAPI document describes, as the types of package
// rest, which is generated from it. Guarantees: a refused request (429, or 503 while a node loads)
// is sent again after its Retry-After; a response of another error status is an *Error; the size of
// responses is bounded.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mintlake/mintlake/client/rest"
)

// Config says where a node is and how long to wait for it.
type Config struct {
	// URL is the token API, such as http://127.0.0.1:8080.
	URL string
	// SwapURL is the swap quote API, such as http://127.0.0.1:8081. Only Quote needs it.
	SwapURL string
	// SwapKey is an API key of product swap; empty for none.
	SwapKey string
	// HTTP makes the requests; nil means http.DefaultClient.
	HTTP *http.Client
	// MaxWait bounds the time that a refused request waits to be sent again, the sum of all its
	// waits. If a Retry-After is longer than what is left, the request fails immediately. 0 means a
	// minute; a negative value means that the request never waits.
	MaxWait time.Duration
}

// Client calls one node. Many goroutines may use it at the same time.
type Client struct {
	// REST has every operation of the OpenAPI document with all its parameters and headers. Its
	// errors, retries and bounds are those of Client.
	REST *rest.ClientWithResponses

	cfg  Config
	http *http.Client
}

// New makes a client. It sends no request.
func New(cfg Config) (*Client, error) {
	if cfg.HTTP == nil {
		cfg.HTTP = http.DefaultClient
	}
	cfg.MaxWait = cmp.Or(cfg.MaxWait, time.Minute)
	for name, text := range map[string]string{"URL": cfg.URL, "swap URL": cfg.SwapURL} {
		u, err := url.Parse(text)
		if name == "swap URL" && text == "" {
			continue
		}
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("%s is %.60q: must be http(s)://host:port", name, text)
		}
	}
	cfg.URL, cfg.SwapURL = strings.TrimSuffix(cfg.URL, "/"), strings.TrimSuffix(cfg.SwapURL, "/")
	c := &Client{cfg: cfg, http: cfg.HTTP}
	var err error
	c.REST, err = rest.NewClientWithResponses(cfg.URL, rest.WithHTTPClient(doer{c}))
	return c, err
}

// Error is a response with an error status.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Message is the API's text for people.
	Message string
	// RetryAfter is how long to wait before the next attempt; 0 if the API does not say.
	RetryAfter time.Duration
	// RequestID identifies the request in the node's log.
	RequestID string
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Message) }

// IsNotFound returns whether err is an *Error with status 404: the node does not have what was
// asked for, such as a token.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

// Search is GET /tokens. params may be nil: then Search returns the tokens with the most volume.
func (c *Client) Search(ctx context.Context, params *rest.SearchTokensParams) (*rest.SearchResponse, error) {
	answer, err := c.REST.SearchTokensWithResponse(ctx, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// Token is GET /tokens/{mint}.
func (c *Client) Token(ctx context.Context, mint string, params *rest.GetTokenParams) (*rest.Token, error) {
	answer, err := c.REST.GetTokenWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// MaxBatch is the most mints that Batch takes.
const MaxBatch = 500

// Batch is POST /tokens/batch, with up to MaxBatch mints.
func (c *Client) Batch(ctx context.Context, request rest.BatchRequest) (*rest.BatchResponse, error) {
	answer, err := c.REST.ResolveTokensWithResponse(ctx, nil, request)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// History is GET /tokens/{mint}/history: one page, newest first.
func (c *Client) History(ctx context.Context, mint string, params *rest.GetHistoryParams) (*rest.HistoryResponse, error) {
	answer, err := c.REST.GetHistoryWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// Candles is GET /tokens/{mint}/ohlcv: prices and volumes by intervals, oldest first.
func (c *Client) Candles(ctx context.Context, mint string, params *rest.GetCandlesParams) (*rest.CandlesResponse, error) {
	answer, err := c.REST.GetCandlesWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// Pools is GET /tokens/{mint}/pools: the pools that hold a mint, those that trade most first.
func (c *Client) Pools(ctx context.Context, mint string, params *rest.GetPoolsParams) (*rest.PoolsResponse, error) {
	answer, err := c.REST.GetPoolsWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// Status is GET /status.
func (c *Client) Status(ctx context.Context) (*rest.Status, error) {
	answer, err := c.REST.GetStatusWithResponse(ctx)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// whole returns body, or an error if it is nil. It is nil if the response was no JSON: then another
// server answered.
func whole[T any](body *T) (*T, error) {
	if body == nil {
		return nil, errors.New("the answer is no JSON: this is no token API of Mintlake")
	}
	return body, nil
}

// Quote is GET /api/v2/quote of the swap API. It quotes a swap of amountIn, in raw units of source,
// to destination. It returns the answer as it came.
func (c *Client) Quote(ctx context.Context, source, destination, amountIn string, slippageBPS int) (json.RawMessage, error) {
	query := url.Values{"src_mint": {source}, "dst_mint": {destination}, "amount_in": {amountIn}, "slippage_bps": {fmt.Sprint(slippageBPS)}}
	return c.swapAPI(ctx, http.MethodGet, "/api/v2/quote?"+query.Encode(), nil)
}
