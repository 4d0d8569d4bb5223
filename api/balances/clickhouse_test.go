package balances_test

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api/balances"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

type tables struct {
	conn   driver.Conn
	reader *balances.ClickHouse
}

// TestClickHouse: the tests share tables, which take the longest to make. Each has its own mints.
func TestClickHouse(t *testing.T) {
	conn, dsn := chtest.Migrated(t)
	reader := balances.NewClickHouse(func(ctx context.Context) (driver.Conn, error) { return clickhouse.Open(ctx, chtest.InIndia(dsn)) }, schema.Database)
	defer func() { require.NoError(t, reader.Close()) }()
	for _, test := range []struct {
		name string
		run  func(*testing.T, *tables)
	}{
		{"pages of holders are a ranking", pagesAreARanking},
		{"large mints are ranked as counted", largeMintsAreRankedAsCounted},
		{"kinds of owners", kindsOfOwners},
		{"holders at a slot", holdersAtASlot},
		{"no page waits for sums", noPageWaitsForSums},
		{"wallets", wallets},
		{"transfers", transfers},
		{"counts", counts},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, &tables{conn, reader}) })
	}
}

func (s *tables) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	require.NoError(t, s.conn.Exec(t.Context(), query, args...))
}

// key returns a key on or off the curve.
func key(seed uint64, onCurve bool) pubkey.Key {
	random := rand.New(rand.NewPCG(seed, 32))
	for {
		var k pubkey.Key
		for i := range k {
			k[i] = byte(random.UintN(256))
		}
		if tokenaccount.OnCurve(k) == onCurve {
			return k
		}
	}
}

// state is a token account at a position.
type state struct {
	mint, account, owner pubkey.Key
	amount               uint64
	open                 bool
	slot                 uint64
}

func quoted(k pubkey.Key) string { return "base58Decode('" + k.String() + "')" }

// store writes states into all tables, as the projector does.
func (s *tables) store(t *testing.T, states ...state) {
	t.Helper()
	var accounts, wallets, changes []string
	for _, a := range states {
		place, owner := "0", quoted(a.owner)
		if a.owner.IsZero() {
			owner = "''"
		}
		position := "bitShiftLeft(toUInt128(" + strconv.FormatUint(a.slot, 10) + "), 64)"
		accounts = append(accounts, fmt.Sprintf("('%s', %s, %s, %d, %t, %t, %s, 0)", a.mint, quoted(a.account), owner, a.amount, a.open, tokenaccount.OnCurve(a.owner), position))
		wallets = append(wallets, fmt.Sprintf("('%s', '%s', %s, %d, %t, %s, 0)", a.owner, a.mint, quoted(a.account), a.amount, a.open, position))
		changes = append(changes, fmt.Sprintf("('%s', %s, %d, %s, %t, %s, %d)", a.mint, quoted(a.account), a.slot, place, a.open, owner, a.amount))
	}
	s.exec(t, "INSERT INTO mintlake.token_accounts_raw (mint, account, owner, amount, open, on_curve, position, block_time) VALUES "+strings.Join(accounts, ", "))
	s.exec(t, "INSERT INTO mintlake.wallet_accounts_raw (owner, mint, account, amount, open, position, block_time) VALUES "+strings.Join(wallets, ", "))
	s.exec(t, "INSERT INTO mintlake.balance_changes_raw (mint, account, slot, place, open, owner, amount) VALUES "+strings.Join(changes, ", "))
}

// walk reads all pages.
func (s *tables) walk(t *testing.T, ranking balances.Ranking) (list []balances.Holder, last balances.Ranked) {
	t.Helper()
	for {
		page, err := s.reader.Holders(t.Context(), ranking)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Holders), ranking.Limit)
		list = append(list, page.Holders...)
		if !page.More {
			return list, page
		}
		ranking.After, err = balances.ParseRankCursor(balances.CursorOf(&page.Holders[len(page.Holders)-1]).String())
		require.NoError(t, err)
	}
}

