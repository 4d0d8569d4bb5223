// Package bounds says which slots, parents and block times can be true.
//
// In: what sources and upstreams claim: blocks, and slots that are said to be reached by now. Out:
// nil, or an error that wraps ErrImpossible and says what the claim was held against.
// Guarantees: an honest chain is never refused, also with a clock that is minutes wrong, after a
// stop of hours, with a ledger that is old, and at any slot time of slottime.Min or more. A claim
// that is refused changes nothing for later claims of others, but for blocks: when most of the last
// blocks contradict those before, the new ones are believed. Memory is bounded.
//
// The fold never asks it: the fold has no clock, and gives the same registry everywhere. Claims are
// held against bounds where they enter.
package bounds

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/slottime"
)

// ErrImpossible is in the error of every claim that cannot be true.
var ErrImpossible = errors.New("impossible claim")

// ErrAhead is in the error of Read, beside ErrImpossible, if a slot is only far above what all
// others say: they may be behind, all of them.
var ErrAhead = errors.New("far ahead of all others")

// What claims are about: labels of a metric.
const (
	claimSlot   = "slot"
	claimParent = "parent"
	claimTime   = "block_time"
)

const (
	// skew is how far block times and this machine's clock may be apart. A leader may set the time
	// of its block a little ahead, and clocks are minutes wrong.
	skew = time.Hour
	// maxSkipped is how far a parent may be below its block, in slots: four epochs, which last four
	// days at 200 ms. Such a run of skipped slots has never been seen.
	maxSkipped = 4 * 432_000
	// loose is how far above the highest block a lone upstream may be, in slots, beside what the
	// time since the block allows: 20 minutes at 200 ms, as this machine's clock may be wrong.
	loose = 6_000
	// Near is how far above the slots of all others an upstream may be, in slots, beside what the
	// time since allows: half a minute. A node that is 128 slots behind calls itself unhealthy.
	Near = 150
	// fresh is how long a slot that a side has named is held against others.
	fresh = time.Minute
	// lastBlocks is how many blocks the next one is held against; fewer than leastBlocks decide
	// nothing.
	lastBlocks, leastBlocks = 31, 8
	// maxSides bounds the upstreams that are remembered.
	maxSides = 64
)

// began is when the oldest chain began: the first block of mainnet-beta. Devnet and testnet were
// begun anew since.
var began = time.Date(2020, 3, 16, 14, 29, 0, 0, time.UTC)

// released is when this version was made. A clock that shows an earlier time is wrong: released is
// used instead.
var released = time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)

// landmark is a slot and when it was. The ceiling is measured from it.
type landmark struct {
	slot uint64
	at   time.Time
}

// landmarks are slots of known chains, by genesis hash. That of mainnet-beta is the last slot
// before Alpenglow (getAgGenesisCert); slots took 248 ms on average in the weeks before.
var landmarks = map[string]landmark{
	"5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d": {459_652_999, time.Date(2026, 10, 22, 0, 0, 0, 0, time.UTC)},
}

// Deps are the collaborators of Bounds; each may be zero.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Clock is time.Now by default.
	Clock func() time.Time
}

// Bounds holds claims against what is known. Safe for concurrent use. Nil knows nothing but the
// clock.
type Bounds struct {
	deps    Deps
	refused *prometheus.CounterVec

	mu     sync.Mutex
	from   landmark
	blocks []block // the last ones that were claimed, the oldest first
	sides  map[string]seen
	told   time.Time // when the last refusal was logged
	untold int       // refusals since
}

// block is a claim about a block; at is its time.
type block struct {
	slot uint64
	at   int64
	seen time.Time
}

// seen is a slot that a side has named, and when.
type seen struct {
	slot uint64
	when time.Time
}

// New makes bounds that know nothing yet, and registers the metric. A process has one: what one
// room has seen bounds what another may believe.
func New(deps Deps) (*Bounds, error) {
	if deps.Clock == nil {
		deps.Clock = time.Now
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	b := &Bounds{deps: deps, from: landmark{0, began}, sides: map[string]seen{}, refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_impossible_claims_total",
		Help: "Claims of sources and upstreams that cannot be true and were refused, by what they were about.",
	}, []string{"claim"})}
	for _, claim := range []string{claimSlot, claimParent, claimTime} {
		b.refused.WithLabelValues(claim)
	}
	if deps.Registerer == nil {
		return b, nil
	}
	if err := deps.Registerer.Register(b.refused); err != nil {
		return nil, fmt.Errorf("register the metric of impossible claims: %w", err)
	}
	return b, nil
}

