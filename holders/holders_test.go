package holders

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/chtest"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// tables writes rows as the projectors do, and counts.
type tables struct {
	t       *testing.T
	conn    driver.Conn
	room    *Holders
	touched int
}

func newTables(t *testing.T) *tables {
	conn, _ := chtest.Migrated(t)
	room, err := New(Deps{Store: NewClickHouse(conn, schema.Database), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return &tables{t: t, conn: conn, room: room}
}

func (w *tables) exec(query string, args ...any) {
	w.t.Helper()
	require.NoError(w.t, w.conn.Exec(w.t.Context(), query, args...))
}

// slots enters a chain of slots without a gap.
func (w *tables) slots(from, to uint64, extent int) {
	w.t.Helper()
	w.exec("INSERT INTO mintlake.slots_raw (slot, blockhash, parent_slot, status, balances, version) SELECT number, toString(number), number - 1, 'ingested', ?, 2 FROM numbers(?, ?)",
		extent, from, to-from+1)
}

func (w *tables) created(mint string, slot uint64) {
	w.t.Helper()
	w.exec("INSERT INTO mintlake.token_events_raw (mint, slot, kind) VALUES (?, ?, 'initialize_mint')", mint, slot)
}

// held is an account's state; none is one that is not open.
type held struct {
	owner  string
	amount uint64
}

var none = held{}

func bytesOf(key string) string {
	if key == "" {
		return string(make([]byte, 32))
	}
	raw := pubkey.MustParse(key)
	return string(raw[:])
}

// change enters a fact about an account into the history and into the current state.
func (w *tables) change(mint, account string, slot uint64, before, after held) {
	w.t.Helper()
	w.fact(mint, account, slot, false, before, after)
}

func (w *tables) fact(mint, account string, slot uint64, read bool, before, after held) {
	w.t.Helper()
	w.exec(`INSERT INTO mintlake.balance_changes_raw (mint, account, slot, place, block_time, is_read, open, owner, amount, open_before, owner_before, amount_before)
		VALUES (?, ?, ?, 7, toDateTime(1700000000 + ?), ?, ?, ?, ?, ?, ?, ?)`,
		mint, bytesOf(account), slot, slot, read, after != none, bytesOf(after.owner), after.amount, before != none, bytesOf(before.owner), before.amount)
	w.exec(`INSERT INTO mintlake.token_accounts_raw (mint, account, owner, amount, open, on_curve, position, block_time) VALUES (?, ?, ?, ?, ?, true, bitShiftLeft(toUInt128(?), 64), toDateTime(1700000000 + ?))`,
		mint, bytesOf(account), bytesOf(after.owner), after.amount, after != none, slot, slot)
	w.touch(mint, slot, 0)
}

func (w *tables) touch(mint string, slot, based uint64) {
	w.t.Helper()
	w.touched++
	w.exec("INSERT INTO mintlake.balance_mints_raw (mint, partition, touched, first, based) VALUES (?, 0, ?, ?, ?)", mint, w.touched, slot, based)
}

// count is what the room counted of a mint.
type count struct {
	holders, accounts, balance, top10, holes, since uint64
	complete                                        bool
}

func (w *tables) count(mint string) (c count) {
	w.t.Helper()
	clear(w.room.due) // a machine that is busy counts slowly
	w.room.nextReach, w.room.nextLate = time.Time{}, time.Time{}
	require.NoError(w.t, w.room.Once(w.t.Context()))
	require.NoError(w.t, w.conn.QueryRow(w.t.Context(),
		"SELECT holders, accounts, toUInt64(balance), toUInt64(top10), holes, since_slot, complete FROM mintlake.holder_counts WHERE mint = ?", mint).
		Scan(&c.holders, &c.accounts, &c.balance, &c.top10, &c.holes, &c.since, &c.complete))
	return c
}

func key(n byte) string { return pubkey.Key{n, 31: n}.String() }

// TestCounts: owners are counted, not accounts; what is empty is no holder; vaults of pools are not
// among the ten largest.
func TestCounts(t *testing.T) {
	w := newTables(t)
	mint, alice, bob, pool := key(1), key(2), key(3), key(4)
	w.slots(100, 120, 1)
	w.created(mint, 105)
	w.change(mint, key(10), 105, none, held{alice, 5})
	w.change(mint, key(11), 106, none, held{alice, 7})
	w.change(mint, key(12), 107, none, held{bob, 3})
	w.change(mint, key(13), 108, none, held{bob, 0})
	w.change(mint, key(14), 109, none, held{key(5), 0})
	w.change(mint, key(15), 110, none, held{pool, 85})
	require.Equal(t, count{holders: 3, accounts: 6, balance: 100, top10: 100, since: 105, complete: true}, w.count(mint))

	// A pool that comes after the count is left out of the ten, although nothing else changed.
	w.exec("INSERT INTO mintlake.pools_raw (pool, mint_a, mint_b, venue, vault_a) VALUES (?, ?, ?, 'v', ?)", key(20), mint, key(30), key(15))
	require.Equal(t, count{holders: 3, accounts: 6, balance: 100, top10: 15, since: 105, complete: true}, w.count(mint))
	w.change(mint, key(12), 111, held{bob, 3}, none)
	require.Equal(t, count{holders: 2, accounts: 5, balance: 97, top10: 12, since: 105, complete: true}, w.count(mint))
	require.NoError(t, w.room.Once(t.Context()))

	var owner string
	var amount uint64
	require.NoError(t, w.conn.QueryRow(t.Context(), "SELECT base58Encode(top[2].1), toUInt64(top[2].2) FROM mintlake.holder_counts_raw FINAL WHERE mint = ?", mint).Scan(&owner, &amount))
	require.Equal(t, alice, owner)
	require.EqualValues(t, 12, amount)
	var hours uint64
	require.NoError(t, w.conn.QueryRow(t.Context(), "SELECT holders FROM mintlake.holders_over_time WHERE mint = ?", mint).Scan(&hours))
	require.EqualValues(t, 2, hours)
}

// TestHoles: a change that does not follow from the one before it is counted, and the mint is not
// complete until what was missing comes.
func TestHoles(t *testing.T) {
	w := newTables(t)
	mint, alice, bob := key(1), key(2), key(3)
	w.slots(100, 120, 1)
	w.created(mint, 101)
	w.change(mint, key(10), 101, none, held{alice, 10})
	w.change(mint, key(11), 103, held{bob, 4}, held{bob, 5}) // was never opened
	w.change(mint, key(10), 104, held{alice, 6}, held{alice, 5})
	require.Equal(t, count{holders: 2, accounts: 2, balance: 10, top10: 10, holes: 2, since: 101}, w.count(mint))

	w.change(mint, key(10), 102, held{alice, 10}, held{alice, 6})
	w.change(mint, key(11), 102, none, held{bob, 4})
	// The late facts were stored after the others, and change nothing but the holes.
	require.Equal(t, count{holders: 2, accounts: 2, balance: 10, top10: 10, since: 101, complete: true}, w.count(mint))

	// An owner that one of two sources does not state is no hole.
	w.change(mint, key(10), 106, held{"", 5}, held{"", 4})
	require.True(t, w.count(mint).complete)
	w.change(mint, key(10), 107, held{bob, 4}, held{bob, 3})
	require.True(t, w.count(mint).complete)
	w.change(mint, key(10), 108, held{alice, 3}, held{alice, 2})
	require.Equal(t, uint64(1), w.count(mint).holes, "another owner is")
}

// TestGaps: a mint is complete only if no slot since its creation is missing, and if each of them
// has balances of the same mints.
func TestGaps(t *testing.T) {
	for name, gap := range map[string]func(w *tables){
		"a slot is missing": func(w *tables) { w.slots(100, 105, 1); w.slots(107, 120, 1) },
		"balances were off": func(w *tables) { w.slots(100, 105, 1); w.slots(106, 106, 0); w.slots(107, 120, 1) },
		"another list":      func(w *tables) { w.slots(100, 105, 777); w.slots(106, 120, 888) },
		"never on":          func(w *tables) { w.slots(100, 120, 0) },
		"off since":         func(w *tables) { w.slots(100, 115, 1); w.slots(116, 120, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newTables(t)
			mint, young, alice := key(1), key(9), key(2)
			gap(w)
			w.created(mint, 104)
			w.created(young, 110)
			w.change(mint, key(10), 104, none, held{alice, 10})
			w.change(young, key(11), 110, none, held{alice, 10})
			require.False(t, w.count(mint).complete)
			on := name != "never on" && name != "off since" // at the latest slot
			require.Equal(t, on, w.count(young).complete)

			// A read of all its accounts makes it complete from there on.
			w.fact(mint, key(10), 111, true, held{alice, 10}, held{alice, 8})
			w.touch(mint, 111, 111)
			w.change(mint, key(10), 112, held{alice, 8}, held{alice, 7})
			counted := w.count(mint)
			require.Equal(t, on, counted.complete)
			require.Zero(t, counted.holes)
		})
	}
}

// TestBaseInPages: pages have slots of their own, and blocks go on changing accounts between them.
// The mint is complete from the last page on, with what the blocks and the pages tell, unless a
// slot since the first page is missing, or a change behind the last page does not fit.
func TestBaseInPages(t *testing.T) {
	alice, bob := key(2), key(3)
	old, moved, gone, brief, fresh := key(10), key(11), key(12), key(13), key(14)
	w := newTables(t)
	mint := key(1)
	w.slots(100, 106, 1) // 107 is missing, before the pages, and 112 between them
	w.slots(108, 111, 1)
	w.slots(113, 130, 1)
	w.change(mint, gone, 105, held{alice, 6}, held{alice, 5}) // known, without its opening
	// While pages are read at slots 110 to 115:
	w.change(mint, gone, 111, held{alice, 5}, none)
	w.change(mint, brief, 111, held{bob, 4}, none)           // never known, and on no page
	w.change(mint, moved, 112, held{alice, 9}, held{bob, 8}) // before its page
	w.change(mint, old, 113, held{alice, 3}, held{alice, 2}) // behind its page
	w.change(mint, fresh, 114, none, held{bob, 1})           // behind where its page would be
	w.fact(mint, gone, 110, true, held{alice, 5}, none)
	w.fact(mint, old, 110, true, none, held{alice, 3})
	w.fact(mint, moved, 115, true, none, held{bob, 8})
	based := func(from, to uint64) {
		w.touched++
		w.exec("INSERT INTO mintlake.balance_mints_raw (mint, partition, touched, first, based, based_from) VALUES (?, 0, ?, ?, ?, ?)", mint, w.touched, to, to, from)
	}
	based(110, 115)
	// Behind them:
	w.change(mint, moved, 116, held{bob, 8}, held{bob, 7})
	w.change(mint, brief, 117, none, held{alice, 20})
	want := count{holders: 2, accounts: 4, balance: 30, top10: 30}
	require.Equal(t, want, w.count(mint))
	w.slots(112, 112, 1)
	want.since, want.complete = 115, true
	require.Equal(t, want, w.count(mint))

	w.change(mint, gone, 118, held{alice, 5}, held{alice, 4}) // it was closed
	w.change(mint, key(15), 119, held{bob, 5}, none)          // nobody knew it
	counted := w.count(mint)
	require.Equal(t, uint64(2), counted.holes)
	require.False(t, counted.complete)

	// A later read at one slot makes it complete again.
	w.fact(mint, gone, 120, true, held{alice, 4}, none)
	based(120, 120)
	want.since = 120
	require.Equal(t, want, w.count(mint))
}

// TestLater: a gap that shows after the count, one that is filled, and a creation that comes late
// all tell.
func TestLater(t *testing.T) {
	w := newTables(t)
	mint := key(1)
	w.slots(100, 105, 1)
	w.change(mint, key(10), 104, none, held{key(2), 10})
	require.False(t, w.count(mint).complete)
	w.created(mint, 104)
	w.exec("INSERT INTO mintlake.created_mints_raw (mint, slot) VALUES (?, 104)", mint)
	require.True(t, w.count(mint).complete)
	w.slots(107, 120, 1)
	require.False(t, w.count(mint).complete)
	w.slots(106, 106, 1)
	require.True(t, w.count(mint).complete)

	// A creation without a slot is no reason to count again and again.
	lone := key(9)
	w.created(lone, 0)
	w.exec("INSERT INTO mintlake.created_mints_raw (mint, slot) VALUES (?, 0)", lone)
	w.change(lone, key(11), 110, none, held{key(2), 10})
	require.False(t, w.count(lone).complete)
	late, err := w.room.deps.Store.Late(t.Context())
	require.NoError(t, err)
	require.Empty(t, late)
}

// TestOldHistory: once changes are no longer held, a mint stays complete if it was.
func TestOldHistory(t *testing.T) {
	w := newTables(t)
	mint, never, alice := key(1), key(9), key(2)
	w.slots(100, 120, 1)
	w.created(mint, 101)
	w.created(never, 101)
	w.change(mint, key(10), 101, none, held{alice, 10})
	w.change(mint, key(10), 102, held{alice, 10}, held{alice, 9})
	require.True(t, w.count(mint).complete)
	w.exec("ALTER TABLE mintlake.balance_changes_raw DELETE WHERE slot <= 101 SETTINGS mutations_sync = 2")
	w.change(mint, key(10), 103, held{alice, 9}, held{alice, 8})
	w.change(never, key(11), 103, none, held{alice, 8})
	require.True(t, w.count(mint).complete)
	require.False(t, w.count(never).complete, "nobody knows what its first changes were")
}

// TestDiffer: a complete mint whose balances and withheld fees are not its supply is named.
func TestDiffer(t *testing.T) {
	w := newTables(t)
	right, wrong, alice := key(1), key(9), key(2)
	w.slots(100, 400, 1)
	for _, mint := range []string{right, wrong} {
		w.created(mint, 101)
		w.change(mint, key(10), 101, none, held{alice, 10})
	}
	w.exec("INSERT INTO mintlake.transfers_raw (mint, slot, place, kind, amount, fee) VALUES (?, 101, 1, 'transfer', 10, 3), (?, 102, 1, 'withdraw_withheld', 1, 0)", right, right)
	w.exec("INSERT INTO mintlake.tokens_raw (mint, supply, is_member) VALUES (?, 12, true), (?, 12, true)", right, wrong)
	require.True(t, w.count(right).complete)
	compared, differ, err := w.room.deps.Store.Differ(t.Context(), 10, nil)
	require.NoError(t, err)
	require.Equal(t, 2, compared)
	require.Equal(t, []Difference{{Mint: wrong, AsOf: 101, Missing: "2"}}, differ)
	_, differ, err = w.room.deps.Store.Differ(t.Context(), 1, differ)
	require.NoError(t, err)
	require.Len(t, differ, 1, "it is looked at again")

	// It is told the second time: until then, either side may be behind.
	require.NoError(t, w.room.compare(t.Context()))
	require.Zero(t, testutil.ToFloat64(w.room.metrics.differ))
	require.NoError(t, w.room.compare(t.Context()))
	require.Equal(t, 1.0, testutil.ToFloat64(w.room.metrics.differ))
	w.exec("INSERT INTO mintlake.tokens_raw (mint, supply, is_member) VALUES (?, 10, true)", wrong)
	require.NoError(t, w.room.compare(t.Context()))
	require.Zero(t, testutil.ToFloat64(w.room.metrics.differ))
}

// TestManyMints: a statement takes as many mints as there are in a chunk.
func TestManyMints(t *testing.T) {
	w := newTables(t)
	const mints = chunk + 1
	w.slots(100, 120, 1)
	// Their texts are the longest that keys have.
	w.exec("INSERT INTO mintlake.balance_mints_raw (mint, partition, touched, first) SELECT base58Encode(concat(repeat('\\xff', 30), char(intDiv(number, 256), number))), 0, 4611686018427387904 + number, 100 FROM numbers(?)", mints)
	require.NoError(t, w.room.Once(t.Context()))
	var counted uint64
	require.NoError(t, w.conn.QueryRow(t.Context(), "SELECT count() FROM mintlake.holder_counts").Scan(&counted))
	require.EqualValues(t, mints, counted)
}

// TestAFloodOfMints: new mints, however many, do not delay the count of one that was counted
// before.
func TestAFloodOfMints(t *testing.T) {
	w := newTables(t)
	w.exec("INSERT INTO mintlake.balance_mints_raw (mint, partition, touched, first) SELECT base58Encode(toString(sipHash128(number))), 0, 1, 100 FROM numbers(?)", maxChanged+10)
	w.exec("INSERT INTO mintlake.balance_mints_raw (mint, partition, touched, first) VALUES (?, 0, 2, 100)", key(7))
	w.exec("INSERT INTO mintlake.holder_counts_raw (mint, accounts, touched, counted_at) VALUES (?, 100, 1, now64(3))", key(7))
	changed, err := w.room.deps.Store.Changed(t.Context())
	require.NoError(t, err)
	require.Len(t, changed, maxChanged+1)
	require.True(t, slices.ContainsFunc(changed, func(m Mint) bool { return m.Mint == key(7) && m.Accounts == 100 }))
}

func TestChunks(t *testing.T) {
	var mints []Mint
	for range chunk {
		mints = append(mints, Mint{Mint: "small"})
	}
	mints = append(mints, Mint{Mint: "large", Accounts: alone}, Mint{Mint: "first"})
	parts := (&Holders{}).chunks(mints)
	require.Len(t, parts, 3)
	require.Equal(t, "large", parts[0][0].Mint)
	require.Len(t, parts[1], chunk)
	require.Equal(t, "first", parts[1][0].Mint)
}

// timed is a store whose counts take a time by mint, or fail.
type timed struct {
	Store
	now     time.Time
	takes   map[string]time.Duration
	fails   map[string]bool
	changed []Mint
	counted [][]string
}

func (s *timed) Changed(context.Context) ([]Mint, error) { return slices.Clone(s.changed), nil }
func (s *timed) Late(context.Context) ([]Mint, error)    { return nil, nil }
func (s *timed) Reach(context.Context) (Reach, error)    { return Reach{Whole: 1, Floor: 1}, nil }
func (s *timed) NoteReach(context.Context, Reach) error  { return nil }
func (s *timed) Retryable(error) bool                    { return true }
func (s *timed) Count(_ context.Context, mints []Mint, _ Reach) error {
	var names []string
	for _, m := range mints {
		names = append(names, m.Mint)
		s.now = s.now.Add(s.takes[m.Mint])
		if s.fails[m.Mint] {
			return errors.New("too large")
		}
	}
	s.counted = append(s.counted, names)
	return nil
}

// TestSlowMints: a mint with many changes is counted alone, so it takes a twentieth of the time and
// others do not wait for it; one that cannot be counted does not keep others from it.
func TestSlowMints(t *testing.T) {
	s := &timed{now: time.Unix(0, 0), takes: map[string]time.Duration{"slow": 3 * time.Second}, fails: map[string]bool{}}
	room, err := New(Deps{Store: s, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	room.now = func() time.Time { return s.now }
	round := func(after time.Duration, mints ...string) [][]string {
		s.now, s.counted, s.changed = s.now.Add(after), nil, nil
		for _, m := range mints {
			s.changed = append(s.changed, Mint{Mint: m, Changes: map[string]uint64{"slow": aloneChanges}[m]})
		}
		_ = room.Once(t.Context())
		return s.counted
	}
	require.Equal(t, [][]string{{"slow"}, {"a", "b"}}, round(0, "a", "slow", "b"))
	require.Equal(t, [][]string{{"a", "b"}}, round(59*time.Second, "a", "b", "slow"))
	require.Equal(t, [][]string{{"slow"}, {"a"}}, round(2*time.Second, "a", "slow"))

	s.fails["b"] = true
	require.Empty(t, round(time.Minute, "a", "b"))
	require.Equal(t, [][]string{{"a"}}, round(time.Second, "a", "b"), "one by one")
	require.Equal(t, [][]string{{"a", "c"}}, round(29*time.Second, "a", "b", "c"))
	delete(s.fails, "b")
	require.Equal(t, [][]string{{"b"}}, round(time.Minute, "b"))
	require.Empty(t, room.failed)
}

// TestRoundsRest: whatever a round takes, three quarters of the time are left to others.
func TestRoundsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &resting{timed: timed{changed: slices.Repeat([]Mint{{Mint: "one of many"}}, chunk)}}
		room, err := New(Deps{Store: s, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		time.AfterFunc(time.Hour, cancel)
		require.NoError(t, room.Run(ctx))
		require.InDelta(t, 0.25, s.busy.Hours(), 0.01)
	})
}

// resting is a store whose counts take two seconds, however many mints there are.
type resting struct {
	timed
	busy time.Duration
}

func (s *resting) Count(context.Context, []Mint, Reach) error {
	const takes = 2 * time.Second
	time.Sleep(takes)
	s.busy += takes
	return nil
}

func (s *resting) Differ(context.Context, int, []Difference) (int, []Difference, error) {
	return 0, nil, nil
}
