package balances

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func key(kind, n byte) pubkey.Key { return pubkey.Key{kind, n, 31: 1} }

// world makes random changes of accounts and keeps what they lead to.
type world struct {
	random   *rand.Rand
	accounts map[account]state
	slot     uint64
}

// step changes an account and returns the record of the fact.
func (w *world) step(t *testing.T) kafka.Record {
	w.slot++
	register := account{key(1, byte(w.random.IntN(3))), key(2, byte(w.random.IntN(12)))}
	before := w.accounts[register]
	after := state{open: true, owner: key(3, byte(w.random.IntN(5))), amount: w.random.Uint64N(100)}
	switch {
	case before.open && w.random.IntN(4) == 0:
		after = state{}
	case before.open && w.random.IntN(3) > 0:
		after.owner = before.owner
	}
	w.accounts[register] = after
	return w.record(t, register, before, after)
}

func (w *world) record(t *testing.T, register account, before, after state) kafka.Record {
	message := func(s state) *eventspb.BalanceState {
		if !s.open {
			return nil
		}
		return &eventspb.BalanceState{Amount: s.amount, Owner: s.owner[:]}
	}
	value, err := proto.Marshal(&eventspb.BalanceChanges{
		Slot: w.slot, BlockTime: 1_700_000_000 + int64(w.slot), Mint: register.mint[:],
		Changes: []*eventspb.BalanceChange{{
			Place: schemas.EndOfTransaction(w.slot, 5).Order, Account: register.key[:], Before: message(before), After: message(after),
		}},
	})
	require.NoError(t, err)
	return kafka.Record{Topic: schemas.TopicBalances, Offset: int64(w.slot), Value: value}
}

// TestAnyOrder: facts that are stored in any order, in batches of any size and with repeats, leave
// the state that they led to.
func TestAnyOrder(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, order := range []string{"forwards", "backwards", "shuffled and repeated"} {
		w := world{random: random, accounts: map[account]state{}}
		var records []kafka.Record
		for range 400 {
			records = append(records, w.step(t))
		}
		switch order {
		case "backwards":
			slices.Reverse(records)
		case "shuffled and repeated":
			records = append(records, records[:100]...)
			random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		}
		for _, table := range []string{tableChanges, tableAccounts, tableHoldings, tableMints} {
			require.NoError(t, conn.Exec(t.Context(), "TRUNCATE TABLE "+schema.Database+"."+table))
		}
		store := NewClickHouse(conn, schema.Database)
		for chunk := range slices.Chunk(records, 1+random.IntN(150)) {
			batch := NewBatch()
			for i := range chunk {
				require.NoError(t, batch.Add(&chunk[i]))
			}
			require.NoError(t, store.Insert(t.Context(), batch))
		}
		t.Run(order, func(t *testing.T) { requireState(t, conn, w.accounts) })
	}
}

type holdingRow struct {
	owner, mint, account string
	amount               uint64
}

// requireState compares the views of current balances with the accounts.
func requireState(t *testing.T, conn driver.Conn, accounts map[account]state) {
	t.Helper()
	var want []holdingRow
	sums := map[[2]string]uint64{}
	for register, s := range accounts {
		if s.open {
			want = append(want, holdingRow{s.owner.String(), register.mint.String(), register.key.String(), s.amount})
			sums[[2]string{register.mint.String(), s.owner.String()}] += s.amount
		}
	}
	for _, view := range []string{"token_accounts", "wallet"} {
		rows, err := conn.Query(t.Context(), "SELECT owner, mint, account, amount FROM "+schema.Database+"."+view)
		require.NoError(t, err)
		var got []holdingRow
		for rows.Next() {
			var row holdingRow
			require.NoError(t, rows.Scan(&row.owner, &row.mint, &row.account, &row.amount))
			got = append(got, row)
		}
		require.NoError(t, rows.Err())
		require.ElementsMatch(t, want, got, view)
	}
	for at, amount := range sums {
		var sum uint64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT toUInt64(sum(amount)) FROM "+schema.Database+".holders WHERE mint = ? AND owner = ?", at[0], at[1]).Scan(&sum))
		require.Equal(t, amount, sum)
	}
}

// TestAtSlot: the views of the past equal the state at that slot.
func TestAtSlot(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	w := world{random: rand.New(rand.NewPCG(3, 4)), accounts: map[account]state{}}
	batch := NewBatch()
	past := map[uint64]map[account]state{}
	for range 200 {
		record := w.step(t)
		require.NoError(t, batch.Add(&record))
		if w.slot%50 == 0 {
			past[w.slot] = map[account]state{}
			for register, s := range w.accounts {
				past[w.slot][register] = s
			}
		}
	}
	require.NoError(t, NewClickHouse(conn, schema.Database).Insert(t.Context(), batch))
	for slot, accounts := range past {
		held := map[[2]pubkey.Key]uint64{}
		for register, s := range accounts {
			held[[2]pubkey.Key{register.mint, s.owner}] += s.amount
		}
		for at, amount := range held {
			require.Equal(t, amount, one(t, conn, "SELECT toUInt64(sum(amount)) FROM mintlake.holders_at(mint = '"+at[0].String()+"', slot = ?) WHERE owner = ?", slot, ownerText(at[1])), "holders at %d", slot)
			require.Equal(t, amount, one(t, conn, "SELECT toUInt64(sum(amount)) FROM mintlake.wallet_at(owner = '"+ownerText(at[1])+"', slot = ?) WHERE mint = ?", slot, at[0].String()), "wallet at %d", slot)
		}
	}
}

