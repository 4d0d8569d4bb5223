package decode_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func named(name string) pubkey.Key { return sha256.Sum256([]byte(name)) }

// invoke is a transaction with one outer instruction of the program on the named accounts.
func invoke(t testing.TB, program string, data []byte, accounts ...string) *chain.Transaction {
	t.Helper()
	tx := &chain.Transaction{Index: 0, Keys: []pubkey.Key{key(t, program)}, Signature: chain.Signature{9}}
	call := chain.Call{Data: data}
	for _, a := range accounts {
		k, at := named(a), -1
		for i := range tx.Keys {
			if tx.Keys[i] == k {
				at = i
			}
		}
		if at < 0 {
			tx.Keys = append(tx.Keys, k)
			at = len(tx.Keys) - 1
		}
		call.Accounts = append(call.Accounts, byte(at))
	}
	tx.Instructions = []chain.Instruction{{Call: call}}
	return tx
}

func kinds(events []*eventspb.TokenEvent) []schemas.Kind {
	var all []schemas.Kind
	for _, event := range events {
		all = append(all, schemas.KindOf(event))
	}
	return all
}

// part is a Batch part: its header and its data.
func part(accounts int, data ...byte) []byte {
	return append([]byte{byte(accounts), byte(len(data))}, data...)
}

func joined(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func amount(number byte, low byte) []byte { return []byte{number, low, 0, 0, 0, 0, 0, 0, 0} }

func TestBatchPartsAreInstructionsOfTheirOwn(t *testing.T) {
	data := joined([]byte{255},
		part(3, amount(7, 11)...), // MintTo
		part(3, amount(3, 12)...), // Transfer
		part(4, amount(8, 13)...), // Burn with a signer behind
		part(2, 6, 0, 0),          // SetAuthority mint_tokens none
		part(1, 22),               // InitializeImmutableOwner
	)
	for _, program := range []string{schemas.ProgramToken, schemas.ProgramToken2022} {
		tx := invoke(t, program, data, "mint", "account", "authority", "a", "b", "c", "account", "mint", "owner", "signer", "mint", "authority", "a")
		events := decode.New(nil).Decode(tx, 5, 0)
		require.Equal(t, []schemas.Kind{schemas.KindMintTo, schemas.KindBurn, schemas.KindSetAuthority}, kinds(events))
		for i, batch := range []uint32{0, 2, 3} {
			require.Equal(t, batch, *events[i].GetPosition().BatchIndex)
			require.Nil(t, events[i].GetPosition().InnerInstructionIndex)
			mint := named("mint")
			require.Equal(t, mint[:], events[i].GetMint())
		}
		require.Equal(t, uint64(11), events[0].GetMintTo().GetAmount())
		owner := named("owner")
		require.Equal(t, owner[:], events[1].GetBurn().GetAuthority())
	}
}

func TestBrokenBatchKeepsWhatCanBeRead(t *testing.T) {
	good := part(3, amount(7, 1)...)
	for name, tail := range map[string][]byte{
		"no header":          {1},
		"data beyond end":    {0, 9, 1},
		"accounts beyond":    part(9, 5),
		"batch in a batch":   part(0, 255, 1, 1, 5),
		"nothing but header": {2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tx := invoke(t, schemas.ProgramToken, joined([]byte{255}, good, tail), "mint", "account", "authority")
			events := decode.New(nil).Decode(tx, 5, 0)
			require.Equal(t, []schemas.Kind{schemas.KindMintTo, schemas.KindRaw}, kinds(events))
			require.Nil(t, events[1].GetPosition().BatchIndex)
		})
	}
}

// TestAPartWithoutData is what a source makes of a part that it could not restore.
func TestAPartWithoutData(t *testing.T) {
	data := joined([]byte{255}, part(3, amount(7, 1)...), part(0), part(3, amount(7, 2)...))
	tx := invoke(t, schemas.ProgramToken, data, "mint", "account", "authority", "mint", "account", "authority")
	events := decode.New(nil).Decode(tx, 5, 0)
	require.Equal(t, []schemas.Kind{schemas.KindMintTo, schemas.KindRaw, schemas.KindMintTo}, kinds(events))
	require.EqualValues(t, 1, *events[1].GetPosition().BatchIndex)
}

