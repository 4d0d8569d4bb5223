package swap

import (
	"bytes"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// create makes the pool record of an instruction that creates a pool.
func (w *walk) create(at int, v *Venue, ins *Instruction, s *Shape) {
	l := &w.ledger
	call := l.nodes[at].call
	key, ok := l.tx.Account(call, s.Pool)
	if !ok {
		return
	}
	program, _ := l.tx.Program(call)
	pool := &eventspb.Pool{
		Position: w.position(at, none), BlockTime: w.blockTime, Signature: bytes.Clone(l.tx.Signature[:]), ProgramId: program.Bytes(),
		Venue: v.Name, Pool: key.Bytes(), Created: true, Instruction: ins.Name,
	}
	if creator, ok := l.tx.Account(call, s.Owner); ok {
		pool.Creator = creator.Bytes()
	}
	pool.LpMint = w.lpMint(call, ins)
	pool.MintA, pool.VaultA, pool.DecimalsA = w.created(call, s.MintA, s.VaultA)
	pool.MintB, pool.VaultB, pool.DecimalsB = w.created(call, s.MintB, s.VaultB)
	if ins.QuoteSOL {
		w.quote(pool, at, v)
	}
	sortMints(pool)
	w.out.Pools = append(w.out.Pools, pool)
}

// created returns one side of a new pool. A part that neither an account nor a balance shows is
// nil. Only a balance shows the decimals.
func (w *walk) created(call *chain.Call, mintPlace, vaultPlace int) (mint, vault []byte, decimals *uint32) {
	l := &w.ledger
	if key, ok := l.tx.Account(call, vaultPlace); ok {
		vault = key.Bytes()
	}
	if key, ok := l.tx.Account(call, mintPlace); ok {
		mint = key.Bytes()
	}
	if b := l.balance(account(call, vaultPlace)); b.known {
		n := uint32(b.decimals)
		decimals = &n
		if mint == nil {
			mint = b.mint.Bytes()
		}
	}
	return mint, vault, decimals
}

// quote sets the quote of a new curve: SOL, or the mint that the event of the creation names.
func (w *walk) quote(pool *eventspb.Pool, at int, v *Venue) {
	mint := wrappedSOL
	w.ledger.events(v, at, func(data []byte) bool {
		w.event = Event{}
		if !v.Event(data, &w.event) || !w.event.Curve.Created {
			return true
		}
		if q := w.event.Curve.QuoteMint; q != (pubkey.Key{}) {
			mint = q
		}
		return false
	})
	pool.MintB = mint.Bytes()
	if mint == wrappedSOL {
		n := uint32(solDecimals)
		pool.VaultB, pool.DecimalsB = bytes.Clone(pool.GetPool()), &n
	}
}

// sortMints swaps the sides if needed, so that MintA is the lower key.
func sortMints(p *eventspb.Pool) {
	if bytes.Compare(p.GetMintA(), p.GetMintB()) > 0 {
		p.MintA, p.MintB = p.MintB, p.MintA
		p.VaultA, p.VaultB = p.VaultB, p.VaultA
		p.DecimalsA, p.DecimalsB = p.DecimalsB, p.DecimalsA
	}
}

// PoolOf returns the pool that a leg shows. The pool shares the leg's memory.
func PoolOf(leg *eventspb.SwapLeg) *eventspb.Pool {
	pool := &eventspb.Pool{
		Position: leg.GetPosition(), BlockTime: leg.GetBlockTime(), Signature: leg.GetSignature(), ProgramId: leg.GetProgramId(), Venue: leg.GetVenue(),
		Pool: leg.GetPool(), MintA: leg.GetMintIn(), MintB: leg.GetMintOut(), VaultA: leg.GetVaultIn(), VaultB: leg.GetVaultOut(),
		DecimalsA: leg.DecimalsIn, DecimalsB: leg.DecimalsOut, Instruction: leg.GetInstruction(),
	}
	sortMints(pool)
	return pool
}