// pagesAreARanking: against a model, with ties, owners of several accounts, closed and empty ones.
func pagesAreARanking(t *testing.T, s *tables) {
	mint, random := pubkey.Key{1}, rand.New(rand.NewPCG(1, 1))
	sums, counts := map[pubkey.Key]uint64{}, map[pubkey.Key]uint64{}
	var states []state
	for i := range uint64(60) {
		a := state{mint: mint, account: pubkey.Key{9, byte(i)}, owner: key(random.Uint64N(25), true), amount: random.Uint64N(4), open: random.UintN(5) > 0, slot: 100 + i}
		states = append(states, a)
		older := a
		older.slot, older.amount, older.open = 50, 7, true
		states = append(states, older) // a copy of before is not counted
		if a.open {
			sums[a.owner] += a.amount
			counts[a.owner]++
		}
	}
	s.store(t, states...)
	var want []balances.Holder
	for owner, sum := range sums {
		if sum > 0 {
			want = append(want, balances.Holder{Owner: owner, Kind: schemas.OwnerWallet, Amount: strconv.FormatUint(sum, 10), Accounts: counts[owner]})
		}
	}
	slices.SortFunc(want, func(a, b balances.Holder) int {
		if sums[a.Owner] != sums[b.Owner] {
			return int(sums[b.Owner]) - int(sums[a.Owner])
		}
		return strings.Compare(string(a.Owner[:]), string(b.Owner[:]))
	})
	for i := range want {
		want[i].Rank = uint64(i) + 1
	}
	for _, limit := range []int{1, 3, 1000} {
		got, last := s.walk(t, balances.Ranking{Mint: mint, Limit: limit})
		require.Equal(t, want, got)
		require.EqualValues(t, len(want), *last.Total)
		require.EqualValues(t, 159, *last.AsOfSlot)
		require.False(t, last.Complete, "never counted")
	}
	page, err := s.reader.Holders(t.Context(), balances.Ranking{Mint: pubkey.Key{2}, Limit: 1})
	require.NoError(t, err)
	require.Empty(t, page.Holders)
	require.Zero(t, *page.Total)
	require.Nil(t, page.AsOfSlot)
}

// largeMintsAreRankedAsCounted: the first pages are those of the count, though accounts changed
// since; behind its owners the accounts are summed up.
func largeMintsAreRankedAsCounted(t *testing.T, s *tables) {
	mint := pubkey.Key{3}
	owners := make([]pubkey.Key, 5)
	var top, states []string
	for i := range owners {
		owners[i] = key(uint64(1000+i), i != 1)
		amount := 100 - i
		states = append(states, fmt.Sprintf("('%s', %s, %s, %d, true, %t, 1)", mint, quoted(pubkey.Key{8, byte(i)}), quoted(owners[i]), amount, i != 1))
		if i < 4 {
			top = append(top, fmt.Sprintf("(%s, %d, %d, %t)", quoted(owners[i]), amount, i+1, i != 1))
		}
	}
	s.exec(t, "INSERT INTO mintlake.token_accounts_raw (mint, account, owner, amount, open, on_curve, position) VALUES "+strings.Join(states, ", "))
	s.exec(t, "INSERT INTO mintlake.holder_counts_raw (mint, holders, accounts, top, created_slot, as_of_slot, counted_at) VALUES ('"+mint.String()+"', 5, 20001, ["+
		strings.Join(top, ", ")+"], 7, 99, now64(3))")
	s.exec(t, "INSERT INTO mintlake.balance_reach_raw (name, whole, floor) VALUES ('balances', 1, 1)")
	page, err := s.reader.Holders(t.Context(), balances.Ranking{Mint: mint, Limit: 2})
	require.NoError(t, err)
	require.EqualValues(t, 5, *page.Total)
	require.Equal(t, balances.Holder{Rank: 2, Owner: owners[1], Kind: schemas.OwnerProgram, Amount: "99", Accounts: 2}, page.Holders[1], "its accounts as counted")
	require.True(t, page.Complete)
	require.EqualValues(t, 7, *page.SinceSlot)
	require.EqualValues(t, 99, *page.AsOfSlot)
	list, _ := s.walk(t, balances.Ranking{Mint: mint, Limit: 2})
	require.Len(t, list, 5)
	for i := range list {
		require.Equal(t, owners[i], list[i].Owner)
		require.EqualValues(t, i+1, list[i].Rank)
	}
	page, err = s.reader.Holders(t.Context(), balances.Ranking{Mint: mint, Limit: 2, Exclude: []string{schemas.OwnerProgram}})
	require.NoError(t, err)
	require.Equal(t, owners[2], page.Holders[1].Owner)
	require.Nil(t, page.Total)
}

