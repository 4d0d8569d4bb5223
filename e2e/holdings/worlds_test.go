package holdings

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/holders"
	"github.com/mintlake/mintlake/ingest/balances"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	store "github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/layout"
)

// TestWorlds: after random transactions that the token programs themselves ran in LiteSVM, balances
// by account, by owner and by mint, delegates and frozen accounts are those of the runtime's
// accounts, in whatever order the facts came; every mint is complete, its balances and withheld
// fees are its supply; and each account's change follows from the transfers of its transaction.
func TestWorlds(t *testing.T) {
	seed := testkit.Seed(t)
	succeeded := map[string]int{}
	for round := range testkit.Rounds(1, 12) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := newWorld(t, rand.New(rand.NewPCG(seed, uint64(round))))
			facts := &records{}
			w.follow(facts, testkit.Rounds(250, 800))
			w.compare(w.stored(facts, worldStart, worldStart+1), true)
			for kind, n := range w.succeeded {
				succeeded[kind] += n
			}
		})
	}
	t.Log(succeeded)
	for _, kind := range worldSteps {
		require.NotZero(t, succeeded[kind], "%s never succeeded: %v", kind, succeeded)
	}
}

// TestWorldsFromABase: a node that begins with a world in the middle, and reads the accounts of the
// mints in pages while transactions go on, has what the runtime has. Of half of the mints it knows
// accounts from earlier on, some of which are closed by then.
func TestWorldsFromABase(t *testing.T) {
	seed := testkit.Seed(t)
	for round := range testkit.Rounds(1, 12) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := newWorld(t, rand.New(rand.NewPCG(seed, uint64(1000+round))))
			early, gap, facts := &records{}, &records{}, &records{}
			w.follow(early, 100)
			w.follow(gap, 10) // the node was off
			begin := w.slot + 1
			w.follow(facts, 10)
			for i := range w.mints {
				w.readBase(&w.mints[i], early, facts, i%2 == 0)
			}
			w.follow(facts, 60)
			for i := range w.mints {
				if i%2 == 0 {
					facts.all = append(facts.all, early.of(w.mints[i].key.String())...)
				}
			}
			w.compare(w.stored(facts, begin, worldStart), false)
		})
	}
}

// records are of both topics.
type records struct{ all []kafka.Record }

func (r *records) add(t *testing.T, topic, key string, message proto.Message) {
	value, err := proto.Marshal(message)
	require.NoError(t, err)
	r.all = append(r.all, kafka.Record{Topic: topic, Key: []byte(key), Value: value})
}

// of are those of a mint.
func (r *records) of(mint string) (list []kafka.Record) {
	for _, record := range r.all {
		if string(record.Key) == mint {
			list = append(list, record)
		}
	}
	return list
}

// follow runs blocks, and adds their facts as ingest makes them.
func (w *world) follow(to *records, blocks int) {
	maker := balances.New(nil)
	for range blocks {
		facts := maker.Of(w.block())
		require.Zero(w.t, facts.Unexplained, "slot %d", w.slot)
		require.Zero(w.t, facts.Untold, "slot %d", w.slot)
		for _, message := range facts.Balances {
			to.add(w.t, schemas.TopicBalances, key(message.GetMint()).String(), message)
		}
		for _, message := range facts.Transfers {
			to.add(w.t, schemas.TopicTransfers, key(message.GetMint()).String(), message)
		}
	}
}

