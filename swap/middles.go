package swap

import (
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mintlake/mintlake/internal/sharedcall"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
)

// quotedIn remembers in which mint each of pump's coins is quoted. The coin's curve account tells
// this mint. It never changes, and the account is there even after the coin has moved to a pool.
// find waits for the curve only if nothing is known of the coin, or if it had no such mint at the
// last read, and that answer expired noCurveTTL ago or earlier. Otherwise it answers from memory,
// which calls in the background keep up to date. It is safe for concurrent use.
type quotedIn struct {
	rpc   RPC
	log   *slog.Logger
	now   func() time.Time
	known *lru.Cache[venue.Key, quoteOfCoin]
	// reading shares the call for a coin among those that ask for it.
	reading sharedcall.Group[venue.Key]
	// failures counts the calls that failed.
	failures atomic.Uint64
}

// quoteOfCoin is what is known of a coin. in is the mint in which it is quoted, zero if that is SOL
// or if the coin has no curve. At till the curve is read again.
type quoteOfCoin struct {
	in   venue.Key
	till time.Time
}

const (
	// mostQuoted is how many coins are remembered.
	mostQuoted = 8192
	// The TTLs are how long a curve is not read again: noCurveTTL if the coin had none, curveTTL if
	// it had one, and noAnswerTTL after a call that failed.
	noCurveTTL  = time.Minute
	curveTTL    = time.Hour
	noAnswerTTL = 5 * time.Second
	// curvePatience bounds a call.
	curvePatience = 8 * time.Second
)

func newQuotedIn(rpc RPC, log *slog.Logger, now func() time.Time) (*quotedIn, error) {
	known, err := lru.New[venue.Key, quoteOfCoin](mostQuoted)
	return &quotedIn{rpc: rpc, log: log, now: now, known: known}, err
}

// find returns the mints in which the coins are quoted, without SOL. It leaves out a coin whose
// curve cannot be read and of which nothing is known. If ctx ends while it waits, it returns none.
func (q *quotedIn) find(ctx context.Context, coins ...venue.Key) []venue.Key {
	var list []venue.Key
	var waits []sharedcall.Call[venue.Key]
	for _, coin := range coins {
		now := q.now()
		kept, known := q.known.Get(coin)
		// A curve never changes, but a coin may get one later. So the answer that it has none
		// counts only for a while.
		if known && kept.in.IsZero() && now.Sub(kept.till) >= noCurveTTL {
			known = false
		}
		if known && !kept.in.IsZero() {
			list = append(list, kept.in)
		}
		if known && now.Before(kept.till) {
			continue
		}
		if call := q.begin(ctx, coin); !known {
			waits = append(waits, call)
		}
	}
	for _, call := range waits {
		in, err := call.Wait(ctx)
		if err != nil {
			return nil
		}
		if !in.IsZero() {
			list = append(list, in)
		}
	}
	return list
}

// begin begins to read the curve of a coin.
func (q *quotedIn) begin(ctx context.Context, coin venue.Key) sharedcall.Call[venue.Key] {
	return q.reading.Begin(ctx, string(coin[:]), curvePatience, func(ctx context.Context) (venue.Key, error) { return q.ask(ctx, coin), nil })
}

// ask reads the curve of a coin, remembers in which mint the coin is quoted, and returns that. If
// the call fails, what was known stays.
func (q *quotedIn) ask(ctx context.Context, coin venue.Key) venue.Key {
	kept, known := q.known.Get(coin)
	if known && q.now().Before(kept.till) {
		return kept.in // another call read it meanwhile
	}
	in, ttl, err := q.read(ctx, coin)
	if err != nil {
		in, ttl = kept.in, noAnswerTTL
		if n := q.failures.Add(1); bits.OnesCount64(n) == 1 { // sampled
			q.log.Warn("a curve cannot be read: routes go through the mint in which its coin is quoted only if that is known", "mint", coin.String(), "failures", n, "err", err)
		}
	}
	q.known.Add(coin, quoteOfCoin{in, q.now().Add(ttl)})
	return in
}

// read reads a coin's curve. It returns the mint in which the coin is quoted, and how long this
// answer is valid. mint is zero if the coin is quoted in SOL, or if there is no curve.
func (q *quotedIn) read(ctx context.Context, coin venue.Key) (mint venue.Key, ttl time.Duration, err error) {
	curve, err := pumpcurve.Address(coin)
	if err != nil {
		return mint, 0, err
	}
	_, accounts, err := q.rpc.GetMultipleAccounts(ctx, []pubkey.Key{curve}, solana.AccountOptions{Commitment: market.Commitment})
	switch {
	case err != nil:
		return mint, 0, fmt.Errorf("read a curve: %w", err)
	case accounts[0] == nil || accounts[0].Owner != pumpcurve.Program:
		return mint, noCurveTTL, nil
	}
	return pumpcurve.QuoteMint(accounts[0].Data), curveTTL, nil
}

// middles returns the mints that a route of a request may go through: the hubs and, unless
// r.onlyHubs is set, the mints in which its two tokens are quoted if they are coins of pump's.
func (s *Server) middles(ctx context.Context, r *request) []venue.Key {
	if r.onlyDirect {
		return nil
	}
	hubs := s.hubs()
	list := make([]venue.Key, 0, len(hubs)+2)
	add := func(middles []venue.Key) {
		for _, m := range middles {
			if m != r.source && m != r.target && !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
	}
	add(hubs)
	if s.covered[pumpcurve.Name] && !r.onlyHubs {
		coins := make([]venue.Key, 0, 2)
		for _, mint := range []venue.Key{r.source, r.target} {
			if !slices.Contains(hubs, mint) { // a hub is no coin of pump's
				coins = append(coins, mint)
			}
		}
		add(s.quotedIn.find(ctx, coins...))
	}
	return list
}
