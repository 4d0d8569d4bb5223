package replica

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// volumesAtOnce is how many changed tokens are published per hold of mu, so that the fold need not
// wait until all are published.
const volumesAtOnce = 4_096

// Volume has the figures of a mint that are computed from its swaps. It is not a fact that is
// folded: SetVolumes replaces the figures of all mints at once.
type Volume struct {
	Mint pubkey.Key
	// DailyUSD is the token's daily_volume_usd; nil: none.
	DailyUSD *float64
	// RankUSD is the volume by which tokens are ordered. It is mostly the same as DailyUSD.
	RankUSD *float64
	// LastTradeAt is the block time of its latest leg; the zero time: unknown.
	LastTradeAt time.Time
	// Market is nil for a mint that was not traded in the 24 hours.
	Market *Market
}

// figures are the current figures of one mint.
type figures struct {
	daily, rank *float64
	market      *Market
}

// same ignores the market, which is new in each valuation: a token is not published because of its
// market alone.
func (f figures) same(g figures) bool { return same(f.daily, g.daily) && same(f.rank, g.rank) }

// volumes are the current figures by row id.
type volumes struct {
	current atomic.Pointer[map[uint32]figures]
	// differ is true once a token's rank was another than its daily volume. Then it stays true: the
	// index may still have such ranks.
	differ atomic.Bool

	mu sync.RWMutex
	// lastTrades has the block time of each mint's latest leg, by row id: Unix seconds, 0 for none.
	// A time stays when the mint has no daily figures any more.
	lastTrades []uint32
}

// noteTrade records the time of a mint's leg, and returns whether it is later than all before.
func (v *volumes) noteTrade(number uint32, at time.Time) bool {
	seconds := at.Unix()
	if seconds <= 0 || seconds > 1<<32-1 {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if missing := int(number) + 1 - len(v.lastTrades); missing > 0 {
		v.lastTrades = append(v.lastTrades, make([]uint32, missing)...)
	}
	if v.lastTrades[number] >= uint32(seconds) {
		return false
	}
	v.lastTrades[number] = uint32(seconds)
	return true
}

// lastTrade returns the time of a mint's latest leg in Unix milliseconds; 0 if there is none.
func (v *volumes) lastTrade(number uint32) int64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if int(number) >= len(v.lastTrades) {
		return 0
	}
	return int64(v.lastTrades[number]) * 1000
}

func (v *volumes) of(number uint32) figures {
	current := v.current.Load()
	if current == nil {
		return figures{}
	}
	return (*current)[number]
}

// atLeast returns a filter for tokens with at least that daily volume that also pass another
// filter; nil: there is no other one.
func (v *volumes) atLeast(least float64, passes func(id uint32) bool) func(id uint32) bool {
	current := v.current.Load()
	return func(id uint32) bool {
		daily := (*current)[id].daily
		return daily != nil && *daily >= least && (passes == nil || passes(id))
	}
}

// show sets the token's volume, and LastSeenAt if its latest trade is later. A token without
// FirstSeenAt gets no LastSeenAt: the API shows neither time without the other, and a trade does
// not say when the mint was first seen.
func (v *volumes) show(number uint32, token *registry.Token) {
	token.DailyVolumeUSD = v.of(number).daily
	if at := v.lastTrade(number); at != 0 && token.FirstSeenAt != nil && (token.LastSeenAt == nil || *token.LastSeenAt < at) {
		token.LastSeenAt = &at
	}
}

func same(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

// SetVolumes replaces the figures of all mints. A mint that is missing from list keeps only the
// time of its last trade. The index and the listeners get each token whose volume, rank or last
// trade changed, but not those whose market alone did. The figures of a mint that is not a member
// wait until it becomes one.
func (r *Replica) SetVolumes(list []Volume) {
	s := r.store
	next, changed := make(map[uint32]figures, len(list)), map[uint32]struct{}{}
	differ := false
	var before map[uint32]figures
	if current := s.volumes.current.Load(); current != nil {
		before = *current
	}
	for i := range list {
		number := s.number(list[i].Mint)
		if s.volumes.noteTrade(number, list[i].LastTradeAt) {
			changed[number] = struct{}{}
		}
		if market := list[i].Market; market != nil {
			r.setMint(number, market)
		}
		if of := (figures{list[i].DailyUSD, list[i].RankUSD, list[i].Market}); of != (figures{}) {
			next[number] = of
			differ = differ || !same(of.daily, of.rank)
		}
	}
	for number, figures := range next {
		if !figures.same(before[number]) {
			changed[number] = struct{}{}
		}
	}
	for number := range before {
		if _, ok := next[number]; !ok {
			changed[number] = struct{}{}
		}
	}
	s.volumes.current.Store(&next)
	if differ {
		s.volumes.differ.Store(true)
	}
	// Facts can be folded between the parts.
	for part := range slices.Chunk(slices.Collect(maps.Keys(changed)), volumesAtOnce) {
		s.publish(part)
	}
}

// number returns the row id of a mint, and gives it one if it has none: the mint may become a
// member.
func (s *store) number(mint pubkey.Key) uint32 {
	if number, known := s.table.find(mint); known {
		return number
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.add(mint)
}

// publish gives the index and the listeners these tokens as they are now.
func (s *store) publish(numbers []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, number := range numbers {
		key, _ := s.table.mint(number)
		var extensions []string
		if token := s.tokenOf(number, key, &extensions); token != nil {
			s.pending = append(s.pending, Change{Row: Row{ID: number, Mint: token.Mint, Token: token, Extensions: extensions}, Was: true})
		}
	}
	if s.live || len(s.pending) >= loadingChanges {
		s.flush()
	}
}
