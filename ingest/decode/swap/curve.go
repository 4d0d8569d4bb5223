package swap

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// curveLeg is a leg of a curve that trades native SOL, kept until settleCurves checks it.
type curveLeg struct {
	leg   *eventspb.SwapLeg
	curve int // index of the curve's account among the transaction's keys
	// lamports is what came in, if buy is true, or what went out. kept are fees that may have
	// stayed on the curve.
	lamports, kept uint64
	buy            bool
}

// byEvents makes a leg for each trade event that the program emitted in an instruction.
func (w *walk) byEvents(at int, v *Venue, ins *Instruction) {
	trades := 0 // counted first, because legs get an index only if there are several
	w.ledger.events(v, at, func(data []byte) bool {
		if w.event = (Event{}); v.Event(data, &w.event) && !w.event.Curve.Created {
			trades++
		}
		return true
	})
	index := 0
	w.ledger.events(v, at, func(data []byte) bool {
		if w.event = (Event{}); v.Event(data, &w.event) && !w.event.Curve.Created {
			batch := none
			if trades > 1 {
				batch = index
			}
			w.trade(at, batch, v, ins, &w.event)
			index++
		}
		return true
	})
	if trades == 0 && w.decoder.observer != nil {
		w.decoder.observer.Ignored(v.Name, ReasonNothing)
	}
}

// trade makes one leg of a curve from an event. index is the leg's number in the instruction; none
// if there is only one leg. The accounts come from the instruction's shape. If the instruction has
// no shape, the event and the balances show the accounts.
func (w *walk) trade(at, index int, v *Venue, ins *Instruction, e *Event) {
	l := &w.ledger
	call := l.nodes[at].call
	pool, vault, quoteVault, owner := pubkey.Key{}, none, none, none
	if len(ins.Shapes) > 0 {
		s := &ins.Shapes[0]
		pool, _ = l.tx.Account(call, s.Pool)
		vault, quoteVault, owner = account(call, s.VaultA), account(call, s.VaultB), account(call, s.Owner)
	} else if ins.Address != nil {
		// The accounts have no fixed places.
		pool, _ = ins.Address(e.Curve.Mint)
		vault = l.vaultOf(pool, e.Curve.Mint)
		quoteVault = l.vaultOf(pool, e.Curve.QuoteMint)
		owner = l.indexOf(e.Curve.User)
	}
	if pool == (pubkey.Key{}) || vault >= len(l.tx.Keys) || quoteVault >= len(l.tx.Keys) {
		if w.decoder.observer != nil {
			w.decoder.observer.Ignored(v.Name, ReasonAccounts)
		}
		return
	}
	native := e.Curve.QuoteMint == (pubkey.Key{}) || e.Curve.QuoteMint == wrappedSOL
	quote := e.Curve.QuoteMint
	if native {
		quote, quoteVault = wrappedSOL, none
	}
	m := w.newLeg(at, index, v, ins)
	leg := &m.leg
	leg.Pool, leg.AmountIn, leg.AmountOut = m.key(&pool), e.In, e.Out
	leg.TraderPaid, leg.TraderGot = m.amount(e.Paid), m.amount(e.Got)
	w.setTrader(m, at, owner)
	token := &tokenSide{mint: e.Curve.Mint, vault: vault, amount: e.Out, reserve: e.Curve.TokenReserve}
	other := &tokenSide{mint: quote, vault: quoteVault, amount: e.In, reserve: e.Curve.QuoteReserve}
	if !e.Curve.Buy {
		token.amount, other.amount = e.In, e.Out
	}
	w.fill(m, token, other, e)
	w.verifyTrade(leg, at, token, other, e)
	if i := l.indexOf(pool); native && i != none {
		w.curves = append(w.curves, curveLeg{leg, i, other.amount, e.Curve.KeptFees, e.Curve.Buy})
	}
	w.out.Legs = append(w.out.Legs, leg)
}

// tokenSide is one side of a trade: the token or the quote. vault is none for native SOL.
type tokenSide struct {
	mint            pubkey.Key
	vault           int
	amount, reserve uint64
}

// fill sets mints, vaults, decimals and reserves of the leg.
func (w *walk) fill(m *made, token, other *tokenSide, e *Event) {
	in, out := other, token
	if !e.Curve.Buy {
		in, out = token, other
	}
	leg := &m.leg
	leg.MintIn, leg.VaultIn, leg.DecimalsIn = m.key(&in.mint), w.vault(m, in), m.index(w.decimals(in))
	leg.MintOut, leg.VaultOut, leg.DecimalsOut = m.key(&out.mint), w.vault(m, out), m.index(w.decimals(out))
	if e.Curve.HasReserves {
		leg.ReserveIn, leg.ReserveOut = m.amount(in.reserve), m.amount(out.reserve)
	}
}

// vault returns the token account of a side; for native SOL the curve itself, which holds the
// lamports.
func (w *walk) vault(m *made, s *tokenSide) []byte {
	if s.vault == none {
		return m.leg.GetPool()
	}
	return m.key(&w.ledger.tx.Keys[s.vault])
}

// decimals returns the decimals of a side's mint; none if they are unknown.
func (w *walk) decimals(s *tokenSide) int {
	if s.mint == wrappedSOL {
		return solDecimals
	}
	if b := w.ledger.balance(s.vault); b.known {
		return int(b.decimals)
	}
	return none
}

