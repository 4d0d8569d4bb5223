package simulation

import (
	"encoding/binary"
	"maps"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
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

func mintKey(n uint64) pubkey.Key { return hash(n, "mint") }

// genesis returns every mint as it was before the world began.
func genesis() map[pubkey.Key]mintState {
	states := map[pubkey.Key]mintState{}
	for n := range uint64(mints) {
		mint := mintKey(n)
		states[mint] = mintState{supply: 1 << 40, mintAuthority: hash(n, "first authority"), freezing: hash(n, "first freezer"), decimals: mint[0] % 10}
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
		program := key58(schemas.ProgramToken)
		reads = append(reads, &eventspb.Enrichment{Mint: mint[:], Slot: before - 1, Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{
			ProgramId: program[:], Decimals: uint32(s.decimals), Supply: s.supply, MintAuthority: s.mintAuthority[:], FreezeAuthority: s.freezing[:],
		}}})
	}
	return reads
}

// run applies the transaction's calls to its mint and keeps the resulting account in t.account. A
// failed transaction, or one of transfers only, writes nothing.
func (t *tx) run(states map[pubkey.Key]mintState) {
	if t.failed {
		return
	}
	s := states[t.keys[keyMint]]
	wrote := false
	for _, c := range t.calls {
		switch c.data[0] {
		case opInitialize:
			s = mintState{decimals: c.data[1], mintAuthority: pubkey.Key(c.data[2:34]), freezing: pubkey.Key(c.data[35:67])}
		case opMintTo:
			s.supply += binary.LittleEndian.Uint64(c.data[1:])
		case opBurn:
			s.supply -= binary.LittleEndian.Uint64(c.data[1:])
		case opSetAuthority:
			if c.data[1] == 0 {
				s.mintAuthority = pubkey.Key(c.data[3:])
			} else {
				s.freezing = pubkey.Key(c.data[3:])
			}
		default:
			continue
		}
		wrote = true
	}
	if wrote {
		states[t.keys[keyMint]] = s
		t.account = s.account()
	}
}

// Numbers of the Token program's instructions.
const (
	opTransfer     = 3
	opSetAuthority = 6
	opMintTo       = 7
	opBurn         = 8
	opInitialize   = 20
)

// account returns the mint's account data, in the Token program's layout.
func (s *mintState) account() []byte {
	data := binary.LittleEndian.AppendUint32(nil, 1)
	data = append(data, s.mintAuthority[:]...)
	data = binary.LittleEndian.AppendUint64(data, s.supply)
	data = append(data, s.decimals, 1)
	data = binary.LittleEndian.AppendUint32(data, 1)
	return append(data, s.freezing[:]...)
}

// AccountUpdates returns the accounts that the block's transactions wrote, as Geyser streams them.
func (b *Block) AccountUpdates() (updates [][]byte) {
	owner := key58(schemas.ProgramToken)
	for i, t := range b.txs {
		if t.account == nil {
			continue
		}
		updates = append(updates, marshal(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Account{Account: &pb.SubscribeUpdateAccount{
			Slot: b.Slot, Account: &pb.SubscribeUpdateAccountInfo{
				Pubkey: t.keys[keyMint][:], Owner: owner[:], Data: t.account, WriteVersion: b.Slot<<8 | uint64(i), TxnSignature: t.signature[:],
			},
		}}}))
	}
	return updates
}

// Wrote reports whether the block's transaction with this signature left the mint with this supply.
func (b *Block) Wrote(signature []byte, mint []byte, supply uint64) bool {
	for _, t := range b.txs {
		if t.account != nil && string(t.signature[:]) == string(signature) {
			return string(t.keys[keyMint][:]) == string(mint) && binary.LittleEndian.Uint64(t.account[36:]) == supply
		}
	}
	return false
}

// execute computes the block's states from its parent's.
func (b *Block) execute(parent *Block) {
	b.states = maps.Clone(parent.states)
	for _, t := range b.txs {
		t.run(b.states)
	}
}