// Identity tells the chain's genesis hash. Of a chain that is not known, the ceiling is that of the
// oldest chain.
func (b *Bounds) Identity(genesis pubkey.Key) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.from = landmark{0, began}
	if known, ok := landmarks[genesis.String()]; ok {
		b.from = known
	}
}

func (b *Bounds) now() time.Time {
	if b == nil {
		return time.Now()
	}
	return b.deps.Clock()
}

// Ceiling returns the highest slot that any chain, or the one that Identity told, can have reached.
func (b *Bounds) Ceiling() uint64 {
	if b == nil {
		return ceiling(landmark{0, began}, time.Now())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return ceiling(b.from, b.now())
}

func ceiling(from landmark, now time.Time) uint64 {
	if now.Before(released) {
		now = released
	}
	return from.slot + slottime.Slots(now.Sub(from.at)+skew, slottime.Min)
}

// Slot refuses a slot that no chain can have reached. It is for what may be old: statuses, accounts
// of a stream, requests.
func (b *Bounds) Slot(slot uint64) error {
	if limit := b.Ceiling(); slot > limit {
		return b.refuse(claimSlot, "slot %d: the chain cannot be past %d by now", slot, limit)
	}
	return nil
}

// Read refuses a slot that an upstream says it has reached, if that cannot be: it is far above what
// all others have said. If there are fewer than two others, what it said itself counts as one, and
// the highest block bounds it, with the time since. A slot that is behind is never refused.
// upstream is its name.
func (b *Bounds) Read(upstream string, slot uint64) error {
	if err := b.Slot(slot); err != nil || b == nil {
		return err
	}
	if limit, held := b.reach(upstream, slot); held {
		return b.refuse(claimSlot, "%w: %s says that it has reached slot %d, and by the others the chain cannot be past %d", ErrAhead, upstream, slot, limit)
	}
	return nil
}

// reach returns the highest slot that an upstream may say it has reached, and whether slot is
// beyond. If it is not, reach remembers it.
func (b *Bounds) reach(upstream string, slot uint64) (limit uint64, beyond bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, others := b.now(), 0
	see := func(s seen) {
		if age := now.Sub(s.when); age < fresh {
			others++
			limit = max(limit, s.slot+uint64(max(age, 0)/b.pace())+Near)
		}
	}
	for name, said := range b.sides {
		if name != upstream {
			see(said)
		}
	}
	head, blocks := b.head()
	if blocks {
		see(seen{head.slot, head.seen})
	}
	if others < 2 {
		if own, known := b.sides[upstream]; known {
			see(own) // it cannot outrun what it said itself
		}
		if others < 2 {
			limit = math.MaxUint64
		}
		if blocks {
			limit = min(limit, head.slot+slottime.Slots(now.Sub(time.Unix(head.at, 0)), slottime.Min)+loose)
		}
	}
	if slot > limit {
		return limit, true
	}
	if _, known := b.sides[upstream]; known || len(b.sides) < maxSides {
		b.sides[upstream] = seen{slot, now}
	}
	return limit, false
}

// pace is the shortest slot time that is believed between what two sides say within a minute. Test
// validators make slots in a few milliseconds.
func (b *Bounds) pace() time.Duration {
	if b.from.slot > 0 {
		return slottime.Min
	}
	return slottime.Min / 5
}

// Behind returns whether a slot is far below one that another upstream has named lately.
func (b *Bounds) Behind(upstream string, slot uint64) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, said := range b.sides {
		if name != upstream && b.now().Sub(said.when) < fresh && said.slot > slot+Near {
			return true
		}
	}
	return false
}

// head returns the highest of the last blocks that most others do not contradict; false if there
// are none.
func (b *Bounds) head() (head block, ok bool) {
	for _, one := range b.blocks {
		if (!ok || one.slot > head.slot) && !b.contradicted(one) {
			head, ok = one, true
		}
	}
	return head, ok
}