// verifyTrade compares the event with the movements of the token, of the quote if it is a token,
// and of the lamports that a buyer transfers. A sale moves lamports without an instruction; only
// the curve's balance shows them, see settleCurves.
func (w *walk) verifyTrade(leg *eventspb.SwapLeg, at int, token, other *tokenSide, e *Event) {
	l := &w.ledger
	leg.Agreed |= byEvent
	moved := l.inside(at)
	agrees := l.moves(moved, token, !e.Curve.Buy)
	switch {
	case other.vault != none:
		agrees = agrees && (l.moves(moved, other, e.Curve.Buy) || l.moves(moved, &tokenSide{vault: other.vault, amount: other.amount + e.Curve.KeptFees}, e.Curve.Buy))
	case e.Curve.Buy:
		agrees = agrees && l.lamportsSent(at, leg.GetPool(), other.amount, other.amount+e.Curve.KeptFees)
	}
	judge(leg, byTransfers, agrees)
	if other.vault != none {
		a, b := l.balance(token.vault), l.balance(other.vault)
		if a.hasPost && b.hasPost {
			judge(leg, byBalances, a.settled && b.settled)
		}
	}
}

// moves reports whether exactly the side's amount moved into, or out of, its vault.
func (l *ledger) moves(moved []flow, s *tokenSide, in bool) bool {
	n := net(moved, s.vault)
	if in {
		return n.in == s.amount
	}
	return n.out == s.amount
}

// lamportsSent reports whether a system program transfer inside the instruction at a node sends one
// of the amounts of lamports to the account.
func (l *ledger) lamportsSent(at int, to []byte, amounts ...uint64) bool {
	const transfer = 2 // SystemInstruction::Transfer: u32 tag, u64 lamports
	for i := at + 1; i < l.nodes[at].end; i++ {
		call := l.nodes[i].call
		program, _ := l.tx.Program(call)
		if program != (pubkey.Key{}) || len(call.Data) < 12 || binary.LittleEndian.Uint32(call.Data) != transfer {
			continue
		}
		receiver, ok := l.tx.Account(call, 1)
		if !ok || string(receiver[:]) != string(to) {
			continue
		}
		sent := binary.LittleEndian.Uint64(call.Data[4:])
		for _, amount := range amounts {
			if sent == amount {
				return true
			}
		}
	}
	return false
}

// settleCurves compares the change of each curve's lamports with the sum of all its trades in the
// transaction, and checks the balance of its token vault. Every leg of the curve gets the result.
// settleCurves does not judge a curve without lamports before, which was created in the
// transaction, nor a curve whose vault has no reported balance.
func (w *walk) settleCurves() {
	if len(w.curves) == 0 || w.ledger.tx.Details == nil {
		return
	}
	l := &w.ledger
	l.pre, l.post = l.tx.Details.Lamports(l.pre[:0], l.post[:0])
	for i := range w.curves {
		c := &w.curves[i]
		if c.curve >= len(l.pre) || c.curve >= len(l.post) {
			continue
		}
		var plain, kept uint64 // the sum of the trades modulo 2^64, and of the fees that may stay
		for j := range w.curves {
			if o := &w.curves[j]; o.curve == c.curve {
				signed := o.lamports
				if !o.buy {
					signed = -signed
				}
				plain, kept = plain+signed, kept+o.kept
			}
		}
		if l.pre[c.curve] == 0 {
			continue // created here: the lamports include its rent
		}
		moved := l.post[c.curve] - l.pre[c.curve]
		if settled, missing := l.tokenBalanceSettled(c.leg); !missing {
			judge(c.leg, byBalances, settled && (moved == plain || moved == plain+kept))
		}
	}
}

// tokenBalanceSettled reports whether the movements explain the balance of the leg's token vault,
// which is the vault that is not the curve itself. missing means that no balance is reported.
func (l *ledger) tokenBalanceSettled(leg *eventspb.SwapLeg) (settled, missing bool) {
	vault := leg.GetVaultIn()
	if string(vault) == string(leg.GetPool()) {
		vault = leg.GetVaultOut()
	}
	i := l.indexOf(pubkey.Key(vault))
	if i == none {
		return false, true
	}
	b := l.balance(i)
	return b.settled, !b.hasPost
}

// indexOf returns the index of a key among the transaction's; none if it is not there.
func (l *ledger) indexOf(key pubkey.Key) int {
	for i := range l.tx.Keys[:min(len(l.tx.Keys), maxKeys)] {
		if l.tx.Keys[i] == key {
			return i
		}
	}
	return none
}

// vaultOf returns the index of a token account that the owner has for a mint, according to the
// balances; none if no balance shows such an account.
func (l *ledger) vaultOf(owner, mint pubkey.Key) int {
	for _, i := range l.touched {
		if b := &l.balances[i]; b.owner == owner && b.mint == mint && i < len(l.tx.Keys) {
			return i
		}
	}
	return none
}

// solDecimals are the decimals of SOL: 10^9 lamports.
const solDecimals = 9

// wrappedSOL is schemas.MintWrappedSOL as a key.
var wrappedSOL = pubkey.MustParse(schemas.MintWrappedSOL)
