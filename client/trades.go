package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mintlake/mintlake/client/rest"
)

// Trades is GET /tokens/{mint}/trades: one page of the trades of a mint, newest first.
func (c *Client) Trades(ctx context.Context, mint string, params *rest.GetTradesParams) (*rest.TradesResponse, error) {
	answer, err := c.REST.GetTradesWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// FollowTrades calls handle for each trade of a mint as it comes. It calls open when the stream is
// open: no trade from then on is missed. It returns nil when the node ends the stream, or the error
// of handle, of ctx, or of the request. A trade may come twice. Trades returns what happens between
// two streams.
func (c *Client) FollowTrades(ctx context.Context, mint string, open func(), handle func(*rest.Trade) error) error {
	request, err := rest.NewStreamTradesRequest(c.cfg.URL, &rest.StreamTradesParams{Mint: mint})
	if err != nil {
		return err
	}
	err = c.stream(ctx, request, func(quiet *time.Timer, body io.Reader) error {
		return readEvents(body, func() { quiet.Reset(quietLimit) }, func(time.Duration) {}, func(e serverEvent) error {
			switch e.kind {
			case "open":
				open()
				return nil
			case "trade":
				trade := new(rest.Trade)
				if err := json.Unmarshal([]byte(e.data), trade); err != nil {
					return fmt.Errorf("read a trade of the stream: %w", err)
				}
				return unhurried(quiet, func() error { return handle(trade) })
			default: // the event "end", and those of later versions
				return nil
			}
		})
	})
	var handled *handlerError
	if errors.As(err, &handled) {
		return handled.error
	}
	return err
}