// kindsOfOwners: of one page, of what is left out, and at a slot.
func kindsOfOwners(t *testing.T, s *tables) {
	mint := pubkey.Key{4}
	vault := pubkey.Key{7, 4}
	want := map[pubkey.Key]string{
		key(1, true): schemas.OwnerWallet, key(2, false): schemas.OwnerProgram, key(3, false): schemas.OwnerPool, key(4, false): schemas.OwnerCurve,
		key(5, false): schemas.OwnerPool, {}: schemas.OwnerUnknown, pubkey.MustParse(schemas.BurnAddresses()[1]): schemas.OwnerBurn,
	}
	for address, kind := range schemas.VaultAuthorities() {
		want[pubkey.MustParse(address)] = kind
	}
	i := byte(0)
	for owner := range want {
		account := pubkey.Key{7, 100 + i}
		if owner == key(5, false) {
			account = vault
		}
		s.store(t, state{mint: mint, account: account, owner: owner, amount: 1 + uint64(i), open: true, slot: 200})
		i++
	}
	pools := [][3]string{{key(3, false).String(), "orca_whirlpool", ""}, {key(4, false).String(), "pump_curve", ""}, {pubkey.Key{5, 5}.String(), "saber", vault.String()}}
	for _, pool := range pools {
		s.exec(t, "INSERT INTO mintlake.pools_raw (pool, mint_a, mint_b, venue, vault_b) VALUES (?, ?, ?, ?, ?)", pool[0], "another", mint.String(), pool[1], pool[2])
	}
	s.exec(t, "INSERT INTO mintlake.balance_mints_raw (mint, partition, first) VALUES (?, 0, 200)", mint.String())
	list, _ := s.walk(t, balances.Ranking{Mint: mint, Limit: 100})
	require.Len(t, list, len(want))
	for i := range list {
		require.Equal(t, want[list[i].Owner], list[i].Kind, list[i].Owner)
	}
	slot := uint64(200)
	for _, kind := range schemas.OwnerKinds() {
		left := 0
		for _, of := range want {
			if of != kind {
				left++
			}
		}
		for _, at := range []*uint64{nil, &slot} {
			ranking := balances.Ranking{Mint: mint, Limit: 3, Exclude: []string{kind}, Slot: at}
			if at != nil && (kind == schemas.OwnerWallet || kind == schemas.OwnerProgram) {
				_, err := s.reader.Holders(t.Context(), ranking)
				require.ErrorIs(t, err, balances.ErrNeedsNow)
				continue
			}
			list, last := s.walk(t, ranking)
			require.Len(t, list, left, kind)
			require.EqualValues(t, left, *last.Total, kind)
			for i := range list {
				require.NotEqual(t, kind, list[i].Kind)
				require.Equal(t, want[list[i].Owner], list[i].Kind)
			}
		}
	}
}

