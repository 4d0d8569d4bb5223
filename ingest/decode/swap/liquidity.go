package swap

import (
	"bytes"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Change is what a venue's event says of liquidity that was added or removed. A and B are in the
// order of the shape's vaults.
type Change struct {
	// Pool is zero if the event does not name it.
	Pool  pubkey.Key
	Added bool
	A, B  uint64
	// TaxA and TaxB are Token-2022 fees. Programs differ in whether A and B include them.
	TaxA, TaxB uint64
	// FeesA and FeesB are swap fees that were paid out together with A and B. A and B do not
	// include them. They are known if HasFees.
	FeesA, FeesB uint64
	HasFees      bool
	// Near is as in Event.
	Near bool
}

// part is one side of a change: the amount that its vault gained, or lost if gained is false,
// inside the instruction.
type part struct {
	side
	mintKey  *pubkey.Key
	decimals int // none if they are unknown
	amount   uint64
	gained   bool
}

// changes makes the changes of the pool's liquidity in the instruction at a node. If there is no
// change, it returns the reason.
func (w *walk) changes(at int, v *Venue, ins *Instruction, s *Shape) (reason string) {
	l := &w.ledger
	call := l.nodes[at].call
	if ins.Idle != nil && ins.Idle(call.Data) {
		return ReasonNothing
	}
	pool, ok := l.tx.Account(call, s.Pool)
	if !ok {
		return ReasonAccounts
	}
	parts, reason := w.parts(at, s)
	if reason != "" {
		return reason
	}
	var came, went []*part
	for i := range parts {
		switch p := &parts[i]; {
		case p.amount == 0:
		case p.gained:
			came = append(came, p)
		default:
			went = append(went, p)
		}
	}
	switch {
	case len(came)+len(went) == 0:
		return ReasonNothing
	case ins.Kind == Rebalance && len(came) > 0 && len(went) > 0:
		// More of one token was added, and more of the other one was removed: two changes.
		w.change(at, 0, v, ins, s, pool, only(parts, came[0]), true)
		w.change(at, 1, v, ins, s, pool, only(parts, went[0]), false)
	case ins.Kind == Remove && len(came) > 0, ins.Kind != Remove && ins.Kind != Rebalance && len(went) > 0:
		return ReasonOneSided
	default:
		w.change(at, none, v, ins, s, pool, parts, len(came) > 0)
	}
	return ""
}

// parts returns the sides that the instruction names: both, or one. If an account is missing or
// cannot be a pool's, it returns the reason.
func (w *walk) parts(at int, s *Shape) (parts []part, reason string) {
	l := &w.ledger
	call := l.nodes[at].call
	moved := l.inside(at)
	for _, places := range [2][2]int{{s.VaultA, s.MintA}, {s.VaultB, s.MintB}} {
		if places[0] == None {
			continue
		}
		p := part{side: side{vault: account(call, places[0]), mint: account(call, places[1])}}
		if p.vault == none || p.vault >= len(l.tx.Keys) {
			return nil, ReasonAccounts
		}
		if l.signerOwns(p.vault) {
			return nil, ReasonVault
		}
		if p.mintKey, p.decimals, _ = l.mintOf(&p.side); p.mintKey == nil {
			return nil, ReasonMint
		}
		p.add(moved)
		if p.gained = p.in > p.out; p.gained {
			p.amount = p.in - p.out
		} else {
			p.amount = p.out - p.in
		}
		parts = append(parts, p)
	}
	switch {
	case len(parts) == 0:
		return nil, ReasonAccounts
	case len(parts) == 2 && (parts[0].vault == parts[1].vault || *parts[0].mintKey == *parts[1].mintKey):
		return nil, ReasonAccounts
	}
	return parts, ""
}

// only returns a copy of parts in which all amounts but that of one are 0. one points into parts.
func only(parts []part, one *part) []part {
	list := make([]part, len(parts))
	for i := range parts {
		if list[i] = parts[i]; &parts[i] != one {
			list[i].amount = 0
		}
	}
	return list
}

// change appends one change of liquidity.
func (w *walk) change(at, index int, v *Venue, ins *Instruction, s *Shape, pool pubkey.Key, parts []part, added bool) {
	l := &w.ledger
	call := l.nodes[at].call
	program, _ := l.tx.Program(call)
	m := &eventspb.LiquidityChange{
		Position: w.position(at, index), BlockTime: w.blockTime, Signature: bytes.Clone(l.tx.Signature[:]), ProgramId: program.Bytes(), Venue: v.Name,
		Pool: pool.Bytes(), Added: added, Instruction: ins.Name,
	}
	if wallet := w.trader(at, account(call, s.Owner)); wallet < len(l.tx.Keys) {
		m.Provider = l.tx.Keys[wallet].Bytes()
	}
	a := &parts[0]
	m.MintA, m.VaultA, m.AmountA, m.DecimalsA = a.mintKey.Bytes(), l.tx.Keys[a.vault].Bytes(), a.amount, optional(a.decimals)
	m.ReserveA = w.held(at, v, a)
	if len(parts) == 2 {
		b := &parts[1]
		m.MintB, m.VaultB, m.AmountB, m.DecimalsB = b.mintKey.Bytes(), l.tx.Keys[b.vault].Bytes(), b.amount, optional(b.decimals)
		m.ReserveB = w.held(at, v, b)
	}
	if m.LpMint = w.lpMint(call, ins); m.LpMint != nil {
		m.LpAmount = l.shares(l.inside(at), pubkey.Key(m.GetLpMint()), added)
	}
	w.verifyChange(m, at, v, parts)
	if len(parts) == 2 && bytes.Compare(m.GetMintA(), m.GetMintB()) > 0 {
		swapSides(m)
	}
	w.out.Liquidity = append(w.out.Liquidity, m)
}

// held returns what the vault holds after the instruction. It returns nil if the vault is not the
// pool's alone, or no balance is reported.
func (w *walk) held(at int, v *Venue, p *part) *uint64 {
	if v.SharedVaults {
		return nil
	}
	var m made
	return m.reserve(&w.ledger, at, p.vault)
}

// shares returns how many tokens of a mint the movements minted, or burned if minted is false; nil
// if no reported balance shows that they are of the mint.
func (l *ledger) shares(moved []flow, mint pubkey.Key, minted bool) *uint64 {
	var sum *uint64
	for i := range moved {
		f := &moved[i]
		holder := f.from
		if minted {
			holder = f.to
		}
		if minted != (f.from == none) || minted == (f.to == none) {
			continue // the movement does not mint, or does not burn if minted is false
		}
		if b := l.balance(holder); b.known && b.mint == mint {
			if sum == nil {
				sum = new(uint64)
			}
			*sum += f.amount
		}
	}
	return sum
}

// verifyChange notes which sources agree with the amounts, as verify does for a leg. It also sets
// the swap fees that the event tells.
func (w *walk) verifyChange(m *eventspb.LiquidityChange, at int, v *Venue, parts []part) {
	l := &w.ledger
	known, settled, said := true, true, true
	for i := range parts {
		b := l.balance(parts[i].vault)
		known, settled, said = known && b.hasPost, settled && b.settled, said && !parts[i].unsaidFee
	}
	if said {
		m.Agreed |= byTransfers
	}
	note := func(source uint32, agrees bool) {
		if agrees {
			m.Agreed |= source
		} else {
			m.Disagreed |= source
		}
	}
	if known {
		note(byBalances, settled)
	}
	if v.Change == nil {
		return
	}
	var told Change
	found, agrees, source := false, false, byEvent
	l.events(v, at, func(data []byte) bool {
		var e Change
		if !v.Change(data, &e) || e.Added != m.GetAdded() || e.Pool != (pubkey.Key{}) && e.Pool != pubkey.Key(m.GetPool()) {
			return true
		}
		found, source, told = true, l.source, e
		agrees = e.says(parts, m.GetAdded())
		return !agrees
	})
	if !found {
		return
	}
	note(source, agrees)
	if agrees && told.HasFees && !m.GetAdded() {
		m.FeesA, m.FeesB = &told.FeesA, &told.FeesB
	}
}

// says reports whether the event states the amounts. If the instruction names only one side of the
// pool, that side may be the event's A or its B.
func (e *Change) says(parts []part, added bool) bool {
	if len(parts) == 1 {
		return e.side(e.A, e.FeesA, e.TaxA, &parts[0], added) || e.side(e.B, e.FeesB, e.TaxB, &parts[0], added)
	}
	return e.side(e.A, e.FeesA, e.TaxA, &parts[0], added) && e.side(e.B, e.FeesB, e.TaxB, &parts[1], added)
}

// side reports whether the event's amount, fees and tax of one side agree with what moved.
func (e *Change) side(amount, fees, tax uint64, p *part, added bool) bool {
	said := amount + fees
	switch {
	case e.Near:
		return alike(said, p.amount)
	case said == p.amount:
		return true
	case added:
		return said == p.amount+p.feeIn || said-tax == p.amount
	default:
		return said == p.amount-p.feeOut || said+tax == p.amount
	}
}

// swapSides exchanges the two sides.
func swapSides(m *eventspb.LiquidityChange) {
	m.MintA, m.MintB = m.MintB, m.MintA
	m.VaultA, m.VaultB = m.VaultB, m.VaultA
	m.AmountA, m.AmountB = m.AmountB, m.AmountA
	m.DecimalsA, m.DecimalsB = m.DecimalsB, m.DecimalsA
	m.FeesA, m.FeesB = m.FeesB, m.FeesA
	m.ReserveA, m.ReserveB = m.ReserveB, m.ReserveA
}

// lpMint returns the mint of the pool's liquidity tokens that an instruction names; nil if it names
// none.
func (w *walk) lpMint(call *chain.Call, ins *Instruction) []byte {
	if ins.LPMint == 0 {
		return nil
	}
	key, ok := w.ledger.tx.Account(call, ins.LPMint)
	if !ok {
		return nil
	}
	return key.Bytes()
}