func TestWithdrawExcessLamportsIsAboutMintsOnly(t *testing.T) {
	ignored := &recorder{}
	mint := invoke(t, schemas.ProgramToken, []byte{38}, "mint", "destination", "authority")
	require.Equal(t, []schemas.Kind{schemas.KindWithdrawExcessLamports}, kinds(decode.New(ignored).Decode(mint, 1, 0)))

	own := invoke(t, schemas.ProgramToken, []byte{38}, "mint", "destination", "mint")
	require.Len(t, decode.New(ignored).Decode(own, 1, 0), 1, "a mint without authority signs for itself")

	account := invoke(t, schemas.ProgramToken, []byte{38}, "account", "destination", "owner")
	account.PreBalances = []chain.TokenBalance{{AccountIndex: 1, Mint: named("mint")}}
	require.Empty(t, decode.New(ignored).Decode(account, 1, 0))

	multisig := invoke(t, schemas.ProgramToken, []byte{38}, "multisig", "destination", "multisig", "signer")
	require.Empty(t, decode.New(ignored).Decode(multisig, 1, 0))
	require.Equal(t, []string{"spl_token token_account", "spl_token token_account"}, ignored.ignored)
}

func TestUnwrapLamportsChangesNoMint(t *testing.T) {
	seen := &recorder{}
	tx := invoke(t, schemas.ProgramToken, []byte{45, 0}, "account", "destination", "owner")
	require.Empty(t, decode.New(seen).Decode(tx, 1, 0))
	require.Equal(t, []string{"spl_token token_account"}, seen.ignored)
}

// TestCloseAccount: the instruction is the same for a mint and a token account. Token-2022 has
// mints that can be closed; that an account is a token account, its balance before shows, or the
// instruction that made it.
func TestCloseAccount(t *testing.T) {
	closing := func() *chain.Transaction {
		return invoke(t, schemas.ProgramToken2022, []byte{9}, "account", "destination", "authority")
	}
	closed := []schemas.Kind{schemas.KindCloseMint}
	require.Equal(t, closed, kinds(decode.New(nil).Decode(closing(), 1, 0)), "nothing makes it a token account")

	shown := closing()
	shown.PreBalances = []chain.TokenBalance{{AccountIndex: 2, Mint: named("account")}}
	require.Equal(t, closed, kinds(decode.New(nil).Decode(shown, 1, 0)), "another account holds it")

	held := closing()
	held.PreBalances = []chain.TokenBalance{{AccountIndex: 1, Mint: named("mint")}}
	require.Empty(t, decode.New(nil).Decode(held, 1, 0))

	for number := range map[byte]string{1: "InitializeAccount", 16: "InitializeAccount2", 18: "InitializeAccount3"} {
		made := closing()
		initialize := chain.Instruction{Call: chain.Call{Data: []byte{number}, Accounts: []byte{1, 2}}}
		made.Instructions = append([]chain.Instruction{initialize}, made.Instructions...)
		require.Empty(t, decode.New(nil).Decode(made, 1, 0))
	}
	classic := invoke(t, schemas.ProgramToken, []byte{9}, "account", "destination", "authority")
	require.Empty(t, decode.New(nil).Decode(classic, 1, 0), "SPL Token closes no mints")
}

func TestPermissionedBurn(t *testing.T) {
	tx := invoke(t, schemas.ProgramToken2022, append([]byte{46, 2}, append(amount(77, 0)[:8], 6)...), "account", "mint", "burner", "owner")
	events := decode.New(nil).Decode(tx, 1, 0)
	require.Len(t, events, 1)
	owner := named("owner")
	require.Equal(t, owner[:], events[0].GetBurn().GetAuthority())
	require.Equal(t, uint64(77), events[0].GetBurn().GetAmount())
	require.Equal(t, uint32(6), events[0].GetBurn().GetDecimals())
	require.Equal(t, "PermissionedBurnChecked", events[0].GetInstruction())
}

func TestUnknownAndMalformedInstructionsAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		data    []byte
		reason  string
	}{
		"unknown number":             {schemas.ProgramToken, []byte{99, 1, 2}, "unknown instruction"},
		"Token-2022 number in Token": {schemas.ProgramToken, []byte{39, 0}, "unknown instruction"},
		"unknown extension number":   {schemas.ProgramToken2022, []byte{39, 9}, "unknown instruction"},
		"unknown discriminator":      {schemas.ProgramToken2022, []byte{200, 1, 2, 3, 4, 5, 6, 7}, "unknown instruction"},
		"unknown in Metaplex":        {schemas.ProgramMetaplex, []byte{200}, "unknown instruction"},
		"no data":                    {schemas.ProgramToken, nil, "data is too short"},
		"amount cut":                 {schemas.ProgramToken, []byte{7, 1, 2}, "data is too short"},
		"authority type":             {schemas.ProgramToken, []byte{6, 77, 0}, "field has an unknown value"},
		"option flag":                {schemas.ProgramToken, []byte{6, 0, 2}, "field has an unknown value"},
		"string beyond end": {
			schemas.ProgramToken2022,
			[]byte{210, 225, 30, 162, 88, 184, 77, 141, 255, 255, 255, 255, 1}, "data is too short",
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &recorder{}
			tx := invoke(t, c.program, c.data, "mint", "account", "authority")
			tx.PostBalances = []chain.TokenBalance{{AccountIndex: 2, Mint: named("mint")}}
			events := decode.New(seen).Decode(tx, 1, 0)
			require.Len(t, events, 1)
			raw := events[0].GetRaw()
			require.Equal(t, c.reason, raw.GetReason())
			require.Equal(t, c.data, raw.GetData())
			require.Len(t, raw.GetAccounts(), 3)
			mint := named("mint")
			require.Equal(t, mint[:], events[0].GetMint(), "the token balances show which account is a mint")
			require.Len(t, seen.raw, 1)
		})
	}
	t.Run("too few accounts", func(t *testing.T) {
		events := decode.New(nil).Decode(invoke(t, schemas.ProgramToken, amount(7, 1), "mint", "account"), 1, 0)
		require.Equal(t, "account is missing", events[0].GetRaw().GetReason())
		require.Empty(t, events[0].GetMint())
	})
	t.Run("invented length", func(t *testing.T) {
		events := decode.New(nil).Decode(invoke(t, schemas.ProgramToken, make([]byte, 1<<20), "mint"), 1, 0)
		require.Less(t, proto.Size(events[0]), 32<<10)
		require.Equal(t, "data is too long", events[0].GetRaw().GetReason())
	})
}

func TestIndexesBeyondTheKeys(t *testing.T) {
	tx := invoke(t, schemas.ProgramToken, amount(7, 1), "mint", "account", "authority")
	tx.Instructions[0].Accounts[1] = 200
	events := decode.New(nil).Decode(tx, 1, 0)
	require.Equal(t, "account is missing", events[0].GetRaw().GetReason())
	tx.Instructions[0].ProgramIndex = 999
	require.Empty(t, decode.New(nil).Decode(tx, 1, 0))
}

func TestFailedAndVoteTransactionsContributeNothing(t *testing.T) {
	for _, spoil := range []func(*chain.Transaction){
		func(tx *chain.Transaction) { tx.Failed = true },
		func(tx *chain.Transaction) { tx.Vote = true },
	} {
		tx := invoke(t, schemas.ProgramToken, amount(7, 1), "mint", "account", "authority")
		tx.PostBalances = []chain.TokenBalance{{AccountIndex: 2, Mint: named("mint")}}
		require.Len(t, decode.New(nil).Decode(tx, 1, 0), 1)
		spoil(tx)
		require.Empty(t, decode.New(nil).Decode(tx, 1, 0))
		require.Empty(t, decode.Sightings(tx))
	}
}