// holdersAtASlot: an account that closes and one that gets another owner, at each slot.
func holdersAtASlot(t *testing.T, s *tables) {
	mint, a, b := pubkey.Key{5}, key(1, true), key(2, true)
	first, second := pubkey.Key{6, 1}, pubkey.Key{6, 2}
	s.store(t, state{mint, first, a, 10, true, 110}, state{mint, second, b, 5, true, 120}, state{mint, first, b, 7, true, 130}, state{mint, second, pubkey.Key{}, 0, false, 140})
	s.exec(t, "INSERT INTO mintlake.balance_mints_raw (mint, partition, first) VALUES (?, 0, 110)", mint.String())
	for slot, want := range map[uint64]map[pubkey.Key]string{
		110: {a: "10"}, 119: {a: "10"}, 120: {a: "10", b: "5"}, 130: {b: "12"}, 140: {b: "7"}, 200: {b: "7"},
	} {
		list, last := s.walk(t, balances.Ranking{Mint: mint, Limit: 1, Slot: &slot})
		got := map[pubkey.Key]string{}
		for i := range list {
			got[list[i].Owner] = list[i].Amount
		}
		require.Equal(t, want, got, slot)
		require.Equal(t, slot, *last.AsOfSlot)
	}
	for _, slot := range []uint64{0, 109, 201} {
		_, err := s.reader.Holders(t.Context(), balances.Ranking{Mint: mint, Limit: 1, Slot: &slot})
		var outside *balances.OutsideHistory
		require.ErrorAs(t, err, &outside, slot)
		require.Equal(t, balances.OutsideHistory{From: 110, To: 200}, *outside)
	}
	slot := uint64(150)
	_, err := s.reader.Holders(t.Context(), balances.Ranking{Mint: pubkey.Key{99}, Limit: 1, Slot: &slot})
	var outside *balances.OutsideHistory
	require.ErrorAs(t, err, &outside)
	require.Zero(t, outside.To, "nothing was ever stored of it")
}

// noPageWaitsForSums: while a past slot is summed up, others of that kind wait, and no others.
func noPageWaitsForSums(t *testing.T, s *tables) {
	mint, owner, slot := pubkey.Key{25}, key(2577, true), uint64(150)
	s.store(t, state{mint, pubkey.Key{26}, owner, 10, true, 110})
	s.exec(t, "INSERT INTO mintlake.balance_mints_raw (mint, partition, first) VALUES (?, 0, 110)", mint.String())
	past := balances.Ranking{Mint: mint, Limit: 1, Slot: &slot}
	require.NoError(t, s.reader.Summing(t.Context(), func() {
		page, err := s.reader.Holders(t.Context(), balances.Ranking{Mint: mint, Limit: 1})
		require.NoError(t, err)
		require.Len(t, page.Holders, 1)
		held, err := s.reader.Held(t.Context(), owner, "", 1000, nil)
		require.NoError(t, err)
		require.NotEmpty(t, held.Holdings)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.reader.Holders(short, past)
		require.ErrorIs(t, err, clickhouse.ErrUnavailable)
	}))
	page, err := s.reader.Holders(t.Context(), past)
	require.NoError(t, err)
	require.Len(t, page.Holders, 1)
}

