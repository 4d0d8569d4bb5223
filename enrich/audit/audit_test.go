package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/metertest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/layout"
)

// chain is a JSON-RPC server in this process: accounts, at a slot that goes on with every call.
type chain struct {
	mu       sync.Mutex
	slot     uint64
	accounts map[pubkey.Key]*solana.Account
	calls    int
	// before is called in every call, with the slot that it answers at.
	before func(slot uint64)
}

func (c *chain) GetMultipleAccounts(_ context.Context, keys []pubkey.Key, _ solana.AccountOptions) (uint64, []*solana.Account, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.slot++
	if c.before != nil {
		c.before(c.slot)
	}
	found := make([]*solana.Account, len(keys))
	for i, key := range keys {
		found[i] = c.accounts[key]
	}
	return c.slot, found, nil
}

// book is a registry in this process: states, folded as the real one is.
type book struct {
	slot   uint64
	mints  []pubkey.Key
	states map[pubkey.Key]*registry.State
	// columns overrule what the facts say.
	columns map[pubkey.Key]map[string]string
	// late facts come after the first look at the rows.
	late  []registry.Fact
	looks int
}

func (b *book) Sample(context.Context, int, uint64) ([]pubkey.Key, error) { return b.mints, nil }
func (b *book) Slot(context.Context) (uint64, error)                      { return b.slot, nil }

func (b *book) apply(facts ...registry.Fact) {
	for _, fact := range facts {
		if b.states[fact.Mint] == nil {
			b.states[fact.Mint] = &registry.State{}
		}
		b.states[fact.Mint].Apply(fact)
	}
}

func (b *book) Rows(_ context.Context, mints []pubkey.Key) (map[pubkey.Key]Row, error) {
	if b.looks++; b.looks > 1 {
		b.apply(b.late...)
	}
	rows := map[pubkey.Key]Row{}
	for _, mint := range mints {
		state := b.states[mint]
		if state == nil {
			continue
		}
		token, _ := state.Token(mint)
		text := func(value *string) string {
			if value == nil {
				return ""
			}
			return *value
		}
		row := Row{Facts: append([]registry.Fact{}, state.Facts()...), Columns: map[string]string{
			"symbol": token.Symbol, "name": token.Name, "supply": text(token.Supply), "mint_authority": text(token.MintAuthority),
			"freeze_authority": text(token.FreezeAuthority), "metaplex_uri": text(token.MetaplexURI), "update_authority": text(token.UpdateAuthority),
			"program": schemas.ProgramToken,
		}}
		if token.IsToken22 {
			row.Columns["program"] = schemas.ProgramToken2022
		}
		for name, value := range b.columns[mint] {
			row.Columns[name] = value
		}
		rows[mint] = row
	}
	return rows, nil
}

const readAt = 1000

// world has n mints that the registry knows from reads at slot 900, and a chain that agrees.
func world(n int) (*chain, *book, []pubkey.Key) {
	c := &chain{slot: readAt - 1, accounts: map[pubkey.Key]*solana.Account{}}
	b := &book{slot: 1 << 40, states: map[pubkey.Key]*registry.State{}, columns: map[pubkey.Key]map[string]string{}}
	var keys []pubkey.Key
	for i := range n {
		var key pubkey.Key
		copy(key[:], fmt.Sprintf("mint-%06d-of-a-test-xxxxxxxxxxxx", i))
		keys = append(keys, key)
		b.mints = append(b.mints, key)
		metaplex, _ := tokenaccount.MetaplexAddress(key)
		c.accounts[key] = mintAccount(uint64(100 * i))
		c.accounts[metaplex] = metaplexAccount(key, fmt.Sprintf("Token %d", i))
		known := mintRead{mint: key, slot: 900, mintAccount: c.accounts[key], metaplexAccount: c.accounts[metaplex]}
		view, _ := chainView(&known, &result{})
		for _, fact := range view.facts {
			b.apply(fact)
		}
	}
	return c, b, keys
}

func mintAccount(supply uint64) *solana.Account {
	data := mintOf(supply)
	return &solana.Account{Owner: tokenaccount.ProgramToken, Data: data.Bytes()}
}

func mintOf(supply uint64) layout.Mint {
	return layout.Mint{MintAuthority: layout.Some(pubkey.Key(bytes.Repeat([]byte{7}, 32))), Supply: supply, Decimals: 6}
}

