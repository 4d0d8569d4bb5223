package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/api/balances"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// world is two tokens of a supply of 1,000 and three wallets, in a log and in tables.
type world struct {
	reached int // calls of reach
	*node
	conn             driver.Conn
	one, two         string
	alice, bob, vend string
}

// The two wallets are points of the curve, the vendor is not.
const (
	alice = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
	bob   = "So11111111111111111111111111111111111111112"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	conn, _ := chtest.Migrated(t)
	log := apitest.NewLog()
	w := &world{conn: conn, alice: alice, bob: bob, vend: "5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1"}
	w.one, w.two = log.Token(1, 10, "ONE", "The One", time.Now()), log.Token(2, 11, "TWO", "The Two", time.Now())
	for i, mint := range []string{w.one, w.two} {
		minted := apitest.Event(apitest.Mint(i+1), 12)
		minted.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 1000}}
		log.Message(schemas.TopicTokenEvents, mint, minted, time.Now())
	}
	w.hold(t, 1, w.one, w.alice, 600, 20)
	w.hold(t, 2, w.one, w.bob, 300, 30)
	w.hold(t, 3, w.one, w.vend, 100, 40)
	w.hold(t, 4, w.two, w.alice, 5, 50)
	w.exec(t, `INSERT INTO mintlake.balance_mints_raw (mint, partition, first) VALUES ('%s', 0, 20), ('%s', 0, 50)`, w.one, w.two)
	w.exec(t, `INSERT INTO mintlake.holder_counts_raw (mint, holders, accounts, balance, top10, created_slot, as_of_slot, counted_at) VALUES
		('%s', 3, 3, 1000, 900, 20, 40, now64(3)), ('%s', 1, 1, 5, 5, 0, 50, now64(3))`, w.one, w.two)
	w.exec(t, `INSERT INTO mintlake.balance_reach_raw (name, whole, floor) VALUES ('balances', 10, 10)`)
	w.exec(t, `INSERT INTO mintlake.holder_counts_1h_raw (mint, hour, holders, as_of_slot) VALUES ('%[1]s', '2026-11-20 10:00:00', 1, 20), ('%[1]s', '2026-11-21 11:00:00', 3, 40)`, w.one)
	place := schemas.JoinOrder(0, 3, 0, 0)
	for i, kind := range []string{"mint", "transfer"} {
		w.exec(t, `INSERT INTO mintlake.transfers_raw (mint, slot, place, block_time, signature, kind, from_account, from_owner, to_account, to_owner, amount, fee, decimals) VALUES
			('%s', %d, %d, 1700000000, repeat('s', 64), '%s', 'a', base58Decode('%s'), 'b', base58Decode('%s'), %d, NULL, 6)`, w.one, 20+i, place, kind, w.alice, w.bob, 10*(i+1))
		w.exec(t, `INSERT INTO mintlake.wallet_transfers_raw (owner, slot, place, signature, is_in, mint, block_time, kind, account, other, amount, decimals) VALUES
			('%s', %d, %d, repeat('s', 64), false, '%s', 1700000000, '%s', 'a', base58Decode('%s'), %d, 6)`, w.alice, 20+i, place, w.one, kind, w.bob, 10*(i+1))
	}
	reader := balances.NewClickHouse(func(context.Context) (driver.Conn, error) { return conn, nil }, schema.Database)
	w.node = startNodeWith(t, log, func(deps *api.Deps) { deps.Balances = reader }).awaitReady()
	return w
}

func (w *world) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	require.NoError(t, w.conn.Exec(t.Context(), fmt.Sprintf(query, args...)))
}

// reach sets from which slot balances are whole. The latest call counts, in whatever order the
// tests run.
func (w *world) reach(t *testing.T, slot int) {
	t.Helper()
	w.reached++
	w.exec(t, `INSERT INTO mintlake.balance_reach_raw (name, whole, at) VALUES ('balances', %d, now64(3) + %d)`, slot, 100*w.reached)
}

