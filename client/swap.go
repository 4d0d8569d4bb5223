package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
)

// SwapQuote has the members of an answer of the swap API that most programs need. Amounts are raw
// units in decimal strings. The API's OpenAPI document describes all members.
type SwapQuote struct {
	SourceMint     string    `json:"src_mint"`
	TargetMint     string    `json:"dst_mint"`
	AmountIn       string    `json:"amount_in"`
	MaxAmountIn    string    `json:"max_amount_in"`
	AmountOut      string    `json:"amount_out"`
	MinAmountOut   string    `json:"min_amount_out"`
	SlippageBPS    int       `json:"slippage_bps"`
	PriceImpactBPS int       `json:"price_impact_bps"`
	Slot           int       `json:"slot"`
	Route          []SwapLeg `json:"route"`
	Warnings       []string  `json:"warnings"`
	// Txn is the transaction in base64, with zeros for its signatures. It is empty if the quote was
	// asked for without a user.
	Txn string `json:"txn"`
	// LastValidBlockHeight is the last block height at which Txn is valid.
	LastValidBlockHeight uint64 `json:"last_valid_block_height"`
}

// SwapLeg is one swap of a route.
type SwapLeg struct {
	Venue      string `json:"venue"`
	Pool       string `json:"pool"`
	SourceMint string `json:"src_mint"`
	TargetMint string `json:"dst_mint"`
	AmountIn   string `json:"amount_in"`
	AmountOut  string `json:"amount_out"`
}

// SwapSent is what became of a swap that was sent. Amounts are raw units in decimal strings.
type SwapSent struct {
	Signature string `json:"signature"`
	// Status is landed, failed, expired or unknown.
	Status string `json:"status"`
	Slot   *int   `json:"slot"`
	// Err is the chain's error; null if there is none.
	Err json.RawMessage `json:"err"`
	// Fee is in lamports.
	Fee       uint64 `json:"fee"`
	AmountIn  string `json:"amount_in"`
	AmountOut string `json:"amount_out"`
	// SlippageBPS is how much worse than quoted the swap executed, in basis points; nil unless it
	// landed.
	SlippageBPS *float64 `json:"slippage_realised_bps"`
}

// QuoteSwap is Quote with the answer parsed.
func (c *Client) QuoteSwap(ctx context.Context, source, destination, amountIn string, slippageBPS int) (*SwapQuote, error) {
	answer, err := c.Quote(ctx, source, destination, amountIn, slippageBPS)
	if err != nil {
		return nil, err
	}
	var quote SwapQuote
	if err := json.Unmarshal(answer, &quote); err != nil {
		return nil, fmt.Errorf("read the quote: %w", err)
	}
	return &quote, nil
}

// Swap is POST /api/v2/swap: a quote with the transaction that user signs. more has further
// parameters of the swap API by name; it may be nil. Swap returns the answer as it came, which Send
// takes, and the answer parsed.
func (c *Client) Swap(ctx context.Context, source, destination, amountIn string, slippageBPS int, user string, more map[string]any) (json.RawMessage, *SwapQuote, error) {
	body := map[string]any{"src_mint": source, "dst_mint": destination, "amount_in": amountIn, "slippage_bps": slippageBPS, "user_account": user}
	for name, value := range more {
		body[name] = value
	}
	answer, err := c.swapAPI(ctx, http.MethodPost, "/api/v2/swap", body)
	if err != nil {
		return nil, nil, err
	}
	var quote SwapQuote
	if err := json.Unmarshal(answer, &quote); err != nil {
		return nil, nil, fmt.Errorf("read the quote: %w", err)
	}
	return answer, &quote, nil
}

// Send is POST /api/v2/send. It sends the transaction of a quote, signed and in base64, and returns
// when the transaction is confirmed or expired. quote is the answer of Swap as it came.
func (c *Client) Send(ctx context.Context, quote json.RawMessage, transaction string) (*SwapSent, error) {
	return c.SendWith(ctx, quote, transaction, nil)
}

// SendWith is Send with further members of the body by name: user_account if others sign too, and
// destination_token_account or native_destination_account if the quote was asked with these.
func (c *Client) SendWith(ctx context.Context, quote json.RawMessage, transaction string, more map[string]any) (*SwapSent, error) {
	body := map[string]any{"quote": quote, "transaction": transaction}
	maps.Copy(body, more)
	answer, err := c.swapAPI(ctx, http.MethodPost, "/api/v2/send", body)
	if err != nil {
		return nil, err
	}
	var sent SwapSent
	if err := json.Unmarshal(answer, &sent); err != nil {
		return nil, fmt.Errorf("read what came of the swap: %w", err)
	}
	return &sent, nil
}

// swapAPI sends a request to the swap API and returns its answer. A body that is not nil is sent as
// JSON.
func (c *Client) swapAPI(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	if c.cfg.SwapURL == "" {
		return nil, errors.New("quotes need the URL of the swap API")
	}
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.cfg.SwapURL+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.cfg.SwapKey != "" {
		request.Header.Set("X-API-KEY", c.cfg.SwapKey)
	}
	response, err := doer{c}.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer json.RawMessage
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read the answer of the swap API: %w", err)
	}
	return answer, nil
}