func metaplexAccount(mint pubkey.Key, name string) *solana.Account {
	data := layout.Metaplex{UpdateAuthority: pubkey.Key(bytes.Repeat([]byte{9}, 32)), Mint: mint, Mutable: true, Standard: layout.StandardFungible,
		MetaplexData: layout.MetaplexData{Name: name, Symbol: "SYM", URI: "https://u.test/1"}}
	return &solana.Account{Owner: tokenaccount.ProgramMetaplex, Data: data.Bytes()}
}

func run(t *testing.T, cfg Config, c *chain, b *book) *Report {
	t.Helper()
	cfg.CallsPerSecond, cfg.settle = 1e6, time.Microsecond
	var recorder metertest.Recorder
	auditor, err := New(cfg, Deps{Registry: b, RPC: c, Meter: recorder.Meter})
	require.NoError(t, err)
	report, err := auditor.Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, len(b.mints), recorder.RequireWhole(t, "audit, round 1"))
	return report
}

func fact(mint pubkey.Key, register registry.Register, slot uint64, item, value string) registry.Fact {
	return registry.Fact{Mint: mint, Register: register, Item: item, Position: schemas.Position{Slot: slot, Order: 5}, Value: value}
}

func TestARegistryThatAgreesIsWhollyAccurate(t *testing.T) {
	c, b, _ := world(120)
	report := run(t, Config{}, c, b)
	require.Equal(t, 120, report.Sampled)
	require.Equal(t, 1, report.Rounds)
	require.Equal(t, 3, c.calls, "fifty mints a call")
	require.EqualValues(t, readAt, report.FromSlot)
	require.EqualValues(t, readAt+2, report.ToSlot)
	require.Empty(t, report.Differences)
	for _, name := range []string{"exists", "program", "decimals", "supply", "mint_authority", "freeze_authority", "name", "symbol", "metaplex_uri", "update_authority", "token_standard", "row"} {
		field := report.field(name)
		require.Equal(t, 120, field.Equal, name)
		require.EqualValues(t, 1, *field.Accuracy, name)
	}
	require.NoError(t, report.Check(1, 1))
}

func TestEveryKindOfDifferenceIsTold(t *testing.T) {
	c, b, keys := world(10)
	// wrong
	b.apply(fact(keys[0], registry.RegisterSupply, 950, "", "77"))
	// the row is not what its facts say
	b.columns[keys[1]] = map[string]string{"name": "another"}
	// gone without an event
	delete(c.accounts, keys[2])
	// wrong: there is one
	b.apply(fact(keys[3], registry.RegisterMintAuthority, 950, "", ""))
	// sighted only
	b.states[keys[4]] = &registry.State{}
	b.apply(fact(keys[4], registry.RegisterProgram, 5, "", schemas.ProgramToken)) //
	b.apply(fact(keys[4], registry.RegisterDecimals, 5, "", "6"))                 //
	metaplex, _ := tokenaccount.MetaplexAddress(keys[5])                          //
	// its metadata is closed
	delete(c.accounts, metaplex)
	// accounts do not say it
	b.apply(fact(keys[6], registry.RegisterOffchain, 5, "", `{"uri":"x","name":"never mind"}`))

	report := run(t, Config{}, c, b)
	require.Equal(t, Field{Name: "supply", Compared: 8, Equal: 7, Differ: 1, UnknownHere: 1, Accuracy: report.field("supply").Accuracy, Known: report.field("supply").Known}, *report.field("supply"))
	require.InDelta(t, 7.0/8, *report.field("supply").Accuracy, 1e-9)
	require.Equal(t, 1, report.field(FieldRow).Differ)
	require.Equal(t, 1, report.field(FieldExists).Differ)
	require.Equal(t, 1, report.field("mint_authority").Differ)
	require.Equal(t, 1, report.field("name").UnknownThere)
	require.Equal(t, 1, report.field("name").UnknownHere)
	require.Contains(t, report.Differences, Difference{Mint: keys[0], Field: "supply", Verdict: Differ, Slot: c.slot, Here: "77", There: "0"})
	require.Contains(t, report.Differences, Difference{Mint: keys[2], Field: FieldExists, Verdict: Differ, Slot: c.slot, Here: "mint", There: "no account"})
	require.Equal(t, 4, report.Rounds, "what differs is read again")
	require.ErrorContains(t, report.Check(0.95, 0), "accuracy of supply is 87.500%")
	require.NoError(t, report.Check(0.5, 0))
	require.ErrorContains(t, report.Check(0, 0.95), "known of mint_authority is 88.888%")
}

