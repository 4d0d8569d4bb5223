package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/trades"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// buildTrades makes the hub of the streams of trades.
func (s *Server) buildTrades() (err error) {
	streams := s.cfg.Streams
	s.trades, err = trades.NewHub(
		trades.HubConfig{MaxStreams: streams.Max, MaxPerClient: streams.PerClient, Networks: s.cfg.RateLimits.networks()},
		trades.HubDeps{Open: s.openAtEnd, Price: s.priceOf, Logger: s.deps.Logger, Registerer: s.deps.Registerer})
	return err
}

// openAtEnd opens a reader of topics that begins at their present ends.
func (s *Server) openAtEnd(ctx context.Context, topics []string) (kafka.TailReader, error) {
	ends, err := s.deps.Offsets.EndOffsets(ctx, topics)
	if err != nil {
		return nil, fmt.Errorf("read end offsets: %w", err)
	}
	return s.deps.OpenTail(topics, ends)
}

// priceOf returns the price of a whole token of a mint in US dollars; nil if unknown.
func (s *Server) priceOf(mint pubkey.Key) *float64 {
	id, known := s.replica.ID(mint)
	if !known {
		return nil
	}
	if m := s.replica.Market(id); m != nil {
		return m.PriceUSD
	}
	return nil
}

// getTradesStream is GET /trades/stream: the trades of a mint as they come, as Server-Sent Events.
func (s *Server) getTradesStream(c *fiber.Ctx) error {
	mint, err := queryKey(c, "mint")
	if err != nil {
		return err
	}
	if mint == nil {
		return invalid("mint", "absent", "must be the mint whose trades are wanted")
	}
	if s.replica.Lookup(*mint) == nil {
		return unknownMint(mint.String())
	}
	setStreamHeaders(c)
	if c.Method() == fiber.MethodHead {
		return nil
	}
	opened, err := s.trades.Open(s.client(c), *mint)
	if err != nil {
		return refuseTrades(err)
	}
	stream := &tradeStream{server: s, trades: opened, conn: c.Context().Conn()}
	c.Context().SetBodyStreamWriter(stream.run)
	return nil
}

// setStreamHeaders sets the headers of Server-Sent Events.
func setStreamHeaders(c *fiber.Ctx) {
	c.Set(fiber.HeaderContentType, "text/event-stream; charset=utf-8")
	c.Set(fiber.HeaderCacheControl, cacheNever)
	c.Set("X-Accel-Buffering", "no") // nginx would hold events back
}

// refuseTrades returns the answer to an error of trades.Hub.Open.
func refuseTrades(err error) error {
	var e *Error
	switch {
	case errors.Is(err, trades.ErrTooManyClient):
		e = newError(fiber.StatusTooManyRequests, "as many streams are open as one client may have: close one first")
	case errors.Is(err, trades.ErrTooMany):
		e = newError(fiber.StatusServiceUnavailable, "as many streams are open as this node serves: try again later, or another node")
	default:
		e = newError(fiber.StatusServiceUnavailable, "the node stops: try again later, or another node")
	}
	e.headers = []string{fiber.HeaderRetryAfter, "10"}
	return e
}

// tradeStream is one client's stream. It outlives the handler, so it holds nothing of fiber's
// context.
type tradeStream struct {
	server *Server
	trades *trades.Stream
	conn   net.Conn
	buf    []byte
}

// run writes trades until the client leaves or is too slow, the stream is too old, or the node
// stops.
func (s *tradeStream) run(w *bufio.Writer) {
	defer s.trades.Close()
	s.buf = fmt.Appendf(s.buf, "retry: %d\n\n", reconnectAfter)
	if s.flush(w) != nil {
		return
	}
	for begin, opened := time.Now(), false; ; {
		left := s.server.cfg.Streams.MaxAge - time.Since(begin)
		if left <= 0 {
			s.end(w, errAge)
			return
		}
		if err := s.next(&opened, min(heartbeat, left)); err != nil {
			s.end(w, err)
			return
		}
		if s.flush(w) != nil {
			return
		}
	}
}

// next writes the trades that come within patience or, if none come, a comment line as a sign of
// life. Before any trade it writes an event that says that the stream is open: no trade after it is
// missed. opened is true from then on.
func (s *tradeStream) next(opened *bool, patience time.Duration) (err error) {
	if !*opened {
		if *opened, err = s.trades.Await(patience); *opened {
			s.buf = append(s.buf, "event: open\ndata: {}\n\n"...)
			return nil
		}
	}
	var list []*trades.Trade
	if *opened {
		list, err = s.trades.Next(patience)
	}
	for _, trade := range list {
		s.trade(trade)
	}
	if len(list) == 0 {
		s.buf = append(s.buf, ": alive\n\n"...)
	}
	return err
}

// trade writes the event of a trade. Its floats are all finite, so json.Marshal does not fail.
func (s *tradeStream) trade(trade *trades.Trade) {
	data, err := json.Marshal(trade)
	if err != nil {
		s.server.deps.Logger.Warn("trade cannot be written", "err", err)
		return
	}
	s.buf = fmt.Appendf(s.buf, "event: trade\nid: %s\ndata: %s\n\n", trade.ID, data)
}

// end writes a last event with the reason why the stream ends. The client then connects again, and
// reads the trades in between from GET /tokens/{mint}/trades.
func (s *tradeStream) end(w *bufio.Writer, err error) {
	reason, message := "shutdown", "the node stops"
	switch {
	case errors.Is(err, errAge):
		reason, message = "age", "the stream is as old as one may be"
	case errors.Is(err, trades.ErrUnavailable):
		reason, message = "unavailable", "trades cannot be read now"
	case errors.Is(err, trades.ErrLagged):
		reason, message = "lagged", "the client read too slowly"
	}
	s.buf = fmt.Appendf(s.buf, "event: end\ndata: {\"reason\":%q,\"message\":%q}\n\n", reason, message+"; connect again, and read /tokens/{mint}/trades for what came meanwhile")
	_ = s.flush(w)
}

// flush sends what was written. It sets a write deadline of its own: the server's is for a single
// response, and would end every stream.
func (s *tradeStream) flush(w *bufio.Writer) error {
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.server.cfg.WriteTimeout))
	_, err := w.Write(s.buf)
	s.buf = s.buf[:0]
	if err != nil {
		return err // the stream ends, whatever the error is
	}
	return w.Flush()
}
