package balances

import (
	"context"
	"fmt"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// facts are the latest facts about an account's delegate, and about whether it is frozen. A zero
// position stands for none.
type facts struct {
	// opened is when the account was opened or read last. An approval before that does not hold any
	// more.
	opened   schemas.Position
	frozen   frozen
	approved approved
}

type frozen struct {
	at schemas.Position
	is bool
}

// approved says that delegate may spend amount, from which nothing that was spent since is
// subtracted. A zero delegate means nobody. known is false if the delegate is not known.
type approved struct {
	at       schemas.Position
	known    bool
	delegate pubkey.Key
	amount   uint64
}

// spend is what somebody other than the owner moved out of an account.
type spend struct {
	account
	at       schemas.Position
	delegate pubkey.Key
	amount   uint64
}

func (f *facts) open(at schemas.Position) {
	if at.Compare(f.opened) > 0 {
		f.opened = at
	}
}

func (f *facts) freeze(at schemas.Position, is bool) {
	if at.Compare(f.frozen.at) >= 0 {
		f.frozen = frozen{at, is}
	}
}

func (f *facts) approve(a approved) {
	if a.at.Compare(f.approved.at) >= 0 {
		f.approved = a
	}
}

// checkStates returns an error that says what is malformed in a message's states.
func checkStates(m *eventspb.BalanceChanges) error {
	for i, s := range m.GetStates() {
		if len(s.GetAccount()) != pubkey.Size {
			return fmt.Errorf("the account of state %d has %d bytes instead of 32", i, len(s.GetAccount()))
		}
		if _, err := optionalKey(s.GetDelegate()); err != nil {
			return fmt.Errorf("state %d: %w", i, err)
		}
	}
	for i, c := range m.GetChanges() {
		if _, err := optionalKey(c.GetAfter().GetDelegate()); err != nil {
			return fmt.Errorf("account %d: %w", i, err)
		}
	}
	return nil
}

// stateOfChange enters what the i-th change of balances says about its account's delegate, and
// about whether the account is frozen. A read says both. An account that was just opened has no
// delegate. The standard token program opens it thawed, Token-2022 as the mint says. An account
// that just got its first tokens is thawed, because no frozen account takes tokens.
func (b *Batch) stateOfChange(m *eventspb.BalanceChanges, i int, c *change) {
	if !c.after.open {
		return
	}
	opens, fills := !c.before.open, c.before.amount == 0 && c.after.amount > 0
	if !m.GetIsRead() && !opens && !fills {
		return
	}
	f := b.states[c.account]
	if m.GetIsRead() {
		after := m.GetChanges()[i].GetAfter()
		delegate, _ := optionalKey(after.GetDelegate()) // checkStates found it well-formed
		f.open(c.position)
		f.freeze(c.position, after.GetIsFrozen())
		f.approve(approved{c.position, true, delegate, after.GetDelegatedAmount()})
	} else {
		// Facts from instructions of the same transaction come after this position, so they replace
		// it.
		start := c.position.StartOfTransaction()
		if opens {
			f.open(start)
		}
		if fills || opens && opensThawed(m) {
			f.freeze(start, false)
		}
	}
	b.states[c.account] = f
}

// opensThawed reports whether accounts of the message's mint are opened thawed for certain.
func opensThawed(m *eventspb.BalanceChanges) bool {
	program, err := optionalKey(m.GetProgram())
	return err == nil && program == tokenProgram
}

var tokenProgram = pubkey.MustParse(schemas.ProgramToken)

// addStates enters what instructions did to accounts.
func (b *Batch) addStates(m *eventspb.BalanceChanges, mint pubkey.Key) {
	for _, s := range m.GetStates() {
		at := account{mint, pubkey.Key(s.GetAccount())}
		position := schemas.Position{Slot: m.GetSlot(), Order: s.GetPlace()}
		delegate, _ := optionalKey(s.GetDelegate()) // checkStates found it well-formed
		if s.GetKind() == eventspb.AccountStateKind_ACCOUNT_STATE_KIND_SPENT {
			b.spends = append(b.spends, spend{at, position, delegate, s.GetAmount()})
			continue
		}
		f := b.states[at]
		switch s.GetKind() {
		case eventspb.AccountStateKind_ACCOUNT_STATE_KIND_OPENED:
			if f.open(position); opensThawed(m) {
				f.freeze(position, false)
			}
		case eventspb.AccountStateKind_ACCOUNT_STATE_KIND_FROZEN:
			f.freeze(position, true)
		case eventspb.AccountStateKind_ACCOUNT_STATE_KIND_THAWED:
			f.freeze(position, false)
		case eventspb.AccountStateKind_ACCOUNT_STATE_KIND_APPROVED:
			f.approve(approved{position, true, delegate, s.GetAmount()})
		case eventspb.AccountStateKind_ACCOUNT_STATE_KIND_REVOKED:
			f.approve(approved{at: position, known: true})
		default: // unclear, or of a newer writer
			f.approve(approved{at: position})
		}
		b.states[at] = f
	}
}

func (c *ClickHouse) insertStates(ctx context.Context, batch *Batch) error {
	texts := texts{}
	return c.insert(ctx, tableStates, len(batch.states), func(add func(...any) error) error {
		for at, f := range batch.states { // in any order: each row is of another account
			if err := add(texts.of(at.mint), string(at.key[:]), f.opened.BigInt(), []any{f.frozen.at.BigInt(), f.frozen.is},
				[]any{f.approved.at.BigInt(), f.approved.known, string(f.approved.delegate[:]), f.approved.amount}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *ClickHouse) insertSpends(ctx context.Context, batch *Batch) error {
	texts := texts{}
	return c.insert(ctx, tableSpends, len(batch.spends), func(add func(...any) error) error {
		for i := range batch.spends {
			s := &batch.spends[i]
			if err := add(texts.of(s.mint), string(s.key[:]), s.at.Slot, s.at.Order, string(s.delegate[:]), s.amount); err != nil {
				return err
			}
		}
		return nil
	})
}