// What happened behind the slot of the read is no error: a supply is counted back, a replaced value
// is read again.
func TestABusyTokenIsNoError(t *testing.T) {
	c, b, keys := world(3)
	// minted behind every read
	b.apply(fact(keys[0], registry.RegisterSupplyDelta, readAt+1, "a", "5"))
	b.apply(fact(keys[0], registry.RegisterSupplyDelta, readAt-1, "b", "30"))
	b.apply(fact(keys[0], registry.RegisterSupplyDelta, readAt, "c", "-10"))
	c.accounts[keys[0]] = mintAccount(20)
	// changed behind the first read only
	b.apply(fact(keys[1], registry.RegisterMintAuthority, readAt+1, "", schemas.MintWrappedSOL))
	c.before = func(slot uint64) {
		if slot == readAt+1 {
			account := mintAccount(100)
			key, _ := pubkey.Parse(schemas.MintWrappedSOL)
			copy(account.Data[4:36], key[:])
			c.accounts[keys[1]] = account
		}
	}
	before := c.before
	c.before = func(slot uint64) { // changes all the time
		before(slot)
		b.apply(fact(keys[2], registry.RegisterSupply, slot+2, "", "1"))
	}

	report := run(t, Config{}, c, b)
	require.Empty(t, report.Differences)
	require.Equal(t, 2, report.field("supply").Equal)
	require.Equal(t, 1, report.field("supply").Moved)
	require.Equal(t, 3, report.field("mint_authority").Equal)
	require.Equal(t, 1, report.Settled)
}

// A fact above the chain's head is wrong, and not moved: an upstream claimed a slot that the chain
// has not reached, and no later read replaces it.
func TestAFactAboveTheChainsHeadIsWrong(t *testing.T) {
	for _, slot := range []uint64{math.MaxUint64 - 1, 1 << 53, 2 * readAt, readAt + 200} {
		c, b, keys := world(8)
		account := mintOf(700)
		c.accounts[keys[4]] = &solana.Account{Owner: tokenaccount.ProgramToken2022, Data: account.Bytes()}
		b.apply(fact(keys[4], registry.RegisterProgram, 950, "", schemas.ProgramToken2022), fact(keys[4], registry.RegisterSupply, 950, "", "700"))

		b.apply(fact(keys[0], registry.RegisterSupply, slot, "", "77"))
		b.apply(fact(keys[1], registry.RegisterSupply, slot, "", "100")) // right by chance
		b.apply(fact(keys[2], registry.RegisterSupplyDelta, slot, "a", "5"))
		b.apply(fact(keys[3], registry.RegisterClosed, slot, "", "true"))
		b.apply(fact(keys[4], registry.RegisterExtension, slot, "pausable", ""))
		b.apply(fact(keys[5], registry.RegisterMetaplexName, slot, "", "another"))
		// no account states it
		b.apply(fact(keys[6], registry.RegisterOffchain, slot, "", `{"uri":"x"}`))
		report := run(t, Config{headWait: time.Millisecond}, c, b)
		for field, wrong := range map[string]int{"supply": 3, FieldExists: 1, FieldExtensions: 1, "name": 1, "mint_authority": 0} {
			require.Equal(t, wrong, report.field(field).Differ, "%s at %d: %+v", field, slot, report.Differences)
			require.Zero(t, report.field(field).Moved, "%s at %d", field, slot)
		}
		require.Error(t, report.Check(1, 0))
		require.Contains(t, report.Differences[0].Here, fmt.Sprintf("at slot %d", slot))
	}
}

// A registry that is ahead of the audit's upstream has no wrong facts: the upstream is waited for.
func TestAnUpstreamThatIsBehindIsNoError(t *testing.T) {
	c, b, keys := world(3)
	for _, key := range keys {
		b.apply(fact(key, registry.RegisterSupply, readAt+15, "", "5"))
		c.accounts[key] = mintAccount(5)
	}
	report := run(t, Config{headWait: time.Minute}, c, b)
	require.Zero(t, report.field("supply").Differ, "%+v", report.Differences)
}

func TestARowThatFollowsLateIsNoError(t *testing.T) {
	c, b, keys := world(2)
	c.accounts[keys[0]] = mintAccount(8)
	b.late = []registry.Fact{fact(keys[0], registry.RegisterSupplyDelta, readAt-1, "a", "8")}
	report := run(t, Config{}, c, b)
	require.Empty(t, report.Differences)
	require.Equal(t, 1, report.Settled)
	require.Equal(t, 2, report.Rounds)
}

