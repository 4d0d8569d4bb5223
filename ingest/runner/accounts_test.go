package runner_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/layout"
)

func mintAccount(t testing.TB, mint pubkey.Key, supply uint64, transaction int) chain.Account {
	data := layout.Mint{Supply: supply, Decimals: 6}
	return chain.Account{Key: mint, Owner: pubkey.MustParse(schemas.ProgramToken), Data: data.Bytes(), Signature: chain.Signature{9}, Transaction: transaction}
}

// TestAccountsOfABlockAreFacts: they stand behind the transaction that wrote them, and before the
// block's slot record.
func TestAccountsOfABlockAreFacts(t *testing.T) {
	l := &log{}
	mint := mintKey(1)
	b := newBlock(100, 99, transactionOf(func(b *builder) { b.mintTo(mint) }), transactionOf(func(b *builder) { b.mintTo(mint) }))
	noMint, foreign := mintAccount(t, mintKey(2), 5, 0), mintAccount(t, mintKey(3), 5, 0)
	noMint.Data = noMint.Data[:80]
	foreign.Owner = mintKey(4)
	b.Accounts = []chain.Account{noMint, foreign, mintAccount(t, mint, 1000, 0)}
	require.NoError(t, newRunner(t, l, blocks("geyser", b)).Run(context.Background()))

	facts := l.of("enrichment.mint_account")
	require.Len(t, facts, 1)
	require.Equal(t, schemas.TopicEnrichments, facts[0].Topic)
	require.Equal(t, base58.Encode(mint[:]), string(facts[0].Key))
	require.Equal(t, "0000000000000064800000ffffffffff", header(facts[0], schemas.HeaderPosition))
	fact := new(eventspb.Enrichment)
	require.NoError(t, proto.Unmarshal(facts[0].Value, fact))
	require.Equal(t, byte(9), fact.GetSignature()[0])
	require.Positive(t, b.BlockTime)
	read, _ := stateOf(fact).Token(mint)
	require.Equal(t, new(b.BlockTime*1000), read.FirstSeenAt, "what a transaction wrote to an account was seen in its block")
	require.Equal(t, read.FirstSeenAt, read.LastSeenAt)

	state := new(registry.State)
	for _, f := range registry.FactsOfEnrichment(fact) {
		state.Apply(f)
	}
	for _, record := range l.of("token_event.mint_to") {
		event := new(eventspb.TokenEvent)
		require.NoError(t, proto.Unmarshal(record.Value, event))
		for _, f := range registry.FactsOfEvent(event) {
			state.Apply(f)
		}
	}
	second := new(eventspb.TokenEvent)
	require.NoError(t, proto.Unmarshal(l.of("token_event.mint_to")[1].Value, second))
	token, member := state.Token(mint)
	require.True(t, member)
	require.Equal(t, 1000+second.GetMintTo().GetAmount(), supplyOf(t, token), "the second transaction is not in the account yet")
	records := l.records
	at := func(kind string) int {
		for i, r := range records {
			if header(r, schemas.HeaderType) == kind {
				return i
			}
		}
		return -1
	}
	require.Less(t, at("enrichment.mint_account"), at(schemas.TypeSlot))
}

func stateOf(fact *eventspb.Enrichment) *registry.State {
	state := new(registry.State)
	for _, f := range registry.FactsOfEnrichment(fact) {
		state.Apply(f)
	}
	return state
}

func supplyOf(t testing.TB, token registry.Token) uint64 {
	t.Helper()
	require.NotNil(t, token.Supply)
	var supply uint64
	require.NoError(t, json.Unmarshal([]byte(*token.Supply), &supply))
	return supply
}

// TestMetadataAccountsOfABlockAreFacts with accounts that the program itself left.
func TestMetadataAccountsOfABlockAreFacts(t *testing.T) {
	raw, err := os.ReadFile("../decode/testdata/svm/metaplex.json")
	require.NoError(t, err)
	var fixture struct {
		Steps []struct {
			Mints map[string]*struct {
				Owner string `json:"owner"`
				Data  []byte `json:"data"`
			} `json:"mints"`
		} `json:"steps"`
	}
	require.NoError(t, json.Unmarshal(raw, &fixture))
	b := newBlock(100, 99, transactionOf(func(b *builder) { b.mintTo(mintKey(1)) }))
	metadata := 0
	for address, account := range fixture.Steps[0].Mints {
		if account == nil {
			continue
		}
		a := chain.Account{Key: pubkey.MustParse(address), Owner: pubkey.MustParse(account.Owner), Data: account.Data}
		b.Accounts = append(b.Accounts, a)
		if account.Owner == schemas.ProgramMetaplex {
			metadata++
			a.Key[0]++ // which is not where the program keeps it
			b.Accounts = append(b.Accounts, a)
		}
	}
	require.Positive(t, metadata)
	l := &log{}
	require.NoError(t, newRunner(t, l, blocks("geyser", b)).Run(context.Background()))
	facts := l.of("enrichment.metaplex_account")
	require.Len(t, facts, metadata)
	fact := new(eventspb.Enrichment)
	require.NoError(t, proto.Unmarshal(facts[0].Value, fact))
	require.NotEmpty(t, fact.GetMetaplexAccount().GetMetadata().GetName())
	require.NotEmpty(t, l.of("enrichment.mint_account"))
}
