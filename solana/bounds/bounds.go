// Package bounds says which slots, parents and block times can be true.
//
// In: what sources and upstreams claim: blocks, and slots that are said to be reached by now. Out:
// nil, or an error that wraps ErrImpossible and says what contradicts the claim. Guarantees: an
// honest chain is never refused, also with a clock that is minutes wrong, after a stop of hours,
// with a ledger that is old, and at any slot time of slottime.Min or more. A claim that is refused
// does not change how later claims are judged, unless it is about a block: when most of the last
// blocks contradict those before, the new ones are believed. Memory is bounded.
//
// The fold never uses this package: the fold has no clock, and gives the same registry everywhere.
// Claims are checked where they enter the process.
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

// ErrImpossible is wrapped by the error of every claim that cannot be true.
var ErrImpossible = errors.New("impossible claim")

// ErrAhead is wrapped by an error of Read, beside ErrImpossible, if the slot is refused only
// because it is far above what all others say. All others may be behind, so the claim may be true.
var ErrAhead = errors.New("far ahead of all others")

// What a claim is about: the values of the metric's label claim.
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
	// loose is how many slots a lone upstream may be above the highest block, beyond what the time
	// since that block allows. It is 20 minutes at 200 ms, because this machine's clock may be
	// wrong.
	loose = 6_000
	// Near is how many slots an upstream may be above all others, beyond what the time since their
	// claims allows: half a minute at 200 ms. It is somewhat more than 128, the number of slots
	// behind at which a node calls itself unhealthy.
	Near = 150
	// fresh is how long the slot that an upstream has named bounds the slots of others.
	fresh = time.Minute
	// lastBlocks is how many of the last blocks a new block is compared with. Fewer than
	// leastBlocks of them above it, or below it, decide nothing.
	lastBlocks, leastBlocks = 31, 8
	// maxSides bounds the number of upstreams that are remembered.
	maxSides = 64
)

// began is when the oldest chain began: the time of the first block of mainnet-beta. Devnet and
// testnet have been restarted since.
var began = time.Date(2020, 3, 16, 14, 29, 0, 0, time.UTC)

// released is when this version was made. A clock that shows an earlier time is wrong: released is
// used instead.
var released = time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)

// landmark is a slot and the time at which its chain reached it. The ceiling is measured from it.
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

// Bounds checks claims against what is known of the chain. It is safe for concurrent use. A nil
// *Bounds checks them against the clock alone.
type Bounds struct {
	deps    Deps
	refused *prometheus.CounterVec

	mu     sync.Mutex
	from   landmark        // the ceiling is computed from it
	blocks []block         // the last blocks that were claimed, the oldest first
	sides  map[string]seen // by upstream
	told   time.Time       // when the last refusal was logged
	untold int             // how many refusals came since told
}

// block is a claim about a block. at is its block time in Unix seconds, and seen when the claim was
// made.
type block struct {
	slot uint64
	at   int64
	seen time.Time
}

// seen is the slot that an upstream has named last, and when.
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

// Identity sets the chain's genesis hash. If the chain has no landmark, its ceiling is that of the
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

// Ceiling returns the highest slot that the chain can have reached by now. Before Identity is
// called, it is the highest slot of any chain.
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

// Slot returns an error for a slot above Ceiling. It has no lower bound, so it is for slots that
// may be old: those of slot statuses and accounts that a stream sends, and those in clients'
// requests.
func (b *Bounds) Slot(slot uint64) error {
	if limit := b.Ceiling(); slot > limit {
		return b.refuse(claimSlot, "slot %d: the chain cannot be past %d by now", slot, limit)
	}
	return nil
}