func TestARegistryThatStandsStillIsTold(t *testing.T) {
	c, b, _ := world(2)
	b.slot = 950
	auditor, err := New(Config{Wait: time.Millisecond}, Deps{Registry: b, RPC: c})
	require.NoError(t, err)
	_, err = auditor.Run(t.Context())
	require.ErrorIs(t, err, ErrBehind)
	require.EqualValues(t, 950, run(t, Config{}, c, b).RegistrySlot, "without a wait it is compared as it is")
}

func TestListedDifferencesAreBounded(t *testing.T) {
	c, b, keys := world(20)
	for _, key := range keys {
		b.apply(fact(key, registry.RegisterSupply, 950, "", "123456"))
	}
	report := run(t, Config{MaxDifferences: 5, Rounds: 1}, c, b)
	require.Len(t, report.Differences, 5)
	require.Equal(t, 20, report.DifferencesTotal)
	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text))
	require.Contains(t, text.String(), "5 of 20 differences")
	encoded, err := json.Marshal(report)
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"accuracy":0`)
}

// A Token-2022 mint: extensions are compared one by one, and its own metadata counts where the
// pointer points to it.
func TestExtensionsAreComparedOneByOne(t *testing.T) {
	c, b, keys := world(1)
	mint, mintText := keys[0], keys[0].String()
	data := mintOf(0)
	data.Extensions = layout.AppendExtension(nil, layout.ExtMintClose, bytes.Repeat([]byte{5}, 32))
	data.Extensions = layout.AppendExtension(data.Extensions, layout.ExtNonTransferable, nil)
	c.accounts[mint] = &solana.Account{Owner: tokenaccount.ProgramToken2022, Data: data.Bytes()}
	b.apply(fact(mint, registry.RegisterProgram, 950, "", schemas.ProgramToken2022))
	for _, f := range registry.FactsOfEvent(&eventspb.TokenEvent{
		Mint: mint[:], Position: &eventspb.Position{Slot: 960}, Payload: &eventspb.TokenEvent_ExtensionSet{ExtensionSet: &eventspb.ExtensionSet{
			Extension: "mint_close_authority", Attributes: []*eventspb.Attribute{{Name: "close_authority", Value: mintText}},
		}},
	}) {
		b.apply(f)
	}
	b.apply(fact(mint, registry.RegisterExtension, 950, "pausable", ""))

	report := run(t, Config{Rounds: 1}, c, b)
	names := report.field(FieldExtensions)
	require.Equal(t, []int{1, 1, 1}, []int{names.Equal, names.Differ, names.UnknownHere}, "%+v", report.Differences)
	require.Equal(t, 1, report.field(FieldExtensionAttributes).Differ, "%+v", report.Differences)
}

// Amounts inside extensions change without events: they are told apart and do not fail an audit.
func TestBalancesInsideExtensionsDoNotFailAnAudit(t *testing.T) {
	c, b, keys := world(1)
	mint := keys[0]
	data, fees := mintOf(0), make([]byte, layout.FeeConfigSize)
	fees[layout.FeeWithheldAt] = 77
	data.Extensions = layout.AppendExtension(nil, layout.ExtTransferFeeConfig, fees)
	c.accounts[mint] = &solana.Account{Owner: tokenaccount.ProgramToken2022, Data: data.Bytes()}
	b.apply(fact(mint, registry.RegisterProgram, 950, "", schemas.ProgramToken2022))
	b.apply(fact(mint, registry.RegisterExtension, 950, "transfer_fee_config", ""))
	b.apply(fact(mint, registry.RegisterExtension, 950, "transfer_fee_config.withheld_amount", "5"))
	report := run(t, Config{Rounds: 1}, c, b)
	require.Equal(t, 1, report.field(FieldExtensionBalances).Differ, "%+v", report.Differences)
	require.Zero(t, report.field(FieldExtensionAttributes).Differ)
	require.NoError(t, report.Check(1, 0))
}

func TestWrongSettingsAreRefused(t *testing.T) {
	_, err := New(Config{Sample: -1, Rounds: -1}, Deps{})
	for _, key := range []string{"sample", "rounds", "a registry and an RPC client"} {
		require.ErrorContains(t, err, key)
	}
}
