package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/steady"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/slottime"
)

const (
	// RebroadcastHeader asks, if it is true, to send the request's transactions again until they
	// are confirmed or expired. The answer to a single sendTransaction has this header, too, with
	// one of the outcomes below.
	RebroadcastHeader = "X-Mintlake-Rebroadcast"
	// maxRebroadcasts and rebroadcastsPerKey bound the transactions that are sent again.
	maxRebroadcasts    = 512
	rebroadcastsPerKey = 64
	// blockhashBlocks is how many blocks a blockhash is valid for (MAX_PROCESSING_AGE of agave).
	blockhashBlocks = 150
	// rebroadcastAge is the age at which a rebroadcast ends at the latest, also if no upstream
	// returns the block height. It is the time of blockhashBlocks blocks if a slot takes 400 ms and
	// every second slot is skipped.
	rebroadcastAge = 4 * blockhashBlocks * slottime.Default
	// resendsAtOnce bounds the transactions that are sent again at one time.
	resendsAtOnce = 16
	// statusesPerCall is getSignatureStatuses' own limit.
	statusesPerCall = 256
)

// Outcomes of asking for a rebroadcast: values of RebroadcastHeader in the answer. rebroadcastFull
// is a metric label, too.
const (
	rebroadcastAccepted = "accepted"
	rebroadcastFull     = "full"
	rebroadcastNone     = "none" // the transaction was refused, or cannot be read
)

// rebroadcast is a transaction that is sent again until it is confirmed or expired.
type rebroadcast struct {
	signature, key string
	task           *task
	since          time.Time
	// expires is a block height at which its blockhash is surely no longer valid: the first height
	// that was read, plus blockhashBlocks + 1. It is 0 until a height is known.
	expires uint64
	// landed says that the upstreams, when last asked, had a status for the transaction that was
	// not confirmed yet. While this is so, the transaction is not sent again.
	landed bool
}

// rebroadcasts has the transactions that are sent again, by signature. keys has their number for
// each API key, by the key's id.
type rebroadcasts struct {
	mu   sync.Mutex
	all  map[string]*rebroadcast
	keys map[string]int

	ended   *prometheus.CounterVec
	resends prometheus.Counter
	waiting prometheus.GaugeFunc
}

func newRebroadcasts() *rebroadcasts {
	r := &rebroadcasts{all: map[string]*rebroadcast{}, keys: map[string]int{}}
	r.ended = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_gateway_rpc_rebroadcasts_total", Help: "Transactions that were to be sent again, by what came of it.",
	}, []string{"outcome"})
	r.resends = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "mintlake_gateway_rpc_resends_total", Help: "Times that a transaction was sent again, once for each upstream.",
	})
	r.waiting = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_gateway_rpc_rebroadcasts", Help: "Transactions that are sent again until they are confirmed or expired.",
	}, func() float64 { return float64(len(r.list())) })
	counters.Preset(r.ended, []string{"confirmed", "expired", rebroadcastFull})
	return r
}

func (r *rebroadcasts) collectors() []prometheus.Collector {
	return []prometheus.Collector{r.ended, r.resends, r.waiting}
}

// add adds a transaction, unless there are too many, and returns the outcome. A transaction that
// was added before is accepted and stays as it is.
func (r *rebroadcasts) add(b *rebroadcast) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.all[b.signature] != nil:
		return rebroadcastAccepted
	case len(r.all) >= maxRebroadcasts, r.keys[b.key] >= rebroadcastsPerKey:
		r.ended.WithLabelValues(rebroadcastFull).Inc()
		return rebroadcastFull
	}
	r.all[b.signature] = b
	r.keys[b.key]++
	return rebroadcastAccepted
}

// end removes a transaction and counts the outcome: confirmed or expired.
func (r *rebroadcasts) end(b *rebroadcast, outcome string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, b.signature)
	if r.keys[b.key]--; r.keys[b.key] == 0 {
		delete(r.keys, b.key)
	}
	r.ended.WithLabelValues(outcome).Inc()
}

func (r *rebroadcasts) list() []*rebroadcast {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.all))
}

// wantsRebroadcast reads RebroadcastHeader: true, false, or no header for false.
func wantsRebroadcast(r *http.Request) (bool, error) {
	switch r.Header.Get(RebroadcastHeader) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, errors.New(RebroadcastHeader + " must be true or false")
}

