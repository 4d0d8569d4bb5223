package simulation

import (
	"encoding/binary"
	"maps"
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

// mintState is a mint's account.
type mintState struct {
	supply                  uint64
	mintAuthority, freezing pubkey.Key
	decimals                uint8
}

func mintKey(n uint64) pubkey.Key { return chain.MadeUp("mint", n) }

// genesis returns every mint as it was before the world began.
func genesis() map[pubkey.Key]mintState {
	states := map[pubkey.Key]mintState{}
	for n := range uint64(mints) {
		mint := mintKey(n)
		states[mint] = mintState{supply: 1 << 40, mintAuthority: chain.MadeUp("first authority", n), freezing: chain.MadeUp("first freezer", n), decimals: mint[0] % 10}
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
			ProgramId: chain.TokenProgram[:], Decimals: uint32(s.decimals), Supply: s.supply, MintAuthority: s.mintAuthority[:], FreezeAuthority: s.freezing[:],
		}}})
	}
	return reads
}

// run applies the transaction's calls to its mint, and keeps the resulting account as what the
// transaction wrote. A failed transaction, or one of transfers only, writes nothing.
func run(tx *chain.Tx, states map[pubkey.Key]mintState) {
	if tx.Meta.Err != nil || tx.Vote {
		return
	}
	mint := tx.Message.Keys[chain.PlaceMint]
	calls := slices.Clone(tx.Message.Instructions)
	for _, inner := range tx.Meta.Inner {
		for _, c := range inner.Instructions {
			calls = append(calls, c.CompiledInstruction)
		}
	}
	s := states[mint]
	wrote := false
	for _, c := range calls {
		switch c.Data[0] {
		case layout.TagInitializeMint2:
			s = mintState{decimals: c.Data[1], mintAuthority: pubkey.Key(c.Data[2:34]), freezing: pubkey.Key(c.Data[35:67])}
		case layout.TagMintTo:
			s.supply += binary.LittleEndian.Uint64(c.Data[1:])
		case layout.TagBurn:
			s.supply -= binary.LittleEndian.Uint64(c.Data[1:])
		case layout.TagSetAuthority:
			if c.Data[1] == layout.AuthorityMint {
				s.mintAuthority = pubkey.Key(c.Data[3:])
			} else {
				s.freezing = pubkey.Key(c.Data[3:])
			}
		default:
			continue
		}
		wrote = true
	}
	if wrote {
		states[mint] = s
		account := &chain.Account{Lamports: chain.RentExempt(layout.MintSize), Owner: chain.TokenProgram, Data: s.account()}
		tx.Writes = []chain.Write{{Key: mint, Account: account}}
	}
}

// account returns the mint's account data.
func (s *mintState) account() []byte {
	m := layout.Mint{MintAuthority: layout.Some(s.mintAuthority), FreezeAuthority: layout.Some(s.freezing), Supply: s.supply, Decimals: s.decimals}
	return m.Bytes()
}

// AccountUpdates returns the accounts that the block's transactions wrote, as Geyser streams them.
func (b *Block) AccountUpdates() (updates [][]byte) {
	for _, account := range geyser.AccountUpdates(&b.Block) {
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

// execute computes the block's states from its parent's.
func (b *Block) execute(parent *Block) {
	b.states = maps.Clone(parent.states)
	for _, tx := range b.Txs {
		run(tx, b.states)
	}
}
