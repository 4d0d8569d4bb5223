package state

import (
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// listed is what a snapshot has of a pair. It is immutable except answer.
type listed struct {
	entries []*entry
	// complete says that no known pool of the pair is missing. asked says that all pools of the
	// pair are known, as it was asked for and listed.
	complete, asked bool
	// answer is the last answer of Pair. Hot pairs are asked for many times a slot, and pairs of
	// two hubs by the quotes of all tokens.
	answer atomic.Pointer[answer]
}

// answer is what Pair found in a snapshot. It holds in all snapshots of that slot with the same
// version: these differ only in other pairs. It has no pointer to the snapshot, which would keep
// that in memory.
type answer struct {
	slot, version uint64
	at            time.Time
	found         *market.Snapshot
	err           error
}

// entry is a pool's state at one slot. It is immutable except decoded.
type entry struct {
	venue string
	ref   venue.Ref
	// needs are the accounts that the pool needs. Only their keys may be read, because the Fold
	// changes the histories. own are the accounts of the first len(own) of needs, which are the
	// pool's own.
	needs []*history
	own   []*solana.Account
	slot  uint64
	// decoded is the pool. It is decoded when it is first needed.
	decoded atomic.Pointer[decoded]
}

// decoded is a pool that was decoded from an entry and from shared, which are accounts outside the
// entry. version is that of the last snapshot that had these accounts.
type decoded struct {
	shared  []*account
	version uint64
	pool    venue.Pool
	err     error
}

// account is an account that a pool needs but that is not its own: a mint, a config. It is
// immutable except memo.
type account struct {
	*solana.Account
	memo venue.Memo
}