// rebroadcast adds the transaction of a sendTransaction, whose answer was got or err, and returns
// the outcome. It also adds a transaction of which nobody knows whether it was accepted
// (unknownError), but not one that upstreams refused or did not get.
func (g *Gateway) rebroadcast(req *request, c *message.Call, got *answer, err error) string {
	var unknown *unknownError
	if err != nil && !errors.As(err, &unknown) || err == nil && got.failure != nil {
		return rebroadcastNone
	}
	sent := readTransaction(c.Params)
	if sent == nil {
		return rebroadcastNone
	}
	params, err := sent.again()
	if err != nil {
		return rebroadcastNone
	}
	t, err := newTask(&message.Call{Version: "2.0", ID: json.RawMessage("1"), Method: c.Method, Params: params}, nil)
	if err != nil {
		return rebroadcastNone
	}
	return g.rebroadcasts.add(&rebroadcast{signature: sent.signature, key: req.pass.ID(), task: t, since: time.Now()})
}

// rebroadcastAll sends, every rebroadcastInterval until ctx ends, all transactions again that are
// neither confirmed nor expired.
func (g *Gateway) rebroadcastAll(ctx context.Context) {
	ticker := time.NewTicker(rebroadcastInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if list := g.rebroadcasts.list(); len(list) > 0 {
			g.lastCall.Store(steady.Now()) // so that upstreams are polled for their slots
			g.rebroadcastOnce(ctx, list)
		}
	}
}

// rebroadcastOnce ends the transactions that are confirmed or expired, and sends the others again
// that have not landed.
func (g *Gateway) rebroadcastOnce(ctx context.Context, list []*rebroadcast) {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.attemptTimeout)
	defer cancel()
	for some := range slices.Chunk(list, statusesPerCall) {
		g.learnStatuses(ctx, some)
	}
	var height uint64
	if result, failure, err := g.askUpstreams(ctx, "getBlockHeight", json.RawMessage(`[{"commitment":"processed"}]`)); err == nil && failure == nil {
		_ = json.Unmarshal(result, &height) // without a height nothing expires by it
	}
	var sends errgroup.Group
	sends.SetLimit(resendsAtOnce)
	for _, b := range g.rebroadcasts.list() { // without those that learnStatuses ended
		if b.expires == 0 && height > 0 {
			b.expires = height + blockhashBlocks + 1
		}
		switch {
		case b.expires > 0 && height >= b.expires, time.Since(b.since) > rebroadcastAge:
			g.rebroadcasts.end(b, "expired")
		case !b.landed:
			sends.Go(func() error { g.resend(ctx, b); return nil })
		}
	}
	_ = sends.Wait() // resend has no error
}

// learnStatuses asks for the statuses of transactions. It ends those that are confirmed and records
// which of the others have landed.
func (g *Gateway) learnStatuses(ctx context.Context, list []*rebroadcast) {
	signatures := make([]string, len(list))
	for i, b := range list {
		signatures[i] = b.signature
	}
	params, err := json.Marshal([]any{signatures})
	if err != nil {
		return
	}
	result, failure, err := g.askUpstreams(ctx, "getSignatureStatuses", params)
	var answer struct {
		Value []*struct {
			Status string `json:"confirmationStatus"`
		} `json:"value"`
	}
	if err != nil || failure != nil || json.Unmarshal(result, &answer) != nil || len(answer.Value) != len(list) {
		return // the next round asks again
	}
	for i, status := range answer.Value {
		b := list[i]
		b.landed = status != nil
		if status != nil && (status.Status == string(solana.Confirmed) || status.Status == string(solana.Finalized)) {
			g.rebroadcasts.end(b, "confirmed")
		}
	}
}

// resend sends a transaction to SendUpstreams upstreams. Their answers are ignored, because
// learnStatuses reads the transaction's status.
func (g *Gateway) resend(ctx context.Context, b *rebroadcast) {
	order := g.pool.choose(b.task.level, 0)
	var all sync.WaitGroup
	for _, u := range order[:min(g.cfg.SendUpstreams, len(order))] {
		all.Go(func() {
			g.rebroadcasts.resends.Inc()
			o := g.ask(ctx, u, b.task)
			o.drop()
		})
	}
	all.Wait()
}
