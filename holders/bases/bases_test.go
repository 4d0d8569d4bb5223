package bases

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/holders"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/projector/verify"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// rebuilt is the database that is made anew from what the log still has.
const rebuilt = "rebuilt_rows"

// world is a log of one partition a topic, and the tables of the node that it is written to.
type world struct {
	t     *testing.T
	conn  driver.Conn
	logs  map[string][]kafka.Record
	state map[[2]pubkey.Key]*eventspb.BalanceState
	// fails is how many calls of Produce succeed before one does not; below 0: none fails.
	fails int
	slot  uint64
}

func newWorld(t *testing.T) *world {
	conn, _ := chtest.Migrated(t)
	chtest.Migrate(t, conn, rebuilt)
	w := &world{t: t, conn: conn, logs: map[string][]kafka.Record{}, state: map[[2]pubkey.Key]*eventspb.BalanceState{}, fails: -1, slot: 100}
	return w
}

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	require.NoError(w.t, w.conn.Exec(w.t.Context(), query, args...))
}

// Produce implements kafka.RecordProducer.
func (w *world) Produce(_ context.Context, records ...kafka.Record) error {
	if w.fails == 0 {
		return errors.New("killed")
	}
	w.fails--
	for _, record := range records {
		record.Offset = int64(len(w.logs[record.Topic]))
		w.logs[record.Topic] = append(w.logs[record.Topic], record)
	}
	return nil
}

// EndOffsets implements kafka.Ends.
func (w *world) EndOffsets(_ context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	ends := map[kafka.TopicPartition]int64{}
	for _, topic := range topics {
		ends[kafka.TopicPartition{Topic: topic}] = int64(len(w.logs[topic]))
	}
	return ends, nil
}

// StartOffsets implements kafka.Offsets.
func (w *world) StartOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	return map[kafka.TopicPartition]int64{}, nil
}

// CommittedOffsets implements Offsets: the node's tables have what the log has.
func (w *world) CommittedOffsets(ctx context.Context, _ string, topics []string) (map[kafka.TopicPartition]int64, error) {
	return w.EndOffsets(ctx, topics)
}

// change lets a transaction change an account in a block of its own, and the node read it.
func (w *world) change(mint, account byte, owner byte, amount uint64) {
	w.t.Helper()
	var after *eventspb.BalanceState
	if owner > 0 {
		after = &eventspb.BalanceState{Owner: key(owner).Bytes(), Amount: amount}
	}
	register := [2]pubkey.Key{key(mint), key(account)}
	w.facts(mint, &eventspb.BalanceChange{Account: register[1].Bytes(), Before: w.state[register], After: after})
	w.state[register] = after
}

// facts writes a change as it is told.
func (w *world) facts(mint byte, change *eventspb.BalanceChange, states ...*eventspb.AccountStateChange) {
	w.t.Helper()
	w.slot++
	w.ledger(schema.Database, w.slot, w.slot)
	change.Place = schemas.EndOfTransaction(w.slot, 1).Order
	for _, state := range states {
		state.Place, state.Account = change.GetPlace()-1, change.GetAccount()
	}
	value, err := proto.Marshal(&eventspb.BalanceChanges{
		Slot: w.slot, BlockTime: 1_700_000_000 + int64(w.slot), Mint: key(mint).Bytes(), Program: pubkey.MustParse(schemas.ProgramToken).Bytes(),
		Changes: []*eventspb.BalanceChange{change}, States: states,
	})
	require.NoError(w.t, err)
	require.NoError(w.t, w.Produce(w.t.Context(), kafka.Record{Topic: schemas.TopicBalances, Value: value}))
	w.project(schema.Database, w.logs[schemas.TopicBalances][len(w.logs[schemas.TopicBalances])-1:])
}

// created enters the creation of a mint, whose event is in the log for ever, into both databases.
func (w *world) created(mint byte) {
	w.t.Helper()
	for _, database := range []string{schema.Database, rebuilt} {
		w.exec("INSERT INTO "+database+".token_events_raw (mint, slot, kind) VALUES (?, ?, 'initialize_mint')", key(mint).String(), w.slot+1)
	}
}