// TestEventsShareNoMemory: what was decoded stays when the source's buffers are used again.
func TestEventsShareNoMemory(t *testing.T) {
	for _, v := range loadClients(t) {
		tx := transaction(t, v)
		tx.Keys = append(tx.Keys, named("mint"))
		events := decode.New(nil).Decode(tx, 1, 0)
		before := make([]*eventspb.TokenEvent, len(events))
		for i, event := range events {
			before[i] = proto.Clone(event).(*eventspb.TokenEvent) // Clone keeps the type
		}
		clear(tx.Keys)
		clear(tx.Signature[:])
		for i := range tx.Instructions {
			clear(tx.Instructions[i].Data)
			clear(tx.Instructions[i].Accounts)
		}
		for i, event := range events {
			require.True(t, proto.Equal(before[i], event), v.Name)
		}
	}
}

func TestPositions(t *testing.T) {
	tx := invoke(t, schemas.ProgramToken, amount(7, 1), "mint", "account", "authority")
	inner := tx.Instructions[0].Call
	tx.Instructions = append(tx.Instructions, chain.Instruction{
		Call:  chain.Call{ProgramIndex: 1, Data: []byte{1}}, // some other program
		Inner: []chain.Call{{ProgramIndex: 1}, inner},
	})
	tx.Index = 42
	events := decode.New(nil).Decode(tx, 77, 1234)
	require.Len(t, events, 2)
	want := &eventspb.Position{
		Slot: 77, TransactionIndex: proto.Uint32(42), InstructionIndex: 1, InnerInstructionIndex: proto.Uint32(1),
	}
	require.True(t, proto.Equal(want, events[1].GetPosition()))
	require.Equal(t, int64(1234), events[1].GetBlockTime())

	tx.Index = -1
	require.Nil(t, decode.New(nil).Decode(tx, 77, 0)[0].GetPosition().TransactionIndex)
}

func TestSightingEvent(t *testing.T) {
	tx := invoke(t, schemas.ProgramToken, []byte{3}, "account")
	tx.PreBalances = []chain.TokenBalance{{AccountIndex: 1, Mint: named("one"), Decimals: 6, Program: key(t, schemas.ProgramToken)}}
	tx.PostBalances = []chain.TokenBalance{
		{AccountIndex: 1, Mint: named("one"), Decimals: 6}, {AccountIndex: 2, Mint: named("two"), Decimals: 9},
	}
	sightings := decode.Sightings(tx)
	require.Len(t, sightings, 2)
	event := sightings[0].Event(tx, 5, 6)
	require.Equal(t, schemas.KindSighting, schemas.KindOf(event))
	require.Equal(t, uint32(6), event.GetSighting().GetDecimals())
	require.Empty(t, event.GetInstruction())
	program := key(t, schemas.ProgramToken)
	require.Equal(t, program[:], event.GetProgramId())
	require.Empty(t, sightings[1].Event(tx, 5, 6).GetProgramId(), "an old block does not say")
}

// TestMetadataOfAnUnnamedMint: the old Metaplex updates name the metadata account only. The event
// is kept without a mint.
func TestMetadataOfAnUnnamedMint(t *testing.T) {
	for name, data := range map[string][]byte{
		"UpdateMetadataAccount":             {1, 0, 0, 0},
		"UpdateMetadataAccountV2":           {15, 0, 0, 1, 1, 0},
		"UpdatePrimarySaleHappenedViaToken": {4},
	} {
		events := decode.New(nil).Decode(invoke(t, schemas.ProgramMetaplex, data, "metadata", "authority", "account"), 1, 0)
		require.Len(t, events, 1, name)
		require.Equal(t, name, events[0].GetInstruction())
		require.Empty(t, events[0].GetMint())
		metadata := named("metadata")
		require.Equal(t, metadata[:], events[0].GetMetadataSet().GetMetadataAccount())
	}
}