// hold gives an owner an account of a mint.
func (w *world) hold(t *testing.T, account int, mint, owner string, amount, slot int) {
	t.Helper()
	w.exec(t, `INSERT INTO mintlake.token_accounts_raw (mint, account, owner, amount, open, on_curve, position) VALUES ('%s', '%d', base58Decode('%s'), %d, true, %t, bitShiftLeft(toUInt128(%d), 64))`,
		mint, account, owner, amount, owner != w.vend, slot)
	w.exec(t, `INSERT INTO mintlake.wallet_accounts_raw (owner, mint, account, amount, open, position) VALUES ('%s', '%s', '%d', %d, true, bitShiftLeft(toUInt128(%d), 64))`, owner, mint, account, amount, slot)
	w.exec(t, `INSERT INTO mintlake.balance_changes_raw (mint, account, slot, open, owner, amount) VALUES ('%s', '%d', %d, true, base58Decode('%s'), %d)`, mint, account, slot, owner, amount)
}

// body asks, holds the answer to its schema and returns it.
func (w *world) body(t *testing.T, schema, path string) map[string]any {
	t.Helper()
	r := w.get(path)
	require.Equal(t, 200, r.StatusCode, "%s: %s", path, r.body)
	conforms(t, schema, r.body)
	return r.decode(t)
}

func TestBalances(t *testing.T) {
	w := newWorld(t)
	for name, run := range map[string]func(*testing.T, *world){
		"accounts": accountsRoute, "accounts of an owner": ownerAccountsRoute, "holders": holdersRoute, "history of holders": holdersHistoryRoute, "transfers": transfersRoutes, "wallet": walletRoute, "one price": onePrice, "wallet with dust": dustyWallet, "rows": holdersOfRows, "refusals": balancesRefuse,
	} {
		t.Run(name, func(t *testing.T) { run(t, w) })
	}
}

func holdersRoute(t *testing.T, w *world) {
	path := "/tokens/" + w.one + "/holders"
	body := w.body(t, "HoldersResponse", path)
	require.Equal(t, []any{
		map[string]any{"rank": 1.0, "owner": w.alice, "owner_kind": "wallet", "amount": "600", "accounts": 1.0, "share_pct": 60.0},
		map[string]any{"rank": 2.0, "owner": w.bob, "owner_kind": "wallet", "amount": "300", "accounts": 1.0, "share_pct": 30.0},
		map[string]any{"rank": 3.0, "owner": w.vend, "owner_kind": "pool", "amount": "100", "accounts": 1.0, "share_pct": 10.0},
	}, body["items"])
	delete(body, "items")
	require.Equal(t, map[string]any{
		"mint": w.one, "decimals": 6.0, "supply": "1000", "limit": 50.0, "total": 3.0, "next": nil, "complete": true, "since_slot": 20.0, "as_of_slot": 40.0,
	}, body)
	first := w.body(t, "HoldersResponse", path+"?limit=1&exclude=pool")
	require.EqualValues(t, 2, first["total"])
	second := w.body(t, "HoldersResponse", path+"?limit=1&exclude=pool,curve&exclude=burn&cursor="+first["next"].(string))
	require.Nil(t, second["next"])
	require.Equal(t, w.bob, second["items"].([]any)[0].(map[string]any)["owner"])
	past := w.body(t, "HoldersResponse", path+"?at_slot=35")
	require.Len(t, past["items"], 2)
	require.EqualValues(t, 35, past["as_of_slot"])
	require.Nil(t, past["supply"], "this node has no history")
}

func accountsRoute(t *testing.T, w *world) {
	body := w.body(t, "AccountsResponse", "/tokens/"+w.one+"/accounts?limit=2")
	items := body["items"].([]any)
	require.Len(t, items, 2)
	require.Equal(t, w.alice, items[0].(map[string]any)["owner"])
	require.Equal(t, "300", items[1].(map[string]any)["amount"])
	require.Equal(t, "1000", body["supply"])
	require.Equal(t, true, body["complete"])
	require.Nil(t, items[0].(map[string]any)["is_frozen"])
	require.Nil(t, items[0].(map[string]any)["delegated_amount"])

	// Of the account of bob, who holds 300, everything was read; 12 of 50 are spent.
	bob := items[1].(map[string]any)["account"].(string)
	w.reach(t, 1)
	w.exec(t, `INSERT INTO mintlake.account_states_raw (mint, account, opened, frozen, approved) VALUES
		('%s', base58Decode('%s'), bitShiftLeft(toUInt128(5), 64), (bitShiftLeft(toUInt128(5), 64), true), (bitShiftLeft(toUInt128(6), 64), true, base58Decode('%s'), 50))`, w.one, bob, w.alice)
	w.exec(t, `INSERT INTO mintlake.delegate_spends_raw (mint, account, slot, place, delegate, amount) SELECT '%s', base58Decode('%s'), 5 + number, 7, base58Decode('%s'), 12 FROM numbers(2)`, w.one, bob, w.alice)
	body = w.body(t, "AccountsResponse", "/tokens/"+w.one+"/accounts?limit=3")
	second := body["items"].([]any)[1].(map[string]any)
	require.Equal(t, true, second["is_frozen"])
	require.Equal(t, w.alice, second["delegate"])
	require.Equal(t, "38", second["delegated_amount"], "what was spent before the approval does not count")
	require.Nil(t, body["items"].([]any)[0].(map[string]any)["is_frozen"])
}

