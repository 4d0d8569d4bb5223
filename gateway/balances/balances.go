// Package balances answers getTokenSupply and getTokenLargestAccounts from the balances that
// Mintlake keeps.
//
// In: calls of the JSON-RPC gateway; GET /tokens/{mint}/accounts of the token API. Out: the answers
// that a node would give. Guarantees: nothing is guessed. A call is answered here only if it asks
// for commitment confirmed, which is that of the balances, if all accounts of the mint are known,
// and if the mint is of the standard token program: Token-2022 mints may show amounts that differ
// from the raw ones. All other calls go to the upstreams, and so do calls to which the API has no
// answer.
package balances

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/access/internaltoken"
	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	getTokenSupply          = "getTokenSupply"
	getTokenLargestAccounts = "getTokenLargestAccounts"
	// largest is how many accounts a node returns (agave, NUM_LARGEST_ACCOUNTS).
	largest = 20
	// timeout bounds a request to the API. After that, an upstream is asked.
	timeout = 2 * time.Second
	// maxBytes bounds an answer of the API; twenty accounts have some 3 KB.
	maxBytes = 64 << 10
	// maxDecimals is the most decimals for which a node computes uiAmount: it divides by a power of
	// ten in 64 bits, and 10^19 is the highest. Beyond that a node answers null.
	maxDecimals = 19
)

// Config of the methods.
type Config struct {
	// API is the token API's URL, http(s)://host:port. Required.
	API string
	// Token is the token by which the API recognizes the gateway: see access/internaltoken.
	Token string
}

// Deps are the collaborators. Both may be nil.
type Deps struct {
	// Transport sends the requests to the API. By default they go to it directly: a proxy of the
	// environment would read the token.
	Transport  http.RoundTripper
	Registerer prometheus.Registerer
}

// Server answers the methods.
type Server struct {
	cfg     Config
	client  http.Client
	answers *prometheus.CounterVec
}

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Server, error) {
	base, err := url.Parse(cfg.API)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" {
		return nil, errors.New("balances of the gateway: the token API's address must be http(s)://host:port (--rpc-das-api)")
	}
	cfg.API = strings.TrimSuffix(cfg.API, "/")
	s := &Server{cfg: cfg, client: http.Client{
		Transport: deps.Transport, Timeout: timeout,
		// A redirect would send the token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if deps.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.Proxy = nil
		s.client.Transport = transport
	}
	s.answers = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_gateway_balances_total", Help: "Calls about balances, by who answered them: here, or the upstreams and why.",
	}, []string{"outcome"})
	counters.Preset(s.answers, []string{"here", "other_call", "not_complete", "no_answer"})
	return s, counters.Register(deps.Registerer, s.answers)
}

// Methods implements jsonrpc.Local.
func (s *Server) Methods() []string { return []string{getTokenSupply, getTokenLargestAccounts} }

// accounts is the answer of GET /tokens/{mint}/accounts. Items are the accounts with the largest
// amounts, the largest first.
type accounts struct {
	Decimals  int     `json:"decimals"`
	IsToken22 bool    `json:"is_token22"`
	Supply    *string `json:"supply"`
	Items     []struct {
		Account string `json:"account"`
		Amount  string `json:"amount"`
	} `json:"items"`
	// Complete is true if all accounts of the mint are known.
	Complete bool    `json:"complete"`
	AsOfSlot *uint64 `json:"as_of_slot"`
}

// Answer implements jsonrpc.Local.
func (s *Server) Answer(ctx context.Context, method string, params json.RawMessage, _ jsonrpc.Ask) (json.RawMessage, error) {
	result, outcome := s.answer(ctx, method, params)
	s.answers.WithLabelValues(outcome).Inc()
	if result == nil {
		return nil, jsonrpc.ErrElsewhere
	}
	return result, nil
}

// answer returns the result; nil if the upstreams should answer. outcome is a metric label: here,
// or why there is no result.
func (s *Server) answer(ctx context.Context, method string, params json.RawMessage) (result json.RawMessage, outcome string) {
	mint, ok := mintOf(params)
	if !ok {
		return nil, "other_call"
	}
	limit := 1
	if method == getTokenLargestAccounts {
		limit = largest
	}
	held, err := s.ask(ctx, mint, limit)
	switch {
	case err != nil:
		return nil, "no_answer"
	case !held.Complete || held.AsOfSlot == nil || held.Supply == nil || held.IsToken22 || held.Decimals > maxDecimals:
		return nil, "not_complete"
	}
	var value any
	if method == getTokenSupply {
		value, err = amountOf(*held.Supply, held.Decimals)
	} else {
		value, err = held.balances()
	}
	if err == nil {
		result, err = json.Marshal(map[string]any{"context": map[string]uint64{"slot": *held.AsOfSlot}, "value": value})
	}
	if err != nil {
		return nil, "no_answer"
	}
	return result, "here"
}

// mintOf returns the mint of a call that can be answered here: one that names a mint and the
// commitment confirmed, and nothing else.
func mintOf(params json.RawMessage) (mint pubkey.Key, ok bool) {
	var list []json.RawMessage
	var text string
	if json.Unmarshal(params, &list) != nil || len(list) != 2 || json.Unmarshal(list[0], &text) != nil {
		return mint, false
	}
	var config map[string]string
	if json.Unmarshal(list[1], &config) != nil || len(config) != 1 || config["commitment"] != "confirmed" {
		return mint, false
	}
	mint, err := pubkey.Parse(text)
	return mint, err == nil
}

// ask reads the limit largest accounts of a mint from the API.
func (s *Server) ask(ctx context.Context, mint pubkey.Key, limit int) (*accounts, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cfg.API+"/tokens/"+mint.String()+"/accounts?limit="+strconv.Itoa(limit), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "mintlake")
	if s.cfg.Token != "" {
		req.Header.Set(internaltoken.Header, s.cfg.Token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read only
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the token API answers %d", resp.StatusCode)
	}
	held := &accounts{}
	return held, json.NewDecoder(io.LimitReader(resp.Body, maxBytes)).Decode(held)
}

// uiAmount is an amount as nodes show it (agave, UiTokenAmount).
type uiAmount struct {
	UIAmount       float64 `json:"uiAmount"`
	Decimals       int     `json:"decimals"`
	Amount         string  `json:"amount"`
	UIAmountString string  `json:"uiAmountString"`
}

// balance is one account in the answer to getTokenLargestAccounts.
type balance struct {
	Address string `json:"address"`
	uiAmount
}

// balances returns the accounts as nodes show them.
func (a *accounts) balances() ([]balance, error) {
	list := make([]balance, 0, len(a.Items))
	for _, item := range a.Items {
		amount, err := amountOf(item.Amount, a.Decimals)
		if err != nil {
			return nil, err
		}
		list = append(list, balance{item.Account, amount})
	}
	return list, nil
}

// amountOf converts a raw amount: 1500000 with 6 decimals is 1.5.
func amountOf(raw string, decimals int) (uiAmount, error) {
	amount, err := strconv.ParseUint(raw, 10, 64)
	if err != nil || decimals < 0 {
		return uiAmount{}, fmt.Errorf("amount %.40q with %d decimals", raw, decimals)
	}
	text := strconv.FormatUint(amount, 10)
	if decimals > 0 {
		digits := fmt.Sprintf("%0*d", decimals+1, amount)
		point := len(digits) - decimals
		text = strings.TrimSuffix(strings.TrimRight(digits[:point]+"."+digits[point:], "0"), ".")
	}
	return uiAmount{float64(amount) / math.Pow10(decimals), decimals, strconv.FormatUint(amount, 10), cmp.Or(text, "0")}, nil
}
