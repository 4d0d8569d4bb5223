package swap

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
)

// quotedIn remembers in which mint pump's coins are quoted. A coin's curve tells it, also after its
// pool took over, and it never changes. It is safe for concurrent use.
type quotedIn struct {
	known *lru.Cache[venue.Key, quoteOfCoin]
	rpc   RPC
	now   func() time.Time
}

// quoteOfCoin is the mint in which a coin is quoted; zero if that is SOL, or if it has no curve. It
// is asked for again at till, as somebody may make a coin of the mint.
type quoteOfCoin struct {
	in   venue.Key
	till time.Time
}

const (
	mostQuoted = 8192
	// noCurveTTL is how long a mint counts as no coin of pump's, curveTTL how long a coin's quote
	// mint is not asked for again.
	noCurveTTL = time.Minute
	curveTTL   = time.Hour
)

func newQuotedIn(rpc RPC, now func() time.Time) (*quotedIn, error) {
	known, err := lru.New[venue.Key, quoteOfCoin](mostQuoted)
	return &quotedIn{known, rpc, now}, err
}

// find returns the mints in which the coins are quoted, without SOL. It reads the curves that are
// not known by one call.
func (q *quotedIn) find(ctx context.Context, coins ...venue.Key) ([]venue.Key, error) {
	var list, curves, unknown []venue.Key
	for _, coin := range coins {
		kept, ok := q.known.Get(coin)
		if ok && q.now().Before(kept.till) {
			list = append(list, kept.in)
			continue
		}
		curve, err := pumpcurve.Address(coin)
		if err != nil {
			return nil, err
		}
		curves, unknown = append(curves, curve), append(unknown, coin)
	}
	if len(curves) > 0 {
		_, accounts, err := q.rpc.GetMultipleAccounts(ctx, curves, solana.AccountOptions{Commitment: market.Commitment})
		if err != nil {
			return nil, err
		}
		for i, account := range accounts {
			kept := quoteOfCoin{till: q.now().Add(noCurveTTL)}
			if account != nil && account.Owner == pumpcurve.Program {
				kept = quoteOfCoin{pumpcurve.QuoteMint(account.Data), q.now().Add(curveTTL)}
			}
			q.known.Add(unknown[i], kept)
			list = append(list, kept.in)
		}
	}
	var mints []venue.Key
	for _, m := range list {
		if m != (venue.Key{}) {
			mints = append(mints, m)
		}
	}
	return mints, nil
}

// middles returns the mints that a route of a request may go through: the hubs, and the mints in
// which its two tokens are quoted if they are coins of pump's.
func (s *Server) middles(ctx context.Context, r *request) ([]venue.Key, error) {
	if r.onlyDirect {
		return nil, nil
	}
	candidates := append([]venue.Key{}, s.cfg.hubs...)
	if s.covered[pumpcurve.Name] {
		more, err := s.quotedIn.find(ctx, r.source, r.target)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, more...)
	}
	seen := map[venue.Key]bool{r.source: true, r.target: true}
	var list []venue.Key
	for _, m := range candidates {
		if !seen[m] {
			seen[m] = true
			list = append(list, m)
		}
	}
	return list, nil
}