func ownerAccountsRoute(t *testing.T, w *world) {
	path := "/owners/" + w.alice + "/accounts"
	all := w.body(t, "OwnerAccountsResponse", path)
	require.Len(t, all["items"], 2)
	require.Nil(t, all["next"])
	require.Equal(t, false, all["complete"], "alice may have accounts that nobody told")
	first := w.body(t, "OwnerAccountsResponse", path+"?limit=1")
	second := w.body(t, "OwnerAccountsResponse", path+"?limit=1&cursor="+first["next"].(string))
	require.Equal(t, all["items"], append(first["items"].([]any), second["items"].([]any)...))
	one := w.body(t, "OwnerAccountsResponse", path+"?mint="+w.one)
	require.Len(t, one["items"], 1)
	require.Equal(t, true, one["complete"], "the mint is")
	nobody := pubkey.Key{77}.String()
	require.Equal(t, false, w.body(t, "OwnerAccountsResponse", "/owners/"+nobody+"/accounts")["complete"])

	// A validator's snapshot had all accounts, and all slots since have balances of all mints.
	w.reach(t, 15)
	w.exec(t, `INSERT INTO mintlake.balance_mints_raw (mint, partition, based) VALUES ('%s', 0, 16)`, pubkey.Key{}.String())
	w.exec(t, `INSERT INTO mintlake.slots_raw (slot, status, balances) VALUES (40, 'ingested', 1)`)
	empty := w.body(t, "OwnerAccountsResponse", "/owners/"+nobody+"/accounts")
	require.Equal(t, true, empty["complete"])
	require.EqualValues(t, 16, empty["since_slot"])
	require.Equal(t, false, w.body(t, "OwnerAccountsResponse", path)["complete"], "the mint two is not whole")
	w.exec(t, `INSERT INTO mintlake.slots_raw (slot, status, balances) VALUES (41, 'ingested', 7)`)
	require.Equal(t, false, w.body(t, "OwnerAccountsResponse", "/owners/"+nobody+"/accounts")["complete"], "the newest slots have those of a list of mints")
}

func holdersHistoryRoute(t *testing.T, w *world) {
	body := w.body(t, "HoldersHistoryResponse", "/tokens/"+w.one+"/holders/history?limit=1")
	require.Equal(t, []any{map[string]any{"time": float64(time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC).Unix()), "holders": 3.0}}, body["points"])
}

func transfersRoutes(t *testing.T, w *world) {
	body := w.body(t, "TransfersResponse", "/tokens/"+w.one+"/transfers?limit=1")
	require.Equal(t, true, body["complete"])
	require.EqualValues(t, 20, body["since_slot"])
	require.EqualValues(t, 6, body["decimals"])
	item := body["items"].([]any)[0].(map[string]any)
	for name, want := range map[string]any{
		"slot": 21.0, "block_time": 1.7e12, "kind": "transfer", "from_owner": w.alice, "to_owner": w.bob, "amount": "20", "fee": nil, "instruction_index": 3.0, "inner_instruction_index": nil,
	} {
		require.Equal(t, want, item[name], name)
	}
	next := w.body(t, "TransfersResponse", "/tokens/"+w.one+"/transfers?cursor="+body["next"].(string))
	require.Len(t, next["items"], 1)
	require.Len(t, w.body(t, "TransfersResponse", "/tokens/"+w.one+"/transfers?min_amount=11&kind=transfer&from=1700000000&to=1700000001")["items"], 1)
	require.Empty(t, w.body(t, "TransfersResponse", "/tokens/"+w.two+"/transfers")["items"])

	path := "/owners/" + w.alice + "/transfers"
	body = w.body(t, "OwnerTransfersResponse", path)
	require.Len(t, body["items"], 2)
	item = body["items"].([]any)[0].(map[string]any)
	for name, want := range map[string]any{"direction": "out", "mint": w.one, "decimals": 6.0, "from_owner": w.alice, "to_owner": w.bob, "to_account": nil} {
		require.Equal(t, want, item[name], name)
	}
	require.Equal(t, true, body["complete"])
	require.Empty(t, w.body(t, "OwnerTransfersResponse", path+"?direction=in")["items"])
	require.Empty(t, w.body(t, "OwnerTransfersResponse", path+"?mint="+w.two)["items"])
}

