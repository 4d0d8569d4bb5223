package trades

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Errors of Hub.Open, Stream.Await and Stream.Next.
var (
	ErrTooMany       = errors.New("too many streams on this node")
	ErrTooManyClient = errors.New("too many streams of this client")
	ErrLagged        = errors.New("the reader was too slow")
	ErrClosed        = errors.New("the node stops")
	ErrUnavailable   = errors.New("trades cannot be read now")
)

const (
	// hubBatch and hubWait bound a fetch: a trade waits for hubWait at most.
	hubBatch = 5_000
	hubWait  = 10 * time.Millisecond
	// readerBacklog is how many trades a reader may be behind. All trades of a fetch can be of one
	// mint, and they are all given before its readers run. So a reader may be some fetches behind.
	readerBacklog = 4 * hubBatch
	// readerPiece is the most trades that Next returns.
	readerPiece = 256
	// idle is how long the topic is read on after the last reader has left.
	idle = 30 * time.Second
)

// HubConfig bounds the open streams, of all clients and of one.
type HubConfig struct {
	MaxStreams, MaxPerClient int
	// Networks bounds the streams of all clients in one IPv6 network.
	Networks limits.Networks
}

// HubDeps are the collaborators. Only Registerer may be nil.
type HubDeps struct {
	// Open opens a reader of topics that begins at their present ends.
	Open func(ctx context.Context, topics []string) (kafka.TailReader, error)
	// Price returns the latest price of a whole token in US dollars; nil: unknown.
	Price      func(mint pubkey.Key) *float64
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Hub gives trades to readers as ingest writes them. A trade may come twice, like every record of
// the log: its ID tells that. The trades of a block that was read late come late: their time tells
// that.
type Hub struct {
	cfg     HubConfig
	deps    HubDeps
	metrics *hubMetrics
	wake    chan struct{} // has a signal if a reader came

	mu     sync.Mutex
	closed bool
	// reading is closed while the topic is read. After that, it is replaced.
	reading chan struct{}
	readers map[string]map[*Stream]struct{} // by mint in base58, the key of records
	streams int
	clients *limits.Crowd
}

// Stream is one reader of the trades of one mint.
type Stream struct {
	hub    *Hub
	mint   pubkey.Key
	client string
	once   sync.Once
	// backlog is what Next has not returned yet, oldest first. It is guarded by the hub's lock.
	backlog []*Trade
	came    chan struct{} // has a signal if backlog is not empty
	end     chan struct{} // closed after err is set
	err     error
}

// NewHub registers the metrics.
func NewHub(cfg HubConfig, deps HubDeps) (*Hub, error) {
	h := &Hub{
		cfg: cfg, deps: deps, wake: make(chan struct{}, 1), reading: make(chan struct{}), readers: map[string]map[*Stream]struct{}{},
		clients: limits.NewCrowd(cfg.MaxPerClient, cfg.Networks),
	}
	var err error
	if h.metrics, err = newHubMetrics(deps.Registerer, h); err != nil {
		return nil, fmt.Errorf("trades: %w", err)
	}
	return h, nil
}

// Open begins a stream of a mint's trades from now on. The caller must close it.
func (h *Hub) Open(client string, mint pubkey.Key) (*Stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, ErrClosed
	case h.streams >= h.cfg.MaxStreams:
		h.metrics.ended.WithLabelValues("node_limit").Inc()
		return nil, ErrTooMany
	case h.clients.Full(client):
		h.metrics.ended.WithLabelValues("client_limit").Inc()
		return nil, ErrTooManyClient
	}
	s := &Stream{hub: h, mint: mint, client: client, came: make(chan struct{}, 1), end: make(chan struct{})}
	key := mint.String()
	if h.readers[key] == nil {
		h.readers[key] = map[*Stream]struct{}{}
	}
	h.readers[key][s] = struct{}{}
	h.streams++
	h.clients.Add(client)
	select {
	case h.wake <- struct{}{}:
	default:
	}
	return s, nil
}

// Close ends the stream.
func (s *Stream) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.stop(ErrClosed)
}

// stop ends the stream with an error, once. The caller holds the hub's lock.
func (s *Stream) stop(err error) {
	s.once.Do(func() {
		h, key := s.hub, s.mint.String()
		if delete(h.readers[key], s); len(h.readers[key]) == 0 {
			delete(h.readers, key)
		}
		h.streams--
		h.clients.Remove(s.client)
		s.err = err
		close(s.end)
	})
}

// Await waits until the topic is read, but for patience at most. If reading is true, no trade from
// now on is missed.
func (s *Stream) Await(patience time.Duration) (reading bool, err error) {
	s.hub.mu.Lock()
	begun := s.hub.reading
	s.hub.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-begun:
		return true, nil
	case <-s.end:
		return false, s.err
	case <-timer.C:
		return false, nil
	}
}

// Next waits for trades, but for patience at most, and returns up to readerPiece of them; none
// after patience. It fails with ErrLagged, ErrClosed or ErrUnavailable.
func (s *Stream) Next(patience time.Duration) (list []*Trade, err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.came:
		return s.take(), nil
	case <-s.end:
		return nil, s.err
	case <-timer.C:
		return nil, nil
	}
}

// take returns the oldest trades of the backlog, up to readerPiece.
func (s *Stream) take() []*Trade {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	n := min(len(s.backlog), readerPiece)
	list := s.backlog[:n:n]
	if s.backlog = s.backlog[n:]; len(s.backlog) == 0 {
		s.backlog = nil
	} else {
		s.tell()
	}
	return list
}

// tell wakes the reader. The caller holds the hub's lock.
func (s *Stream) tell() {
	select {
	case s.came <- struct{}{}:
	default:
	}
}