// stored returns tables that have the facts, in a random order and some of them twice. The node's
// first slot is begin.
func (w *world) stored(facts *records, begin, created uint64) driver.Conn {
	conn, _ := chtest.Migrated(w.t)
	list := append(slices.Clone(facts.all), facts.all[:len(facts.all)/4]...)
	w.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	tables := store.NewClickHouse(conn, schema.Database)
	for piece := range slices.Chunk(list, len(list)/3+1) {
		batch := store.NewBatch()
		for i := range piece {
			piece[i].Offset = int64(i)
			require.NoError(w.t, batch.Add(&piece[i]))
		}
		require.NoError(w.t, tables.Insert(w.t.Context(), batch))
	}
	w.exec(conn, "INSERT INTO mintlake.slots_raw (slot, blockhash, parent_slot, status, balances, version) SELECT number, toString(number), number - 1, 'ingested', 1, 2 FROM numbers(?, ?)", begin, w.slot-begin+1)
	for i := range w.mints {
		m := &w.mints[i]
		name := m.key.String()
		w.exec(conn, "INSERT INTO mintlake.token_events_raw (mint, slot, kind) VALUES (?, ?, 'initialize_mint')", name, created)
		w.exec(conn, "INSERT INTO mintlake.tokens_raw (mint, supply, is_token22, is_member) VALUES (?, ?, ?, true)",
			name, layout.Supply(w.held[m.key].Data), m.program == tokenaccount.ProgramToken2022)
	}
	room, err := holders.New(holders.Deps{Store: holders.NewClickHouse(conn, schema.Database), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(w.t, err)
	require.NoError(w.t, room.Once(w.t.Context()))
	return conn
}

func (w *world) exec(conn driver.Conn, query string, args ...any) {
	w.t.Helper()
	require.NoError(w.t, conn.Exec(w.t.Context(), query, args...))
}

// rows returns the rows of a query whose columns are texts.
func (w *world) rows(conn driver.Conn, columns int, query string) [][]string {
	w.t.Helper()
	rows, err := conn.Query(w.t.Context(), query)
	require.NoError(w.t, err)
	defer func() { _ = rows.Close() }()
	var all [][]string
	for rows.Next() {
		row, into := make([]string, columns), make([]any, columns)
		for i := range row {
			into[i] = &row[i]
		}
		require.NoError(w.t, rows.Scan(into...))
		all = append(all, row)
	}
	require.NoError(w.t, rows.Err())
	return all
}

// compare holds the tables to the runtime's accounts. born says that the node saw the creations of
// all mints.
func (w *world) compare(conn driver.Conn, born bool) {
	var accounts, owners [][]string
	byOwner, holds := map[[2]string]uint64{}, map[string]int{}
	for _, key := range w.open {
		data := w.held[key].Data
		owner, mint := layout.OwnerOf(data).String(), layout.MintOf(data).String()
		accounts = append(accounts, []string{mint, key.String(), owner, fmt.Sprint(layout.Amount(data))})
		byOwner[[2]string{owner, mint}] += layout.Amount(data)
	}
	require.ElementsMatch(w.t, accounts, w.rows(conn, 4, "SELECT mint, account, owner, toString(amount) FROM mintlake.token_accounts"))
	require.ElementsMatch(w.t, accounts, w.rows(conn, 4, "SELECT mint, account, owner, toString(amount) FROM mintlake.wallet"))
	for of, amount := range byOwner {
		if amount > 0 {
			owners = append(owners, []string{of[0], of[1], fmt.Sprint(amount)})
			holds[of[1]]++
		}
	}
	require.ElementsMatch(w.t, owners, w.rows(conn, 3, "SELECT owner, mint, toString(amount) FROM mintlake.holders"))
	counts := w.rows(conn, 4, "SELECT mint, toString(holders), toString(holes), toString(complete) FROM mintlake.holder_counts")
	require.Len(w.t, counts, len(w.mints))
	for _, row := range counts {
		require.Equal(w.t, []string{row[0], fmt.Sprint(holds[row[0]]), "0", "true"}, row)
	}
	for _, row := range w.rows(conn, 3, "SELECT mint, ifNull(toString(missing), 'null'), toString((SELECT any(is_token22) FROM mintlake.tokens_raw AS t WHERE t.mint = s.mint)) FROM mintlake.supply_conservation AS s") {
		switch {
		case !born && row[2] == "true":
			require.Equal(w.t, "null", row[1], row)
		case row[0] != schemas.MintWrappedSOL:
			require.Equal(w.t, "0", row[1], row)
		}
	}
	w.compareStates(conn)
}

// compareStates: who may spend from an account is known of each, and whether it is frozen of each
// that had tokens or is of the standard program.
func (w *world) compareStates(conn driver.Conn) {
	told, frozen := map[string][]string{}, 0
	for _, row := range w.rows(conn, 4, `SELECT account, ifNull(toString(is_frozen), '?'), ifNull(delegate, '?'), ifNull(toString(delegated_amount), '?')
		FROM mintlake.account_states WHERE (mint, account) IN (SELECT mint, account FROM mintlake.token_accounts)`) {
		told[row[0]] = row[1:]
	}
	for _, key := range w.open {
		a := w.held[key]
		state, ok := tokenaccount.StateOf(a.Data)
		require.True(w.t, ok)
		delegate := ""
		if state.Delegate != nil {
			delegate = state.Delegate.String()
		}
		got := told[key.String()]
		require.Len(w.t, got, 3, key)
		require.Equal(w.t, []string{delegate, fmt.Sprint(state.DelegatedAmount)}, got[1:], key)
		if got[0] == "?" {
			require.True(w.t, a.Owner == tokenaccount.ProgramToken2022 && layout.Amount(a.Data) == 0, key)
			continue
		}
		require.Equal(w.t, fmt.Sprint(state.Frozen), got[0], key)
		if state.Frozen {
			frozen++
		}
	}
	w.t.Logf("%d open accounts, %d of them frozen, at slot %d", len(w.open), frozen, w.slot)
}
