package swap

import (
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// What can confirm a leg's amounts, as bits of Agreed and Disagreed.
const (
	byTransfers = uint32(eventspb.LegSource_LEG_SOURCE_TRANSFERS)
	byEvent     = uint32(eventspb.LegSource_LEG_SOURCE_EVENT)
	byLog       = uint32(eventspb.LegSource_LEG_SOURCE_LOG)
	byBalances  = uint32(eventspb.LegSource_LEG_SOURCE_BALANCES)
)

// side is what moved into and out of one vault inside the instruction.
type side struct {
	vault      int // index among the transaction's keys, as mint
	mint       int
	in, out    uint64
	feeIn      uint64 // Token-2022 fee withheld from in
	feeOut     uint64 // Token-2022 fee withheld from out, at the receivers
	unsaidFee  bool   // feeIn is known from balances only
	from, to   int    // the other account of the largest movement in, and of the largest one out
	fromAmount uint64 // the amount of the largest movement in
	toAmount   uint64 // the amount of the largest movement out
}

// leg makes the leg of one shape. If it cannot make one, it returns the reason.
func (w *walk) leg(at, index int, v *Venue, ins *Instruction, s *Shape) (reason string) {
	l := &w.ledger
	call := l.nodes[at].call
	a, b := side{vault: account(call, s.VaultA), mint: account(call, s.MintA)}, side{vault: account(call, s.VaultB), mint: account(call, s.MintB)}
	pool, ok := l.tx.Account(call, s.Pool)
	if !ok || a.vault == none || b.vault == none || a.vault == b.vault || a.vault >= len(l.tx.Keys) || b.vault >= len(l.tx.Keys) {
		return ReasonAccounts
	}
	if l.signerOwns(a.vault) || l.signerOwns(b.vault) {
		return ReasonVault
	}
	moved := l.inside(at)
	a.add(moved)
	b.add(moved)
	switch {
	case a.in|a.out|b.in|b.out == 0:
		return ReasonNothing
	case a.in >= a.out && b.out >= b.in && (a.in > a.out || b.out > b.in):
	case b.in >= b.out && a.out >= a.in:
		a, b = b, a
	default:
		return ReasonOneSided
	}
	mintIn, decimalsIn, okIn := l.mintOf(&a)
	mintOut, decimalsOut, okOut := l.mintOf(&b)
	if !okIn || !okOut {
		return ReasonMint
	}
	m := w.newLeg(at, index, v, ins)
	leg := &m.leg
	leg.Pool, leg.MintIn, leg.MintOut = m.key(&pool), m.key(mintIn), m.key(mintOut)
	leg.DecimalsIn, leg.DecimalsOut = m.index(decimalsIn), m.index(decimalsOut)
	leg.AmountIn, leg.AmountOut = a.in, b.out
	leg.VaultIn, leg.VaultOut = m.key(&l.tx.Keys[a.vault]), m.key(&l.tx.Keys[b.vault])
	w.setTrader(m, at, account(call, s.Owner))
	m.setPaid(moved, &a, &b)
	if !v.SharedVaults {
		leg.ReserveIn, leg.ReserveOut = m.reserve(l, at, a.vault), m.reserve(l, at, b.vault)
	}
	w.verify(leg, at, v, &a, &b)
	w.out.Legs = append(w.out.Legs, leg)
	return ""
}

// add adds the movements that touch the vault.
func (s *side) add(moved []flow) {
	s.from, s.to = none, none
	for i := range moved {
		f := &moved[i]
		if f.to == s.vault {
			s.in += f.amount - f.fee
			s.feeIn += f.fee
			s.unsaidFee = s.unsaidFee || f.fee > 0 && !f.said
			if f.from != none && (s.from == none || f.amount > s.fromAmount) {
				s.from, s.fromAmount = f.from, f.amount
			}
		}
		if f.from == s.vault {
			s.out += f.amount
			s.feeOut += f.fee
			if f.to != none && (s.to == none || f.amount > s.toAmount) {
				s.to, s.toAmount = f.to, f.amount
			}
		}
	}
}

// signerOwns reports whether a signer of the transaction owns the token account. No signer owns a
// pool's vault. So if a signer owns the account at a vault's place, the order of the instruction's
// accounts is not the known one.
func (l *ledger) signerOwns(account int) bool {
	b := l.balance(account)
	if !b.known || b.owner == (pubkey.Key{}) {
		return false
	}
	for i := range l.tx.Keys[:min(l.tx.Signers, len(l.tx.Keys))] {
		if l.tx.Keys[i] == b.owner {
			return true
		}
	}
	return false
}

// mintOf returns the mint of a vault and its decimals. The decimals are none if no balance tells
// them. mintOf returns false if the mint is unknown.
func (l *ledger) mintOf(s *side) (mint *pubkey.Key, decimals int, ok bool) {
	if b := l.balance(s.vault); b.known {
		return &b.mint, int(b.decimals), true
	}
	if s.mint < 0 || s.mint >= len(l.tx.Keys) {
		return nil, none, false
	}
	return &l.tx.Keys[s.mint], none, true
}

// newLeg makes a leg with the fields that depend only on the instruction. index is the leg's number
// in the instruction; none if there is only one leg.
func (w *walk) newLeg(at, index int, v *Venue, ins *Instruction) *made {
	l := &w.ledger
	n := &l.nodes[at]
	program, _ := l.tx.Program(n.call)
	m := &made{signature: l.tx.Signature}
	leg, p := &m.leg, &m.position
	p.Slot, p.TransactionIndex, p.InstructionIndex = w.slot, m.index(l.tx.Index), uint32(n.outer)
	p.InnerInstructionIndex, p.BatchIndex = m.index(n.inner), m.index(index)
	leg.Position, leg.BlockTime, leg.Signature, leg.ProgramId = p, w.blockTime, m.signature[:], m.key(&program)
	leg.Venue, leg.Instruction = v.Name, ins.Name
	if i := w.route(at); i >= 0 {
		leg.Aggregator = w.decoder.aggregators[l.nodes[i].aggregator].Name
	}
	return m
}

// position returns the position of the instruction at a node. index is the number of a leg or
// change in it, or none.
func (w *walk) position(at, index int) *eventspb.Position {
	n := &w.ledger.nodes[at]
	return &eventspb.Position{
		Slot: w.slot, TransactionIndex: optional(w.ledger.tx.Index), InstructionIndex: uint32(n.outer), InnerInstructionIndex: optional(n.inner),
		BatchIndex: optional(index),
	}
}

// optional returns a pointer to the index; nil if the index is negative.
func optional(index int) *uint32 {
	if index < 0 {
		return nil
	}
	value := uint32(index)
	return &value
}

// setTrader sets the trader, and the authority if another account traded on the trader's behalf.
func (w *walk) setTrader(m *made, at, owner int) {
	tx := w.ledger.tx
	wallet := w.trader(at, owner)
	if wallet < len(tx.Keys) {
		m.leg.Trader = m.key(&tx.Keys[wallet])
	}
	if owner != none && owner != wallet && owner < len(tx.Keys) {
		m.leg.Authority = m.key(&tx.Keys[owner])
	}
}

// trader returns the index of the wallet that trades. It is the instruction's user, if the user
// signed. Otherwise an aggregator's account acts for the user, and the trader is the first signer
// that the outer instruction names. If it names no signer, the trader is the fee payer, who may be
// a sponsor.
func (w *walk) trader(at, owner int) int {
	tx := w.ledger.tx
	signers := min(tx.Signers, len(tx.Keys))
	if owner >= 0 && owner < signers {
		return owner
	}
	for _, i := range tx.Instructions[w.ledger.nodes[at].outer].Accounts {
		if int(i) < signers {
			return int(i)
		}
	}
	return 0
}

// setPaid sets what the trader paid and got: the net amount that left the account from which the
// input vault was filled, and the net amount that came into the account to which the output vault
// paid.
func (m *made) setPaid(moved []flow, in, out *side) {
	if in.from != none {
		if n := net(moved, in.from); n.out > n.in {
			m.leg.TraderPaid = m.amount(n.out - n.in)
		}
	}
	if out.to != none {
		if n := net(moved, out.to); n.in > n.out {
			m.leg.TraderGot = m.amount(n.in - n.out)
		}
	}
}

// net returns the sums of the movements that touch an account.
func net(moved []flow, account int) side {
	s := side{vault: account}
	s.add(moved)
	return s
}

// reserve returns the vault's balance after the leg: its balance after the transaction, without the
// movements after the leg. If the movements do not explain the balance, reserve returns the balance
// after the transaction. It returns nil if no balance is reported.
func (m *made) reserve(l *ledger, at, vault int) *uint64 {
	b := l.balance(vault)
	if !b.hasPost {
		return nil
	}
	after := b.post
	if b.settled {
		s := net(l.flows[l.search(l.nodes[at].end):], vault)
		after += s.out - s.in // the difference may wrap around, but the sum is right
	}
	return m.amount(after)
}

// verify notes which sources agree with the leg's amounts, and which do not. The transfers agree,
// unless a fee is known from balances only. If there are several events of the leg's pool, it is
// enough that one agrees.
func (w *walk) verify(leg *eventspb.SwapLeg, at int, v *Venue, in, out *side) {
	l := &w.ledger
	if !in.unsaidFee {
		leg.Agreed |= byTransfers
	}
	if a, b := l.balance(in.vault), l.balance(out.vault); a.hasPost && b.hasPost {
		judge(leg, byBalances, a.settled && b.settled)
	}
	if v.Event == nil {
		return
	}
	found, agrees, source := false, false, byEvent
	l.events(v, at, func(data []byte) bool {
		w.event = Event{}
		if !v.Event(data, &w.event) || w.event.Pool != (pubkey.Key{}) && w.event.Pool != pubkey.Key(leg.GetPool()) {
			return true
		}
		found, source = true, l.source
		agrees = w.event.says(leg, in, out)
		return !agrees
	})
	if found {
		judge(leg, source, agrees)
	}
}

// judge notes whether a source agrees with the leg.
func judge(leg *eventspb.SwapLeg, source uint32, agrees bool) {
	if agrees {
		leg.Agreed |= source
	} else {
		leg.Disagreed |= source
	}
}

// says reports whether the event states the leg's amounts. Programs differ in whether their amounts
// include Token-2022 fees, so each form is tried.
func (e *Event) says(leg *eventspb.SwapLeg, in, out *side) bool {
	given, taken := leg.GetAmountIn(), leg.GetAmountOut()
	if e.Near {
		return alike(e.In-e.InFee, given) && alike(e.Out, taken)
	}
	okIn := e.In == given || e.In == given+in.feeIn || e.In-e.InFee == given
	okOut := !e.HasOut || e.Out == taken || e.Out == taken-out.feeOut || e.Out+e.OutFee == taken
	return okIn && okOut
}

// alike reports whether two amounts differ by at most 1 plus a 100,000th of the greater one.
func alike(a, b uint64) bool {
	return max(a, b)-min(a, b) <= 1+max(a, b)/100_000
}