// Run reads the topic while there are readers, until ctx ends; then the streams end with ErrClosed
// and it returns nil.
func (h *Hub) Run(ctx context.Context) error {
	defer h.close()
	delays := backoff.NewExponentialBackOff()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		}
		for h.listened() && ctx.Err() == nil {
			err := h.read(ctx, delays.Reset)
			if err == nil || ctx.Err() != nil {
				break
			}
			h.deps.Logger.Warn("trades are not read, trying again", "topic", schemas.TopicSwaps, "err", err)
			h.end(ErrUnavailable)                    // GET /tokens/{mint}/trades has what they miss
			_ = pause.For(ctx, delays.NextBackOff()) // the loop sees that ctx has ended
		}
	}
}

// listened returns whether there is a reader.
func (h *Hub) listened() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams > 0
}

// close ends all streams, and refuses further ones.
func (h *Hub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end(ErrClosed)
}

// end ends all streams with an error.
func (h *Hub) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, readers := range h.readers {
		for s := range readers {
			s.stop(err)
		}
	}
}

// setReading tells the streams whether the topic is read.
func (h *Hub) setReading(reading bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if reading {
		close(h.reading)
	} else {
		h.reading = make(chan struct{})
	}
}

// read reads the topic from its end on, until there was no reader for the time idle. It calls
// progress after each fetch.
func (h *Hub) read(ctx context.Context, progress func()) error {
	tail, err := h.deps.Open(ctx, []string{schemas.TopicSwaps})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer tail.Close()
	h.setReading(true)
	defer h.setReading(false)
	for last := time.Now(); ; {
		records, err := kafka.FetchWithin(ctx, tail, hubBatch, hubWait, idle)
		if err != nil {
			return err
		}
		progress()
		for i := range records {
			h.give(&records[i])
		}
		if h.listened() {
			last = time.Now()
		} else if time.Since(last) >= idle {
			return nil
		}
	}
}

// give hands a record to the readers of its mint. Each leg has two records, one for each of its
// mints, and the mint is the key. So a record of a mint without readers need not be decoded.
func (h *Hub) give(record *kafka.Record) {
	h.mu.Lock()
	listened := len(h.readers[string(record.Key)]) > 0
	h.mu.Unlock()
	kind := string(record.Header(schemas.HeaderType))
	if !listened || kind != schemas.TypeSwapLegIn && kind != schemas.TypeSwapLegOut {
		return
	}
	leg := new(eventspb.SwapLeg)
	if err := proto.Unmarshal(record.Value, leg); err != nil {
		return // the projector writes a dead letter for it
	}
	trade := h.tradeOf(leg, kind == schemas.TypeSwapLegOut)
	if trade == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.readers[string(record.Key)] {
		if len(s.backlog) >= readerBacklog {
			h.metrics.ended.WithLabelValues("lagged").Inc()
			s.stop(ErrLagged)
			continue
		}
		s.backlog = append(s.backlog, trade)
		s.tell()
		h.metrics.given.Inc()
	}
}

// tradeOf returns a leg as a trade of one of its mints: of the mint that came out of the pool if
// bought is set, else of the other mint. It returns nil for a leg that the list of trades does not
// have either: without a block time, or of a mint with itself.
func (h *Hub) tradeOf(leg *eventspb.SwapLeg, bought bool) *Trade {
	pool, mintIn, mintOut, trader, ok := keysOf(leg)
	if seconds := leg.GetBlockTime(); !ok || bytes.Equal(leg.GetMintIn(), leg.GetMintOut()) || seconds <= 0 || seconds > int64(endOfTrades.time) {
		return nil
	}
	t := &Trade{
		ID:   Cursor{uint32(leg.GetBlockTime()), schemas.PositionOf(leg.GetPosition(), leg.GetSignature())}.String(),
		Time: leg.GetBlockTime() * 1000, Slot: leg.GetPosition().GetSlot(), Signature: signatureOf(leg.GetSignature()), Venue: leg.GetVenue(), Aggregator: known(leg.GetAggregator()),
		Pool: pool.String(), Trader: trader.String(), Side: Sell, QuoteMint: mintOut.String(), Decimals: decimalsOf(leg.DecimalsIn), QuoteDecimals: decimalsOf(leg.DecimalsOut),
	}
	amount, quote, mint, other := leg.GetAmountIn(), leg.GetAmountOut(), mintIn, mintOut
	if bought {
		amount, quote, mint, other = quote, amount, mintOut, mintIn
		t.Side, t.QuoteMint, t.Decimals, t.QuoteDecimals = Buy, mintIn.String(), t.QuoteDecimals, t.Decimals
	}
	t.ValueUSD = worth(h.deps.Price(other), quote, t.QuoteDecimals)
	if t.ValueUSD == nil {
		t.ValueUSD = worth(h.deps.Price(mint), amount, t.Decimals)
	}
	t.Estimated = t.ValueUSD != nil
	t.complete(amount, quote)
	return t
}

// keysOf returns the leg's keys; ok is false if one of them is not 32 bytes.
func keysOf(leg *eventspb.SwapLeg) (pool, mintIn, mintOut, trader pubkey.Key, ok bool) {
	for _, part := range []struct {
		to  *pubkey.Key
		raw []byte
	}{{&pool, leg.GetPool()}, {&mintIn, leg.GetMintIn()}, {&mintOut, leg.GetMintOut()}, {&trader, leg.GetTrader()}} {
		if len(part.raw) != len(part.to) {
			return pool, mintIn, mintOut, trader, false
		}
		copy(part.to[:], part.raw)
	}
	return pool, mintIn, mintOut, trader, true
}