func (w *world) ledger(database string, from, to uint64) {
	w.t.Helper()
	w.exec("INSERT INTO "+database+".slots_raw (slot, blockhash, parent_slot, status, balances, version) SELECT number, toString(number), number - 1, 'ingested', 1, 2 FROM numbers(?, ?)",
		from, to-from+1)
}

func (w *world) project(database string, records []kafka.Record) {
	w.t.Helper()
	projection := verify.NewProjection(w.conn, database)
	require.NoError(w.t, projection.Write(w.t.Context(), schemas.GroupBalances, records))
	require.Zero(w.t, projection.Unreadable)
}

// count counts the holders of all mints.
func (w *world) count(database string) {
	w.t.Helper()
	room, err := holders.New(holders.Deps{Store: holders.NewClickHouse(w.conn, database), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(w.t, err)
	require.NoError(w.t, room.Once(w.t.Context()))
}

// base writes a base of the node's tables.
func (w *world) base() (Row, error) {
	w.t.Helper()
	w.count(schema.Database)
	room, err := New(time.Hour, Deps{Store: NewClickHouse(w.conn, schema.Database), Producer: w, Offsets: w, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(w.t, err)
	return room.Once(w.t.Context())
}

// rebuild makes the other database of the records behind some offsets, in any order, and of the
// slot ledger from a slot on.
func (w *world) rebuild(balances, bases int, ledger uint64) {
	w.t.Helper()
	for _, table := range []string{
		"slots_raw", "balance_changes_raw", "token_accounts_raw", "wallet_accounts_raw", "account_states_raw", "delegate_spends_raw", "balance_mints_raw",
		"holder_counts_raw", "balance_reach_raw",
	} {
		w.exec("TRUNCATE TABLE " + rebuilt + "." + table)
	}
	w.ledger(rebuilt, ledger, w.slot)
	records := slices.Concat(w.logs[schemas.TopicBalances][balances:], w.logs[schemas.TopicBalanceBases][bases:])
	rand.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	for chunk := range slices.Chunk(records, 7) {
		w.project(rebuilt, chunk)
	}
	w.count(rebuilt)
}

// told are the rows of a view, as text.
func (w *world) told(database, view, columns, order string) []string {
	w.t.Helper()
	var rows []string
	require.NoError(w.t, w.conn.QueryRow(w.t.Context(),
		fmt.Sprintf("SELECT groupArray(formatRowNoNewline('TSV', %s)) FROM (SELECT * FROM %s.%s ORDER BY %s)", columns, database, view, order)).Scan(&rows))
	return rows
}

// requireSame compares what users see of both databases.
func (w *world) requireSame() {
	w.t.Helper()
	for view, columns := range map[string]string{
		"token_accounts": "mint, account, owner, amount, position, block_time",
		"wallet":         "owner, mint, account, amount, position, block_time",
		"holder_counts":  "mint, holders, accounts, balance, top10, since_slot, complete",
		"holders":        "mint, owner, amount, accounts",
	} {
		want := w.told(schema.Database, view, columns, columns)
		require.NotEmpty(w.t, want)
		require.Equal(w.t, want, w.told(rebuilt, view, columns, columns), view)
	}
}

// requireSameStates compares what is known of the delegates of open accounts.
func (w *world) requireSameStates() {
	w.t.Helper()
	open := "account_states WHERE (mint, account) IN (SELECT mint, account FROM " + schema.Database + ".token_accounts)"
	columns := "mint, account, is_frozen, delegate, delegated_amount"
	require.Equal(w.t, w.told(schema.Database, open, columns, "mint, account"), w.told(rebuilt, open, columns, "mint, account"))
}

// complete returns the mints that the rebuilt tables say are complete.
func (w *world) complete() []string {
	return w.told(rebuilt, "holder_counts WHERE complete", "mint", "mint")
}

func (w *world) verified(table string) *verify.TableReport {
	w.t.Helper()
	report, err := verify.New(w.conn, rebuilt, schema.Database, 0).Table(w.t.Context(), table)
	require.NoError(w.t, err)
	return report
}

func key(n byte) pubkey.Key { return pubkey.Key{n, 31: n} }

const alice, bob, carol = 101, 102, 103

// trade makes two mints, of which the first is complete, and the other older than the node.
func (w *world) trade() {
	w.t.Helper()
	w.ledger(schema.Database, 90, 100)
	w.created(1)
	w.change(1, 11, alice, 500)
	w.change(1, 12, bob, 20)
	w.change(1, 13, carol, 7)
	w.change(1, 13, 0, 0) // closed
	w.facts(1, &eventspb.BalanceChange{Account: key(14).Bytes(), After: &eventspb.BalanceState{Owner: key(bob).Bytes(), Amount: 50}},
		&eventspb.AccountStateChange{Kind: eventspb.AccountStateKind_ACCOUNT_STATE_KIND_APPROVED, Delegate: key(carol).Bytes(), Amount: 40})
	w.facts(1, &eventspb.BalanceChange{
		Account: key(14).Bytes(), Before: &eventspb.BalanceState{Owner: key(bob).Bytes(), Amount: 50}, After: &eventspb.BalanceState{Owner: key(bob).Bytes(), Amount: 35},
	}, &eventspb.AccountStateChange{Kind: eventspb.AccountStateKind_ACCOUNT_STATE_KIND_SPENT, Delegate: key(carol).Bytes(), Amount: 15})
	w.facts(2, &eventspb.BalanceChange{Account: key(21).Bytes(), Before: &eventspb.BalanceState{Owner: key(alice).Bytes(), Amount: 9},
		After: &eventspb.BalanceState{Owner: key(alice).Bytes(), Amount: 8}})
	w.state[[2]pubkey.Key{key(2), key(21)}] = &eventspb.BalanceState{Owner: key(alice).Bytes(), Amount: 8}
}

// TestTablesOfABase: tables that are made of a base and of the records behind it are those that
// were made of the whole log, also where older records and slots are gone; and a mint that was not
// complete is not.
func TestTablesOfABase(t *testing.T) {
	w := newWorld(t)
	w.trade()
	base, err := w.base()
	require.NoError(t, err)
	require.EqualValues(t, 4, base.Accounts)
	require.EqualValues(t, 2, base.Mints)
	require.EqualValues(t, 1, base.Complete)
	require.Equal(t, w.slot, base.Slot)
	gone, last := len(w.logs[schemas.TopicBalances]), w.slot
	w.change(1, 12, bob, 15)
	w.change(1, 15, carol, 5)
	w.change(2, 21, alice, 7)
	w.count(schema.Database)

	w.rebuild(gone, 0, last) // the ledger begins behind the creation
	w.requireSame()
	require.Equal(t, []string{key(1).String()}, w.complete())
	w.rebuild(gone-1, 0, 90) // one record and the whole ledger are there besides
	w.requireSame()
	w.requireSameStates()
	for _, table := range []string{"token_accounts_raw", "wallet_accounts_raw", "account_states_raw", "delegate_spends_raw", "balance_changes_raw", "balance_mints_raw"} {
		report := w.verified(table)
		require.Equal(t, verify.Equal, report.State, "%s: %+v", table, report.Findings)
		require.NotZero(t, report.Expected, table)
	}
	// An account that only the base has.
	w.exec("ALTER TABLE mintlake.token_accounts_raw UPDATE amount = 501 WHERE account = ? SETTINGS mutations_sync = 2", string(key(11).Bytes()))
	report := w.verified("token_accounts_raw")
	require.Equal(t, verify.Differs, report.State)
	require.Len(t, report.Findings, 1)
	require.Equal(t, report.Findings[0].Expected-1, report.Findings[0].Found)

	// The history of rebuilt tables begins behind what is gone: nobody knows who had what before.
	w.rebuild(gone, 0, last)
	var floor uint64
	require.NoError(t, w.conn.QueryRow(t.Context(), "SELECT floor FROM "+rebuilt+".balance_reach_raw FINAL").Scan(&floor))
	require.Greater(t, floor, last)
}

// TestWhatIsMissingBehindABase: if a record behind the base is gone too, or a part of the base, or
// a slot, no mint is complete.
func TestWhatIsMissingBehindABase(t *testing.T) {
	w := newWorld(t)
	w.trade()
	_, err := w.base()
	require.NoError(t, err)
	gone, last := len(w.logs[schemas.TopicBalances]), w.slot
	w.change(1, 12, bob, 15)
	w.change(1, 12, bob, 14)
	w.rebuild(gone, 0, last)
	require.NotEmpty(t, w.complete())
	w.rebuild(gone+1, 0, last)
	require.Empty(t, w.complete(), "a record")
	w.rebuild(gone, 1, last)
	require.Empty(t, w.complete(), "a part of the base")
	w.rebuild(gone, 0, last+1)
	require.Empty(t, w.complete(), "the ledger at the base")
	w.rebuild(gone, 0, last)
	w.exec("ALTER TABLE "+rebuilt+".slots_raw DELETE WHERE slot = ? SETTINGS mutations_sync = 2", last+1)
	w.change(1, 12, bob, 13)
	w.ledger(rebuilt, w.slot, w.slot)
	w.project(rebuilt, w.logs[schemas.TopicBalances][len(w.logs[schemas.TopicBalances])-1:])
	w.count(rebuilt)
	require.Empty(t, w.complete(), "a slot behind the base")
}

// TestHalfABase: what a killed process has written makes no mint complete, and takes nothing from
// the base before.
func TestHalfABase(t *testing.T) {
	w := newWorld(t)
	w.trade()
	w.fails = 1 // the accounts are written, the marks are not
	_, err := w.base()
	require.ErrorContains(t, err, "killed")
	require.NotEmpty(t, w.logs[schemas.TopicBalanceBases])
	w.fails = -1
	gone, last := len(w.logs[schemas.TopicBalances]), w.slot
	w.change(1, 12, bob, 15)
	w.count(schema.Database)
	w.rebuild(gone, 0, last)
	require.Empty(t, w.complete())
	require.Equal(t, w.told(schema.Database, "holders", "mint, owner, amount", "mint, owner"), w.told(rebuilt, "holders", "mint, owner, amount", "mint, owner"),
		"its facts are true in any case")
	row, err := NewClickHouse(w.conn, schema.Database).Last(t.Context())
	require.NoError(t, err)
	require.Zero(t, row, "it is no base")

	_, err = w.base()
	require.NoError(t, err)
	w.change(1, 12, bob, 14)
	w.fails = 1
	_, err = w.base()
	require.ErrorContains(t, err, "killed")
	w.fails = -1
	w.change(1, 12, bob, 13)
	w.count(schema.Database)
	w.rebuild(gone+1, 0, last+1)
	w.requireSame()
	require.NotEmpty(t, w.complete())
}

// TestABaseOfAHole: a base of a mint with a hole does not make it complete, whatever an older base
// says.
func TestABaseOfAHole(t *testing.T) {
	w := newWorld(t)
	w.trade()
	base, err := w.base()
	require.NoError(t, err)
	require.EqualValues(t, 1, base.Complete)
	older := len(w.logs[schemas.TopicBalanceBases])
	w.facts(1, &eventspb.BalanceChange{Account: key(11).Bytes(), Before: &eventspb.BalanceState{Owner: key(alice).Bytes(), Amount: 499},
		After: &eventspb.BalanceState{Owner: key(alice).Bytes(), Amount: 498}})
	base, err = w.base()
	require.NoError(t, err)
	require.Zero(t, base.Complete)
	gone, last := len(w.logs[schemas.TopicBalances]), w.slot
	w.change(1, 12, bob, 15)
	w.count(schema.Database)
	w.rebuild(gone, 0, last)
	require.Empty(t, w.complete())
	w.rebuild(gone, older, last)
	require.Empty(t, w.complete())

	// A read of all its accounts makes it complete again, and the next base says so.
	w.slot++
	w.ledger(schema.Database, w.slot, w.slot)
	read := &eventspb.BalanceChanges{Slot: w.slot, Mint: key(1).Bytes(), IsRead: true, IsWhole: true}
	for register, state := range w.state {
		if register[0] == key(1) && state != nil {
			read.Changes = append(read.Changes, &eventspb.BalanceChange{Place: math.MaxUint64, Account: register[1].Bytes(), After: state})
		}
	}
	value, err := proto.Marshal(read)
	require.NoError(t, err)
	require.NoError(t, w.Produce(t.Context(), kafka.Record{Topic: schemas.TopicBalances, Value: value}))
	w.project(schema.Database, w.logs[schemas.TopicBalances][len(w.logs[schemas.TopicBalances])-1:])
	base, err = w.base()
	require.NoError(t, err)
	require.EqualValues(t, 1, base.Complete)
	gone, last = len(w.logs[schemas.TopicBalances]), w.slot
	w.change(1, 12, bob, 14)
	w.count(schema.Database)
	w.rebuild(gone, 0, last)
	w.requireSame()
	require.Equal(t, []string{key(1).String()}, w.complete())
}

// TestPartsOfABase: a mint of many accounts takes several records, each smaller than a broker
// takes.
func TestPartsOfABase(t *testing.T) {
	w := newWorld(t)
	w.ledger(schema.Database, 90, 100)
	const accounts = 2*partAccounts + 1
	w.exec(`INSERT INTO mintlake.token_accounts_raw (mint, account, owner, amount, open, on_curve, position, block_time)
		SELECT ?, sipHash128(number) || sipHash128(number + 1), sipHash128(number + 2) || sipHash128(number + 3), rand64(), true, true, bitShiftLeft(toUInt128(100), 64) + rand64(), toDateTime(1700000000) FROM numbers(?)`,
		key(1).String(), accounts)
	w.exec("INSERT INTO mintlake.balance_mints_raw (mint, partition, touched, first) VALUES (?, 0, 1, 100)", key(1).String())
	base, err := w.base()
	require.NoError(t, err)
	require.EqualValues(t, accounts, base.Accounts)
	records := w.logs[schemas.TopicBalanceBases]
	require.Len(t, records, 4)
	for _, record := range records {
		require.Less(t, len(record.Value), 512<<10)
	}
	w.rebuild(0, 0, 90)
	columns := "mint, account, owner, amount, position, block_time"
	require.Equal(t, w.told(schema.Database, "token_accounts", columns, columns), w.told(rebuilt, "token_accounts", columns, columns))
	t.Logf("%.1f bytes of an account before compression", float64(base.Bytes)/accounts)
}

// TestOwnBases: the projector leaves out a base that was read from its own tables, and takes those
// of others.
func TestOwnBases(t *testing.T) {
	w := newWorld(t)
	w.trade()
	_, err := w.base()
	require.NoError(t, err)
	record := w.logs[schemas.TopicBalanceBases][0]
	own, err := NewClickHouse(w.conn, schema.Database).Tables(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, own)
	others, err := NewClickHouse(w.conn, rebuilt).Tables(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, own, others)
	for tables, rows := range map[string]int{own: 0, others: 3} {
		w.exec("TRUNCATE TABLE " + rebuilt + ".token_accounts_raw")
		room, err := balances.New(balances.Deps{
			Consumer: none{}, Producer: w, Store: balances.NewClickHouse(w.conn, rebuilt), Tables: tables, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		batch := room.New()
		require.NoError(t, room.Add(batch, &record))
		require.NoError(t, room.Insert(t.Context(), batch))
		require.Len(t, w.told(rebuilt, "token_accounts", "account", "account"), rows)
	}
}

// none is a consumer that has nothing.
type none struct{}

func (none) FetchBatch(context.Context, int, time.Duration) ([]kafka.Record, error) { return nil, nil }
func (none) Commit(context.Context, []kafka.Record) error                           { return nil }

// TestWhenABaseIsDue: a base that is not older than the interval is not written again after a
// restart.
func TestWhenABaseIsDue(t *testing.T) {
	w := newWorld(t)
	w.trade()
	w.count(schema.Database)
	room, err := New(time.Hour, Deps{Store: NewClickHouse(w.conn, schema.Database), Producer: w, Offsets: w, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	wait, err := room.next(t.Context())
	require.NoError(t, err)
	require.Zero(t, wait)
	written := len(w.logs[schemas.TopicBalanceBases])
	require.NotZero(t, written)
	wait, err = room.next(t.Context())
	require.NoError(t, err)
	require.InDelta(t, time.Hour, wait, float64(5*time.Minute))
	require.Len(t, w.logs[schemas.TopicBalanceBases], written)
}