// Block refuses a block whose slot, parent or time cannot be. parent is nil, and blockTime (Unix
// seconds) 0, if they are not told.
func (b *Bounds) Block(slot uint64, parent *uint64, blockTime int64) error {
	if err := b.Slot(slot); err != nil {
		return err
	}
	switch {
	case parent == nil:
	case *parent >= slot && slot > 0:
		return b.refuse(claimParent, "block %d names %d as its parent, which is not below it", slot, *parent)
	case slot-min(*parent, slot) > maxSkipped:
		return b.refuse(claimParent, "block %d names %d as its parent, which is more than %d slots below it", slot, *parent, maxSkipped)
	}
	if blockTime == 0 {
		return nil
	}
	now := b.now()
	if now.Before(released) {
		now = released
	}
	if blockTime < began.Unix() || blockTime > now.Add(skew).Unix() {
		return b.refuse(claimTime, "block %d has the time %s: must be between %s and now", slot, when(blockTime), began.Format(time.DateOnly))
	}
	if b != nil && b.odd(block{slot, blockTime, now}) {
		return b.refuse(claimTime, "block %d has the time %s, which slots and times of most of the last blocks contradict", slot, when(blockTime))
	}
	return nil
}

// Remember takes a block of the log, which was believed before. It returns false, and takes
// nothing, if no chain can have reached the slot: an earlier version may have believed it.
func (b *Bounds) Remember(slot uint64, blockTime int64) bool {
	now := b.now()
	if slot > b.Ceiling() {
		return false
	}
	if b != nil && blockTime >= began.Unix() && blockTime <= now.Add(skew).Unix() {
		b.odd(block{slot, blockTime, now})
	}
	return true
}

// when returns Unix seconds as text, also where they are no time.
func when(seconds int64) string {
	if seconds < 0 || seconds > 1<<40 {
		return fmt.Sprintf("%d", seconds)
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateTime)
}

// odd returns whether most of the last blocks contradict one. The block is remembered in any case:
// if the next ones agree with it, they are believed.
func (b *Bounds) odd(one block) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	odd := b.contradicted(one)
	for i := range b.blocks { // it is told more than once: by its header, by its events
		if b.blocks[i].slot == one.slot && b.blocks[i].at == one.at {
			return odd
		}
	}
	if len(b.blocks) == lastBlocks {
		b.blocks = append(b.blocks[:0], b.blocks[1:]...)
	}
	b.blocks = append(b.blocks, one)
	return odd
}

// contradicted returns whether most of the last blocks that are below one, or most that are above,
// contradict it. Those below say nothing of a time that is too late, and those above nothing of one
// that is too early.
func (b *Bounds) contradicted(one block) bool {
	var all, against [2]int
	for _, other := range b.blocks {
		side := 0
		if other.slot >= one.slot {
			side = 1
		}
		all[side]++
		if contradict(one, other) {
			against[side]++
		}
	}
	for side := range all {
		if all[side] >= leastBlocks && against[side] > all[side]/2 {
			return true
		}
	}
	return false
}

// contradict returns whether two blocks cannot be of one chain: of the higher one, less time has
// passed than the slots between take. Times may be wrong by skew. How much more time has passed
// says nothing, as a chain may stand still.
func contradict(p, q block) bool {
	if p.slot > q.slot || p.slot == q.slot && p.at < q.at {
		p, q = q, p
	}
	least := time.Duration(q.slot-p.slot) * slottime.Min
	return q.at-p.at < int64((least - skew).Seconds())
}

// refuse counts a refusal, and logs it: at most one a minute, with the number of those before.
func (b *Bounds) refuse(claim, format string, args ...any) error {
	err := fmt.Errorf("%w: "+format, append([]any{ErrImpossible}, args...)...)
	if b == nil {
		return err
	}
	b.refused.WithLabelValues(claim).Inc()
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.untold++; b.told.IsZero() || now.Sub(b.told) >= time.Minute {
		b.deps.Logger.Warn("what a source or an upstream says cannot be true: refused", "err", err, "refusals", b.untold)
		b.told, b.untold = now, 0
	}
	return err
}