func ownerText(owner pubkey.Key) string { return text(owner) }

func one(t *testing.T, conn driver.Conn, query string, args ...any) (n uint64) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// TestTransfersByMintAndWallet: a transfer is one row of its mint, and one of each wallet.
func TestTransfersByMintAndWallet(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	amount, from, to, mint := uint64(7), key(3, 1), key(3, 2), key(1, 1)
	value, err := proto.Marshal(&eventspb.Transfers{
		Slot: 9, BlockTime: 1_700_000_000, Mint: mint[:], Decimals: 6,
		Transfers: []*eventspb.Transfer{
			{Place: 5, Signature: make([]byte, 64), Kind: eventspb.TransferKind_TRANSFER_KIND_MOVE, FromAccount: from[:], FromOwner: from[:], ToAccount: to[:], ToOwner: to[:], Amount: &amount},
			{Place: 6, Signature: make([]byte, 64), Kind: eventspb.TransferKind_TRANSFER_KIND_BURN, FromAccount: from[:], FromOwner: from[:]},
		},
	})
	require.NoError(t, err)
	batch := NewBatch()
	require.NoError(t, batch.Add(&kafka.Record{Topic: schemas.TopicTransfers, Value: value}))
	require.NoError(t, NewClickHouse(conn, schema.Database).Insert(t.Context(), batch))
	require.EqualValues(t, 2, one(t, conn, "SELECT count() FROM mintlake.transfers WHERE mint = ?", mint.String()))
	require.EqualValues(t, 1, one(t, conn, "SELECT count() FROM mintlake.transfers WHERE kind = 'burn' AND isNull(to_owner) AND isNull(amount) AND isNull(fee)"))
	require.EqualValues(t, 2, one(t, conn, "SELECT count() FROM mintlake.wallet_transfers WHERE owner = ? AND direction = 'out'", from.String()))
	require.EqualValues(t, 7, one(t, conn, "SELECT amount FROM mintlake.wallet_transfers WHERE owner = ? AND direction = 'in' AND other = ?", to.String(), from.String()))
}

// TestBadRecords: a record that is no message of its topic is refused with its reason, and changes
// nothing of the batch.
func TestBadRecords(t *testing.T) {
	balances := func(m *eventspb.BalanceChanges) []byte { return marshal(t, m) }
	transfers := func(m *eventspb.Transfers) []byte { return marshal(t, m) }
	base := func(m *eventspb.BalanceBase) kafka.Record {
		return kafka.Record{Topic: schemas.TopicBalanceBases, Partition: 1, Value: marshal(t, m)}
	}
	mint := key(1, 1)
	for reason, record := range map[string]kafka.Record{
		"unexpected topic": {Topic: schemas.TopicSwaps},
		"decode balances":  {Topic: schemas.TopicBalances, Value: []byte{0xff}},
		"the mint has 0":   {Topic: schemas.TopicBalances},
		"account 0 has 1": {Topic: schemas.TopicBalances, Value: balances(&eventspb.BalanceChanges{
			Mint: mint[:], Changes: []*eventspb.BalanceChange{{Account: []byte{1}}},
		})},
		"an owner has 2": {Topic: schemas.TopicBalances, Value: balances(&eventspb.BalanceChanges{
			Mint: mint[:], Changes: []*eventspb.BalanceChange{{Account: mint[:], After: &eventspb.BalanceState{Owner: []byte{1, 2}}}},
		})},
		"decode base":          {Topic: schemas.TopicBalanceBases, Value: []byte{0xff}},
		"base: the mint has 3": base(&eventspb.BalanceBase{Mint: []byte{1, 2, 3}}),
		"base: account 0":      base(&eventspb.BalanceBase{Mint: mint[:], Accounts: []*eventspb.HeldAccount{{Account: []byte{1}}}}),
		"base: spend 0":        base(&eventspb.BalanceBase{Mint: mint[:], Spends: []*eventspb.DelegateSpend{{Account: mint[:], Delegate: []byte{1}}}}),
		"no offsets of partition 1": base(&eventspb.BalanceBase{Mint: mint[:], Mark: &eventspb.BaseMark{
			LogOffsets: []int64{1, 2}, BaseOffsets: []int64{1},
		}}),
		"decimals are above": {Topic: schemas.TopicTransfers, Value: transfers(&eventspb.Transfers{Decimals: 256})},
		"the signature has":  {Topic: schemas.TopicTransfers, Value: transfers(&eventspb.Transfers{Transfers: []*eventspb.Transfer{{}}})},
	} {
		batch := NewBatch()
		require.ErrorContains(t, batch.Add(&record), reason)
		require.Equal(t, NewBatch(), batch)
	}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	value, err := proto.Marshal(m)
	require.NoError(t, err)
	return value
}

// TestKeepHistory: the setting changes how long rows are kept, and the default changes nothing.
func TestKeepHistory(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	store := NewClickHouse(conn, schema.Database)
	ttl := func(ctx context.Context) (ttl string) {
		require.NoError(t, conn.QueryRow(ctx, "SELECT extract(create_table_query, 'TTL stored_on . toIntervalDay.(\\\\d+)') FROM system.tables WHERE database = 'mintlake' AND name = ?", tableTransfers).Scan(&ttl))
		return ttl
	}
	for _, step := range []struct {
		days int
		want string
	}{{30, "30"}, {7, "7"}, {0, ""}, {90, "90"}} {
		require.NoError(t, store.KeepHistory(t.Context(), step.days, ""))
		require.Equal(t, step.want, ttl(t.Context()))
	}
}
