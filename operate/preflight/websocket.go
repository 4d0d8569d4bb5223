package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/mintlake/mintlake/solana"
)

// maxFrame bounds a message of a WebSocket: a slot has some 100 bytes.
const maxFrame = 64 << 10

// askWebSockets asks each WebSocket for slots.
func (r *run) askWebSockets(ctx context.Context) {
	if !r.cfg.Gateway {
		return
	}
	if len(r.cfg.UpstreamsWS) == 0 {
		r.add(Check{Name: "websocket", State: Unknown, Found: "none is named (--rpc-upstream-ws)",
			Means: "the gateway offers no subscriptions to accounts, programs and logs"})
	}
	for _, endpoint := range r.cfg.UpstreamsWS {
		c := Check{Name: "websocket", Endpoint: solana.Host(endpoint)}
		begin := time.Now()
		slot, err := r.slotOf(ctx, endpoint)
		if err != nil {
			c.State, c.Found, c.Means = Less, said(err), "the gateway's subscriptions to accounts, programs and logs do not work with it"
		} else {
			c.State, c.Found, c.Millis = OK, fmt.Sprintf("told of slot %d", slot), median([]time.Duration{time.Since(begin)})
		}
		r.add(c)
	}
}

// slotOf subscribes to slots and returns the first one.
func (r *run) slotOf(ctx context.Context, endpoint string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Wait)
	defer cancel()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	conn, resp, err := websocket.Dial(ctx, endpoint, &websocket.DialOptions{HTTPClient: client}) //nolint:bodyclose // Dial has closed it
	if err != nil {
		if resp != nil {
			return 0, fmt.Errorf("it answers %d to the handshake", resp.StatusCode)
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		// The error has the URL, which may have a key.
		return 0, errors.New("it cannot be connected to")
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxFrame)
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}`)); err != nil {
		return 0, fmt.Errorf("subscribe: %w", err)
	}
	const most = 100 // messages before the first slot
	for range most {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return 0, fmt.Errorf("wait for a slot: %w", err)
		}
		var message struct {
			Error  *solana.RPCError `json:"error"`
			Params struct {
				Result struct {
					Slot uint64 `json:"slot"`
				} `json:"result"`
			} `json:"params"`
		}
		switch err := json.Unmarshal(raw, &message); {
		case err != nil:
			return 0, fmt.Errorf("a message that is no JSON: %w", err)
		case message.Error != nil:
			return 0, fmt.Errorf("slotSubscribe: %w", message.Error)
		case message.Params.Result.Slot > 0:
			return message.Params.Result.Slot, nil
		}
	}
	return 0, fmt.Errorf("no slot in %d messages", most)
}