func walletRoute(t *testing.T, w *world) {
	price := 1e6
	w.SetVolumes([]replica.Volume{{Mint: pubkey.MustParse(w.two), Market: &replica.Market{PriceUSD: &price, Trades: 1, AsOf: time.Now()}}})
	path := "/owners/" + w.alice + "/tokens"
	body := w.body(t, "OwnerTokensResponse", path)
	require.Equal(t, []any{
		map[string]any{"mint": w.two, "symbol": "TWO", "name": "The Two", "decimals": 6.0, "amount": "5", "accounts": 1.0, "price_usd": 1e6, "value_usd": 5.0, "complete": false},
		map[string]any{"mint": w.one, "symbol": "ONE", "name": "The One", "decimals": 6.0, "amount": "600", "accounts": 1.0, "price_usd": nil, "value_usd": nil, "complete": true},
	}, body["items"])
	require.EqualValues(t, 2, body["total"])
	require.Equal(t, false, body["complete"], "one of them is not")
	first := w.body(t, "OwnerTokensResponse", path+"?limit=1")
	second := w.body(t, "OwnerTokensResponse", path+"?limit=1&cursor="+first["next"].(string))
	require.Equal(t, w.one, second["items"].([]any)[0].(map[string]any)["mint"])
	require.Nil(t, second["next"])
	past := w.body(t, "OwnerTokensResponse", path+"?at_slot=45")
	require.Len(t, past["items"], 1)
	require.Equal(t, true, past["complete"])
	require.Empty(t, w.body(t, "OwnerTokensResponse", "/owners/"+w.one+"/tokens")["items"])
}

// dustyWallet: a wallet with more tokens than are ordered by value is read by mint, each token
// once.
func dustyWallet(t *testing.T, w *world) {
	const tokens = 10_001
	w.exec(t, `INSERT INTO mintlake.wallet_accounts_raw (owner, mint, account, amount, open, position)
		SELECT '%s', base58Encode(unhex(leftPad(hex(number), 64, 'a'))), toString(number), 1, true, 1 FROM numbers(%d)`, w.two, tokens)
	path, seen := "/owners/"+w.two+"/tokens?limit=1000", map[any]bool{}
	for next := ""; ; {
		body := w.body(t, "OwnerTokensResponse", path+"&cursor="+next)
		require.Equal(t, "mint", body["sort"])
		require.EqualValues(t, tokens, body["total"])
		for _, item := range body["items"].([]any) {
			seen[item.(map[string]any)["mint"]] = true
		}
		if body["next"] == nil {
			break
		}
		next = body["next"].(string)
	}
	require.Len(t, seen, tokens)
	require.Len(t, w.body(t, "OwnerAccountsResponse", "/owners/"+w.two+"/accounts?limit=1000")["items"], 1000)
}

// holdersOfRows: figures of rows, order and filters, once the node has read the counts.
func holdersOfRows(t *testing.T, w *world) {
	require.Eventually(t, func() bool { return w.get("/tokens/" + w.one + "?fields=holders").decode(t)["holders"] == 3.0 }, hang, 20*time.Millisecond)
	row := w.get("/tokens/" + w.one + "?fields=symbol,holders,top10_pct").decode(t)
	require.Equal(t, map[string]any{"symbol": "ONE", "holders": 3.0, "top10_pct": 90.0}, row)
	whole := w.body(t, "Token", "/tokens/"+w.two+"?market=true")
	require.EqualValues(t, 1, whole["holders"])
	require.Contains(t, whole, "holders_change_24h")
	order := func(query string) (list []string) {
		for _, item := range w.body(t, "SearchResponse", "/tokens?"+query)["items"].([]any) {
			list = append(list, item.(map[string]any)["symbol"].(string))
		}
		return list
	}
	require.Equal(t, []string{"ONE", "TWO"}, order("sort=holders"))
	require.Equal(t, []string{"ONE"}, order("min_holders=2"))
	require.Equal(t, []string{"TWO"}, order("max_top10_pct=50"))
	require.Empty(t, order("max_top10_pct=50&min_holders=2"))
	list := w.get("/tokens/v2/search?query=" + w.one + "," + w.two).body
	require.Contains(t, string(list), `"holderCount":3`)
	require.Contains(t, string(list), `"topHoldersPercentage":90`)
}

