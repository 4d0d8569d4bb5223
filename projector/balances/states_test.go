package balances

import (
	"math"
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

// ledgerAccount is a token account as its program keeps it.
type ledgerAccount struct {
	open, frozen bool
	// frozenKnown is whether the facts tell frozen.
	frozenKnown bool
	owner       pubkey.Key
	amount      uint64
	delegate    pubkey.Key
	approved    uint64
	// unclear means that the owner approved itself.
	unclear bool
}

// tokenWorld changes accounts by the rules of the token programs, one instruction a transaction.
type tokenWorld struct {
	random   *rand.Rand
	accounts map[account]*ledgerAccount
	slot     uint64
}

// tell makes a record of one transaction.
func (w *tokenWorld) tell(t *testing.T, at account, before, after ledgerAccount, states ...*eventspb.AccountStateChange) kafka.Record {
	t.Helper()
	side := func(a ledgerAccount) *eventspb.BalanceState {
		if !a.open {
			return nil
		}
		return &eventspb.BalanceState{Amount: a.amount, Owner: a.owner[:]}
	}
	message := &eventspb.BalanceChanges{Slot: w.slot, Mint: at.mint[:], Program: w.program(at.mint).Bytes(), States: states}
	if before.open != after.open || before.amount != after.amount || before.owner != after.owner {
		message.Changes = []*eventspb.BalanceChange{{
			Place: schemas.EndOfTransaction(w.slot, 5).Order, Account: at.key[:], Before: side(before), After: side(after),
		}}
	}
	value, err := proto.Marshal(message)
	require.NoError(t, err)
	return kafka.Record{Topic: schemas.TopicBalances, Offset: int64(w.slot), Value: value}
}

// program is Token for the mint 0, and Token-2022 for the mint 1, whose accounts begin frozen.
func (w *tokenWorld) program(mint pubkey.Key) pubkey.Key {
	if mint == key(1, 0) {
		return tokenProgram
	}
	return pubkey.MustParse(schemas.ProgramToken2022)
}

// step makes a random transaction about a random account.
func (w *tokenWorld) step(t *testing.T) kafka.Record {
	t.Helper()
	w.slot++
	at := account{key(1, byte(w.random.IntN(2))), key(2, byte(w.random.IntN(6)))}
	a := w.accounts[at]
	if a == nil {
		a = &ledgerAccount{}
		w.accounts[at] = a
	}
	before := *a
	outer := uint32(w.random.IntN(4))
	index := uint32(5)
	place := schemas.PositionOf(&eventspb.Position{Slot: w.slot, TransactionIndex: &index, InstructionIndex: outer}, nil).Order
	state := func(kind eventspb.AccountStateKind, delegate pubkey.Key, amount uint64) *eventspb.AccountStateChange {
		change := &eventspb.AccountStateChange{Place: place, Account: at.key[:], Kind: kind, Amount: amount}
		if !delegate.IsZero() {
			change.Delegate = delegate[:]
		}
		return change
	}
	if !a.open {
		begins := w.program(at.mint) != tokenProgram
		*a = ledgerAccount{open: true, owner: key(3, byte(w.random.IntN(2))), frozen: begins, frozenKnown: !begins}
		return w.tell(t, at, before, *a)
	}
	switch w.random.IntN(9) {
	case 0:
		a.frozen, a.frozenKnown = true, true
		return w.tell(t, at, before, *a, state(eventspb.AccountStateKind_ACCOUNT_STATE_KIND_FROZEN, pubkey.Key{}, 0))
	case 1:
		a.frozen, a.frozenKnown = false, true
		return w.tell(t, at, before, *a, state(eventspb.AccountStateKind_ACCOUNT_STATE_KIND_THAWED, pubkey.Key{}, 0))
	case 2:
		a.delegate, a.approved, a.unclear = key(4, byte(w.random.IntN(2))), w.random.Uint64N(60), false
		return w.tell(t, at, before, *a, state(eventspb.AccountStateKind_ACCOUNT_STATE_KIND_APPROVED, a.delegate, a.approved))
	case 3:
		a.delegate, a.approved, a.unclear = pubkey.Key{}, 0, false
		return w.tell(t, at, before, *a, state(eventspb.AccountStateKind_ACCOUNT_STATE_KIND_REVOKED, pubkey.Key{}, 0))
	case 4:
		a.owner, a.delegate, a.approved, a.unclear = key(3, byte(w.random.IntN(2))), pubkey.Key{}, 0, false
		return w.tell(t, at, before, *a, state(eventspb.AccountStateKind_ACCOUNT_STATE_KIND_REVOKED, pubkey.Key{}, 0))
	case 5:
		if a.amount == 0 {
			*a = ledgerAccount{}
			return w.tell(t, at, before, *a)
		}
		a.unclear = true
		return w.tell(t, at, before, *a, state(eventspb.AccountStateKind_ACCOUNT_STATE_KIND_UNCLEAR, pubkey.Key{}, 0))
	case 6:
		a.amount += 1 + w.random.Uint64N(50) // mint_to
		a.frozen, a.frozenKnown = false, a.frozenKnown || before.amount == 0
		if before.frozen {
			return w.tell(t, at, before, *a, state(eventspb.AccountStateKind_ACCOUNT_STATE_KIND_THAWED, pubkey.Key{}, 0))
		}
		return w.tell(t, at, before, *a)
	case 7: // by the mint's permanent delegate
		spent := w.random.Uint64N(a.amount + 1)
		a.amount -= spent
		return w.tell(t, at, before, *a, state(eventspb.AccountStateKind_ACCOUNT_STATE_KIND_SPENT, key(4, 9), spent))
	default:
		if a.delegate.IsZero() || a.unclear {
			return w.tell(t, at, before, *a)
		}
		spent := w.random.Uint64N(min(a.amount, a.approved) + 1)
		if w.random.IntN(3) == 0 {
			spent = min(a.amount, a.approved)
		}
		by := a.delegate
		a.amount -= spent
		if a.approved -= spent; a.approved == 0 {
			a.delegate = pubkey.Key{}
		}
		return w.tell(t, at, before, *a, state(eventspb.AccountStateKind_ACCOUNT_STATE_KIND_SPENT, by, spent))
	}
}

// TestStatesInAnyOrder: facts about delegates and frozen accounts, stored in any order and with
// repeats, lead to what the token programs would have left; what they do not tell is null.
func TestStatesInAnyOrder(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO mintlake.balance_reach_raw (name, whole, at) VALUES ('balances', 1, now64(3))"))
	random := rand.New(rand.NewPCG(5, 6))
	for _, order := range []string{"forwards", "backwards", "shuffled and repeated"} {
		w := tokenWorld{random: random, accounts: map[account]*ledgerAccount{}}
		var records []kafka.Record
		for range 500 {
			records = append(records, w.step(t))
		}
		switch order {
		case "backwards":
			slices.Reverse(records)
		case "shuffled and repeated":
			records = append(records, records[:100]...)
			random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		}
		store := NewClickHouse(conn, schema.Database)
		for _, table := range []string{tableAccounts, tableStates, tableSpends} {
			require.NoError(t, conn.Exec(t.Context(), "TRUNCATE TABLE "+schema.Database+"."+table))
		}
		for chunk := range slices.Chunk(records, 1+random.IntN(150)) {
			batch := NewBatch()
			for i := range chunk {
				require.NoError(t, batch.Add(&chunk[i]))
			}
			require.NoError(t, store.Insert(t.Context(), batch))
		}
		t.Run(order, func(t *testing.T) { w.require(t, conn) })
	}
}

func (w *tokenWorld) require(t *testing.T, conn driver.Conn) {
	t.Helper()
	type row struct {
		frozen   *bool
		delegate *string
		amount   *uint64
	}
	got := map[[2]string]row{}
	answer, err := conn.Query(t.Context(), "SELECT mint, account, is_frozen, delegate, delegated_amount FROM mintlake.account_states")
	require.NoError(t, err)
	for answer.Next() {
		var r row
		var mint, key string
		require.NoError(t, answer.Scan(&mint, &key, &r.frozen, &r.delegate, &r.amount))
		got[[2]string{mint, key}] = r
	}
	require.NoError(t, answer.Err())
	for at, a := range w.accounts {
		if !a.open {
			continue
		}
		want := row{}
		if a.frozenKnown {
			want.frozen = &a.frozen
		}
		if delegate := text(a.delegate); !a.unclear {
			want.delegate, want.amount = &delegate, &a.approved
		}
		require.Equal(t, want, got[[2]string{at.mint.String(), at.key.String()}], "%s %s", at.mint, at.key)
	}
}

// TestStatesBeforeAGap: what a gap may have changed is not known, what was told since is.
func TestStatesBeforeAGap(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	w := tokenWorld{random: rand.New(rand.NewPCG(7, 8)), accounts: map[account]*ledgerAccount{}, slot: 10}
	at := account{key(1, 0), key(2, 0)}
	opened := w.tell(t, at, ledgerAccount{}, ledgerAccount{open: true, owner: key(3, 0)})
	w.slot = 20
	froze := w.tell(t, at, ledgerAccount{}, ledgerAccount{}, &eventspb.AccountStateChange{Account: at.key[:], Place: 1, Kind: eventspb.AccountStateKind_ACCOUNT_STATE_KIND_FROZEN})
	batch := NewBatch()
	require.NoError(t, batch.Add(&opened))
	require.NoError(t, batch.Add(&froze))
	require.NoError(t, NewClickHouse(conn, schema.Database).Insert(t.Context(), batch))
	ask := func() (frozen *bool, delegate *string) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT is_frozen, delegate FROM mintlake.account_states").Scan(&frozen, &delegate))
		return frozen, delegate
	}
	frozen, delegate := ask()
	require.Nil(t, frozen, "nobody looked for gaps")
	require.Nil(t, delegate)
	for whole, known := range map[int][2]bool{10: {true, true}, 15: {true, false}, 21: {false, false}} {
		require.NoError(t, conn.Exec(t.Context(), "TRUNCATE TABLE mintlake.balance_reach_raw"))
		require.NoError(t, conn.Exec(t.Context(), "INSERT INTO mintlake.balance_reach_raw (name, whole, at) VALUES ('balances', ?, now64(3))", whole))
		frozen, delegate = ask()
		require.Equal(t, known, [2]bool{frozen != nil, delegate != nil}, "whole from %d", whole)
	}
}