// wallets: what a wallet holds, page by page, now and at a slot.
func wallets(t *testing.T, s *tables) {
	owner := key(77, true)
	mints := []pubkey.Key{{10}, {11}, {12}, {13}}
	slices.SortFunc(mints, pubkey.Compare)
	var states []state
	for i, mint := range mints {
		states = append(states, state{mint, pubkey.Key{11, byte(i)}, owner, uint64(i), true, 150}, state{mint, pubkey.Key{12, byte(i)}, owner, 5, true, 160})
	}
	states = append(states, state{mints[3], pubkey.Key{11, 3}, owner, 0, false, 170})
	s.store(t, states...)
	held, err := s.reader.Held(t.Context(), owner, "", 10, nil)
	require.NoError(t, err)
	require.EqualValues(t, 4, held.Total)
	require.Equal(t, []balances.Holding{{mints[0], "5", 2}, {mints[1], "6", 2}, {mints[2], "7", 2}, {mints[3], "5", 1}}, held.Holdings)
	paged, err := s.reader.Held(t.Context(), owner, mints[0].String(), 2, nil)
	require.NoError(t, err)
	require.Equal(t, held.Holdings[1:3], paged.Holdings)
	slot := uint64(155)
	past, err := s.reader.Held(t.Context(), owner, "", 10, &slot)
	require.NoError(t, err)
	require.Equal(t, []balances.Holding{{mints[1], "1", 1}, {mints[2], "2", 1}, {mints[3], "3", 1}}, past.Holdings)
	slot = 3
	_, err = s.reader.Held(t.Context(), owner, "", 10, &slot)
	var outside *balances.OutsideHistory
	require.ErrorAs(t, err, &outside)
	nobody, err := s.reader.Held(t.Context(), key(78, true), "", 10, nil)
	require.NoError(t, err)
	require.Empty(t, nobody.Holdings)
}