// Read returns an error if the slot that an upstream claims to have reached is far above what all
// others name. The others are the upstreams that named a slot within the last minute, and the
// highest of the last blocks. If there are fewer than two others, the upstream's own last slot
// counts as one, and the highest block bounds the claim with the time that has passed since the
// block. Read never refuses a slot that is behind. upstream is the upstream's name.
func (b *Bounds) Read(upstream string, slot uint64) error {
	if err := b.Slot(slot); err != nil || b == nil {
		return err
	}
	if limit, beyond := b.reach(upstream, slot); beyond {
		return b.refuse(claimSlot, "%w: %s says that it has reached slot %d, and by the others the chain cannot be past %d", ErrAhead, upstream, slot, limit)
	}
	return nil
}

// reach returns the highest slot that an upstream may claim to have reached, and whether slot is
// above it. If slot is not above, reach remembers it as the upstream's last.
func (b *Bounds) reach(upstream string, slot uint64) (limit uint64, beyond bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, others := b.now(), 0
	raiseBy := func(s seen) { // raises limit to what s allows by now
		if age := now.Sub(s.when); age < fresh {
			others++
			limit = max(limit, s.slot+uint64(max(age, 0)/b.pace())+Near)
		}
	}
	for name, said := range b.sides {
		if name != upstream {
			raiseBy(said)
		}
	}
	head, blocks := b.head()
	if blocks {
		raiseBy(seen{head.slot, head.seen})
	}
	if others < 2 {
		if own, known := b.sides[upstream]; known {
			raiseBy(own) // its own last slot counts as one of the others
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

// pace returns the slot time with which the age of another claim is converted to slots: the
// shortest one that is believed. A chain without a landmark may be a test validator, which makes a
// slot in a few milliseconds.
func (b *Bounds) pace() time.Duration {
	if b.from.slot > 0 {
		return slottime.Min
	}
	return slottime.Min / 5
}

// Behind reports whether a slot is more than Near below one that another upstream has named within
// the last minute.
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

// head returns the highest of the last blocks that contradicted does not refuse; false if there is
// none.
func (b *Bounds) head() (head block, ok bool) {
	for _, one := range b.blocks {
		if (!ok || one.slot > head.slot) && !b.contradicted(one) {
			head, ok = one, true
		}
	}
	return head, ok
}

// Block returns an error if the slot, the parent or the time of a block cannot be true. If the
// source does not tell them, parent is nil and blockTime (Unix seconds) is 0.
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

// Remember takes in a block of the log, which was checked when it was written. It returns false and
// ignores the block if the slot is above Ceiling: an earlier version may have accepted it.
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

// when formats Unix seconds as a time, or as a number if they are no plausible time.
func when(seconds int64) string {
	if seconds < 0 || seconds > 1<<40 {
		return fmt.Sprintf("%d", seconds)
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateTime)
}

// odd reports whether most of the last blocks contradict the block claimed. It remembers claimed in
// any case: if the next blocks agree with claimed, they become the majority and are believed.
func (b *Bounds) odd(claimed block) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	odd := b.contradicted(claimed)
	for i := range b.blocks { // one block is claimed several times: in its header, in its events
		if b.blocks[i].slot == claimed.slot && b.blocks[i].at == claimed.at {
			return odd
		}
	}
	if len(b.blocks) == lastBlocks {
		b.blocks = append(b.blocks[:0], b.blocks[1:]...)
	}
	b.blocks = append(b.blocks, claimed)
	return odd
}

// contradicted reports whether most of the last blocks below a block contradict it, or most of
// those above it. Lower blocks can only show that its time is too early, and higher ones only that
// it is too late. So the two sides are counted apart.
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

// contradict reports whether two blocks cannot be of one chain, because less time lies between them
// than the slots between them take. Times may be wrong by skew. More time is no contradiction,
// because a chain may stand still.
func contradict(p, q block) bool {
	if p.slot > q.slot || p.slot == q.slot && p.at < q.at {
		p, q = q, p
	}
	least := time.Duration(q.slot-p.slot) * slottime.Min
	return q.at-p.at < int64((least - skew).Seconds())
}

// refuse counts a refusal and returns its error. It logs at most one refusal a minute, with the
// number of refusals since the last log line.
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
