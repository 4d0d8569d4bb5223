package simulation

import (
	"encoding/binary"
	"slices"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/geyser"
	"github.com/mintlake/mintlake/testworld/layout"
)

// mints is how many mints a world has. They are few, so that missing or misplaced blocks change the
// fold.
const mints = 12

func mintKey(n uint64) pubkey.Key { return chain.MadeUp("mint", n) }

// genesis returns every mint as it was before the world began.
func genesis() map[pubkey.Key]layout.Mint {
	states := map[pubkey.Key]layout.Mint{}
	for n := range uint64(mints) {
		mint := mintKey(n)
		states[mint] = layout.Mint{Supply: 1 << 40, Decimals: mint[0] % 10,
			MintAuthority: layout.Some(chain.MadeUp("first authority", n)), FreezeAuthority: layout.Some(chain.MadeUp("first freezer", n))}
	}
	return states
}

// Reads returns reads of all mints right before a slot, as a bootstrap makes them.
func (w *World) Reads(before uint64) (reads []*eventspb.Enrichment) {
	states := genesis()
	for _, b := range w.Chain() {
		if b.Slot < before {
			states = b.states
		}
	}
	for mint, s := range states {
		reads = append(reads, &eventspb.Enrichment{Mint: mint[:], Slot: before - 1, Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{
			ProgramId: chain.TokenProgram[:], Decimals: uint32(s.Decimals), Supply: s.Supply, MintAuthority: s.MintAuthority.Key[:], FreezeAuthority: s.FreezeAuthority.Key[:],
		}}})
	}
	return reads
}

// run applies the transaction's calls to its mint, and keeps the resulting account as what the
// transaction wrote. A failed transaction, or one of transfers only, writes nothing.
func run(t *chain.Unexecuted, states map[pubkey.Key]layout.Mint) {
	if t.Failed {
		return
	}
	calls := t.Calls
	if t.Inner != nil {
		calls = append(slices.Clone(calls), *t.Inner)
	}
	mint := t.Keys[chain.PlaceMint]
	s := states[mint]
	for _, c := range calls {
		switch c.Data[0] {
		case layout.TagInitializeMint2:
			s = layout.Mint{Decimals: c.Data[1], MintAuthority: layout.Some(pubkey.Key(c.Data[2:34])), FreezeAuthority: layout.Some(pubkey.Key(c.Data[35:67]))}
		case layout.TagMintTo:
			s.Supply += binary.LittleEndian.Uint64(c.Data[1:])
		case layout.TagBurn:
			s.Supply -= binary.LittleEndian.Uint64(c.Data[1:])
		case layout.TagSetAuthority:
			next := layout.Some(pubkey.Key(c.Data[3:]))
			if c.Data[1] == layout.AuthorityMint {
				s.MintAuthority = next
			} else {
				s.FreezeAuthority = next
			}
		default:
			continue
		}
		t.Wrote = &s
	}
	if t.Wrote != nil {
		states[mint] = s
	}
}

// AccountUpdates returns the accounts that the block's transactions wrote, as Geyser streams them.
// All callers get the same bytes, so none may change them.
func (b *Block) AccountUpdates() [][]byte { return b.accounts() }

func (b *Block) encodeAccounts() (updates [][]byte) {
	for _, account := range geyser.AccountUpdates(&b.Block) {
		account.BankId = optional(b.Bank)
		updates = append(updates, marshal(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Account{Account: account}}))
	}
	return updates
}

// Wrote reports whether the block's transaction with this signature left the mint with this supply.
func (b *Block) Wrote(signature []byte, mint []byte, supply uint64) bool {
	for _, tx := range b.Txs {
		if len(tx.Writes) > 0 && string(tx.Signatures[0][:]) == string(signature) {
			w := tx.Writes[0]
			return string(w.Key[:]) == string(mint) && layout.Supply(w.Account.Data) == supply
		}
	}
	return false
}