// transfers: newest first, each once, whatever copies there are and where pages end.
func transfers(t *testing.T, s *tables) {
	mint, other, from, to := pubkey.Key{20}, pubkey.Key{21}, key(81, true), key(82, true)
	row := func(slot, place uint64, kind, amount string, seconds int) {
		for range 2 { // delivered twice
			s.exec(t, fmt.Sprintf("INSERT INTO mintlake.transfers_raw (mint, slot, place, block_time, signature, kind, from_account, from_owner, to_owner, amount, decimals)"+
				" VALUES ('%s', %d, %d, %d, repeat('s', 64), '%s', %s, %s, %s, %s, 6)", mint, slot, place, seconds, kind, quoted(pubkey.Key{1}), quoted(from), quoted(to), amount))
			for owner, in := range map[pubkey.Key]bool{from: false, to: true} {
				partner := from
				if !in {
					partner = to
				}
				s.exec(t, fmt.Sprintf("INSERT INTO mintlake.wallet_transfers_raw (owner, slot, place, signature, is_in, mint, block_time, kind, account, other, amount, decimals)"+
					" VALUES ('%s', %d, %d, repeat('s', 64), %t, '%s', %d, '%s', %s, %s, %s, 6)", owner, slot, place, in, mint, seconds, kind, quoted(pubkey.Key{1}), quoted(partner), amount))
			}
		}
	}
	// The same instruction by a source that knows its transaction's index in the block.
	const knownIndex = 1 << 63
	row(500, 5<<24, "transfer", "10", 1000)
	row(500, 6<<24, "burn", "20", 1000)
	row(501, 1<<24, "transfer", "NULL", 1010)
	row(502, 1<<24, "transfer", "30", 1020)
	row(502, 1<<24|knownIndex, "transfer", "30", 1020)
	read := func(filter balances.Filter, limit int) (slots []uint64) {
		var before balances.MoveCursor
		for {
			list, err := s.reader.Transfers(t.Context(), mint, filter, before, limit)
			require.NoError(t, err)
			for i := range list {
				slots = append(slots, list[i].Slot)
			}
			if len(list) < limit {
				return slots
			}
			before, err = balances.ParseMoveCursor(balances.MoveCursorOf(&list[limit-1]).String())
			require.NoError(t, err)
		}
	}
	for _, limit := range []int{1, 2, 3, 100} {
		require.Equal(t, []uint64{502, 501, 500, 500}, read(balances.Filter{}, limit), limit)
	}
	require.Equal(t, []uint64{501, 500, 500}, read(balances.Filter{To: time.Unix(1020, 0)}, 1))
	require.Equal(t, []uint64{502, 501}, read(balances.Filter{From: time.Unix(1010, 0)}, 100))
	require.Equal(t, []uint64{500}, read(balances.Filter{Kind: "burn"}, 2))
	require.Equal(t, []uint64{502, 500}, read(balances.Filter{Minimum: 20}, 100))
	list, err := s.reader.Transfers(t.Context(), mint, balances.Filter{Kind: "burn"}, balances.MoveCursor{}, 1)
	require.NoError(t, err)
	amount := uint64(20)
	list[0].BlockTime = list[0].BlockTime.UTC()
	require.Equal(t, balances.Movement{
		Mint: mint, Slot: 500, Place: 6 << 24, BlockTime: time.Unix(1000, 0).UTC(), Signature: [64]byte([]byte(strings.Repeat("s", 64))), Kind: "burn",
		FromAccount: pubkey.Key{1}, FromOwner: from, ToOwner: to, Amount: &amount, Decimals: 6,
	}, list[0])

	wallet := func(owner pubkey.Key, filter balances.Filter) []balances.Movement {
		list, err := s.reader.WalletTransfers(t.Context(), owner, filter, balances.MoveCursor{}, 100)
		require.NoError(t, err)
		return list
	}
	require.Len(t, wallet(from, balances.Filter{}), 4)
	self := key(83, true) // gives to itself, so each of its transfers has two rows
	for _, place := range []uint64{1 << 24, 1<<24 | knownIndex, 2 << 24, 2<<24 | knownIndex | 7<<40, 3 << 24} {
		for _, in := range []bool{false, true} {
			s.exec(t, fmt.Sprintf("INSERT INTO mintlake.wallet_transfers_raw (owner, slot, place, signature, is_in, mint, kind, account, other, amount, decimals)"+
				" VALUES ('%s', 510, %d, repeat('t', 64), %t, '%s', 'transfer', %s, %s, 1, 6)", self, place, in, mint, quoted(pubkey.Key{1}), quoted(self)))
		}
	}
	for owner, rows := range map[pubkey.Key]int{from: 4, self: 6} {
		var paged []balances.Movement
		for before := (balances.MoveCursor{}); ; before = balances.MoveCursorOf(&paged[len(paged)-1]) {
			page, err := s.reader.WalletTransfers(t.Context(), owner, balances.Filter{}, before, 1)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
		}
		require.Len(t, paged, rows)
		require.Equal(t, wallet(owner, balances.Filter{}), paged)
	}
	require.Empty(t, wallet(from, balances.Filter{Direction: "in"}))
	require.Empty(t, wallet(from, balances.Filter{Mint: &other}))
	got := wallet(to, balances.Filter{Direction: "in", Mint: &mint, Kind: "burn"})
	require.Len(t, got, 1)
	require.Equal(t, []pubkey.Key{{}, from, {1}, to}, []pubkey.Key{got[0].FromAccount, got[0].FromOwner, got[0].ToAccount, got[0].ToOwner})
	require.True(t, got[0].In)
	kept, err := s.reader.KeptFrom(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 500, kept)
	page, err := s.reader.WalletTransfers(t.Context(), to, balances.Filter{}, balances.MoveCursorOf(&got[0]), 100)
	require.NoError(t, err)
	require.Len(t, page, 1)
}