// TestAllWereRead: the record that says that all accounts of all mints were read makes no mint wait
// to be counted.
func TestAllWereRead(t *testing.T) {
	value, err := proto.Marshal(&eventspb.BalanceChanges{Slot: 9, Mint: pubkey.Key{}.Bytes(), IsRead: true, IsAll: true})
	require.NoError(t, err)
	batch := NewBatch()
	require.NoError(t, batch.Add(&kafka.Record{Topic: schemas.TopicBalances, Offset: 7, Value: value}))
	require.Equal(t, map[mintPart]book{{pubkey.Key{}, 0}: {first: math.MaxUint64, based: 9, from: 9, begun: begun{7, 9}}}, batch.mints)
}

// TestBases: of a base in pages both ends are kept, and of several bases the latest of each.
func TestBases(t *testing.T) {
	batch, mint := NewBatch(), key(1, 1)
	for i, m := range []*eventspb.BalanceChanges{{Slot: 9}, {Slot: 30, FirstSlot: 12}, {Slot: 20, FirstSlot: 14}} {
		m.Mint, m.IsRead, m.IsWhole = mint.Bytes(), true, true
		value, err := proto.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, batch.Add(&kafka.Record{Topic: schemas.TopicBalances, Offset: int64(i), Value: value}))
	}
	require.Equal(t, map[mintPart]book{{mint, 0}: {touched: 3, first: 9, based: 30, from: 14, begun: begun{0, 9}}}, batch.mints)
}