func balancesRefuse(t *testing.T, w *world) {
	for path, want := range map[string]string{
		"/tokens/" + w.one + "/holders?limit=1001":                "limit is \"1001\": must be a whole number from 1 to 1000",
		"/tokens/" + w.one + "/holders?exclude=whale":             "exclude is \"whale\": must be of wallet, pool, curve, burn, program, unknown, several with commas between",
		"/tokens/" + w.one + "/holders?cursor=1":                  "cursor is \"1\": must be next of an earlier page",
		"/tokens/" + w.one + "/holders?at_slot=19":                "at_slot is outside of what is held: balances are held from slot 20 to 50",
		"/tokens/" + w.one + "/holders?at_slot=51":                "at_slot is outside of what is held: balances are held from slot 20 to 50",
		"/tokens/" + w.one + "/holders?at_slot=30&exclude=wallet": "exclude has wallet or program beside at_slot: wallets and programs are told apart for the present only",
		"/tokens/" + w.one + "/transfers?min_amount=-1":           "min_amount is \"-1\": must be a raw amount, a whole number from 0 to 2^64-1",
		"/tokens/" + w.one + "/transfers?kind=gift":               "kind is \"gift\": must be " + strings.Join(schemas.TransferKinds(), ", "),
		"/owners/" + w.alice + "/transfers?direction=up":          "direction is \"up\": must be in, out",
		"/owners/" + w.alice + "/transfers?mint=x":                "mint is \"x\": must be a mint address, base58",
		"/owners/" + w.alice + "/tokens?at_slot=51":               "at_slot is outside of what is held: balances are held from slot 20 to 50",
		"/tokens?max_top10_pct=101":                               "max_top10_pct is \"101\": must be a number from 0 to 100",
		"/tokens?min_holders=0":                                   "min_holders is \"0\": must be a whole number from 1 to 4294967295",
	} {
		require.Equal(t, want, w.get(path).refused(t, 400), path)
	}
	w.get("/owners/nobody/tokens").refused(t, 404)
	w.get("/tokens/"+w.alice+"/holders").refused(t, 404)
	w.get("/tokens/"+w.alice+"/transfers").refused(t, 404)
}

// TestBalancesOff: a node without balances says so, and its rows have no holders.
func TestBalancesOff(t *testing.T) {
	log := apitest.NewLog()
	mint := log.Token(1, 10, "ONE", "The One", time.Now())
	n := startNode(t, log).awaitReady()
	for _, path := range []string{"/tokens/" + mint + "/accounts", "/tokens/" + mint + "/holders", "/tokens/" + mint + "/holders/history", "/tokens/" + mint + "/transfers", "/owners/" + mint + "/tokens", "/owners/" + mint + "/transfers"} {
		require.Equal(t, "this node keeps no balances: the setting balances.mode is off", n.get(path).refused(t, 404))
	}
	require.NotContains(t, n.get("/tokens/"+mint+"?market=true").decode(t), "holders")
	require.Equal(t, map[string]any{"holders": nil}, n.get("/tokens/"+mint+"?fields=holders").decode(t))
}

// gone is a reader whose ClickHouse does not answer.
type gone struct{ balances.Reader }

func (gone) Holders(context.Context, balances.Ranking) (balances.Ranked, error) {
	return balances.Ranked{}, fmt.Errorf("%w: refused", clickhouse.ErrUnavailable)
}

func (gone) Held(context.Context, pubkey.Key, string, int, *uint64) (balances.Held, error) {
	return balances.Held{}, errors.New("a defect")
}

func (gone) Counts(context.Context, time.Time, func(balances.Count)) error {
	return clickhouse.ErrUnavailable
}

func TestBalancesWithoutClickHouse(t *testing.T) {
	log := apitest.NewLog()
	mint := log.Token(1, 10, "ONE", "The One", time.Now())
	n := startNodeWith(t, log, func(deps *api.Deps) { deps.Balances = gone{} }).awaitReady()
	r := n.get("/tokens/" + mint + "/holders")
	r.refused(t, 503)
	require.Equal(t, "5", r.Header.Get("Retry-After"))
	n.get("/owners/"+mint+"/tokens").refused(t, 500)
}