// counts: the last of each mint, those since a time, and what they were a day ago.
func counts(t *testing.T, s *tables) {
	a, b := pubkey.Key{30}, pubkey.Key{31}
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	count := func(mint pubkey.Key, holders int, at time.Time) {
		s.exec(t, "INSERT INTO mintlake.holder_counts_raw (mint, holders, top10, balance, counted_at) VALUES (?, ?, 40, 100, ?)", mint.String(), holders, at)
		s.exec(t, "INSERT INTO mintlake.holder_counts_1h_raw (mint, hour, holders, as_of_slot) VALUES (?, ?, ?, ?)", mint.String(), at.Truncate(time.Hour), holders, at.Unix())
	}
	count(a, 10, at.Add(-30*time.Hour))
	count(b, 5, at.Add(-2*time.Hour))
	count(a, 11, at.Add(-25*time.Hour))
	count(a, 20, at)
	var set []replica.HolderCount
	var changes []replica.HolderChange
	poller := balances.Poller{Reader: s.reader, Set: func(list []replica.HolderCount) { set = append(set, list...) }, SetChanges: func(list []replica.HolderChange) { changes = list }}
	now := time.Now()
	require.NoError(t, poller.Poll(t.Context(), now))
	of := func(mint pubkey.Key) (last *replica.HolderCount) {
		for i := range set {
			if set[i].Mint == mint {
				last = &set[i]
			}
		}
		return last
	}
	require.Equal(t, &replica.HolderCount{Mint: a, Holders: 20, Top10: 40, Balance: 100}, of(a))
	require.EqualValues(t, 5, of(b).Holders)
	slices.SortFunc(changes, func(a, b replica.HolderChange) int { return pubkey.Compare(a.Mint, b.Mint) })
	eleven, cut := uint64(11), at.Add(-24*time.Hour)
	require.Equal(t, []replica.HolderChange{{Mint: a, Before: &eleven, Cut: cut}, {Mint: b, Cut: cut}}, changes)

	set = nil
	count(b, 6, time.Now().Add(time.Hour))
	count(b, 7, time.Now().Add(2*time.Hour))
	require.NoError(t, poller.Poll(t.Context(), now.Add(time.Minute)))
	require.EqualValues(t, 7, of(b).Holders)
	require.Nil(t, of(a), "it was not counted again")
	points, err := s.reader.Points(t.Context(), a, at.Add(-29*time.Hour), at.Add(time.Hour), 10)
	require.NoError(t, err)
	require.Equal(t, []balances.Point{{at.Add(-25 * time.Hour).Unix(), 11}, {at.Unix(), 20}}, points)
	points, err = s.reader.Points(t.Context(), a, time.Unix(0, 0), at, 1)
	require.NoError(t, err)
	require.EqualValues(t, 11, points[0].Holders)
}

// TestVaultAuthorities derives the addresses.
func TestVaultAuthorities(t *testing.T) {
	known := schemas.VaultAuthorities()
	for _, seed := range [][3]string{
		{"675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8", "amm authority", schemas.OwnerPool},
		{"CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C", "vault_and_lp_mint_auth_seed", schemas.OwnerPool},
		{"cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG", "pool_authority", schemas.OwnerPool},
		{"LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj", "vault_auth_seed", schemas.OwnerCurve},
		{"dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN", "pool_authority", schemas.OwnerCurve},
	} {
		authority, ok := tokenaccount.Derive(pubkey.MustParse(seed[0]), []byte(seed[1]))
		require.True(t, ok)
		require.Equal(t, seed[2], known[authority.String()], authority)
		delete(known, authority.String())
	}
	require.Empty(t, known)
}

// FuzzCursors: what is no cursor is refused and never panics.
func FuzzCursors(f *testing.F) {
	f.Add(balances.CursorOf(&balances.Holder{Rank: 1, Amount: "2"}).String())
	f.Add(balances.MoveCursorOf(&balances.Movement{Slot: 1}).String())
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := balances.ParseRankCursor(text); err == nil {
			again, err := balances.ParseRankCursor(c.String())
			require.NoError(t, err)
			require.Equal(t, c.String(), again.String())
		}
		if c, err := balances.ParseMoveCursor(text); err == nil {
			again, err := balances.ParseMoveCursor(c.String())
			require.NoError(t, err)
			require.Equal(t, c, again)
		}
	})
}

// TestCursorsOfLargeAmounts: an amount of 128 bits keeps all its digits.
func TestCursorsOfLargeAmounts(t *testing.T) {
	most := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)).String()
	cursor := balances.CursorOf(&balances.Holder{Rank: 7, Amount: most, Owner: pubkey.Key{1}})
	again, err := balances.ParseRankCursor(cursor.String())
	require.NoError(t, err)
	require.Equal(t, cursor, again)
}
