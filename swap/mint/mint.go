// Package mint reads what a swap must know of a token's mint: its program, what a transfer costs,
// and whether a transfer works at all.
//
// In: a mint account, hostile. Out: a Mint. Guarantees: pure, never panics.
package mint

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/borsh"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// The token programs, and the mint that stands for native SOL.
var (
	Token      = tokenaccount.ProgramToken
	Token2022  = tokenaccount.ProgramToken2022
	WrappedSOL = pubkey.MustParse(schemas.MintWrappedSOL)
)

// ErrUntradable is a mint whose tokens cannot be swapped by an ordinary transaction.
var ErrUntradable = errors.New("the token cannot be traded")

// feeRule is one of the two transfer fees of a mint. It holds from its epoch on.
type feeRule struct {
	epoch   uint64
	maximum uint64
	bps     uint64
}

// Mint of a token.
type Mint struct {
	Address pubkey.Key
	// Program is Token or Token2022.
	Program  pubkey.Key
	Decimals uint8
	// Supply in raw units.
	Supply uint64
	// Warnings are words for what a buyer should know, such as "freezable" or "permanent_delegate".
	Warnings []string

	hasFee bool
	// newer is the fee from its epoch on, older the fee before.
	older, newer feeRule
	// extra is how many bytes the mint's extensions add to a token account.
	extra int
}

// AccountSize returns the length of the mint's associated token accounts. Those of Token-2022 are
// longer: they have the type of the account and an immutable owner (spl-token-2022-interface,
// ExtensionType::get_required_init_account_extensions; each extension has a header of 4 bytes).
func (m *Mint) AccountSize() int {
	const base, typed, header = 165, 1, 4
	if m.Program == Token {
		return base
	}
	return base + typed + header + m.extra
}

// What extensions of a mint add to each of its token accounts, in bytes: a header of 4, and the
// value.
const (
	extraTransferFee  = 4 + 8
	extraTransferHook = 4 + 1
	extraPausable     = 4
)

// Parse reads a mint account. Every error wraps ErrUntradable: there is no valid mint, or its
// tokens cannot be transferred without extra accounts, or at all. Tokens cannot be transferred if
// their mint has a transfer hook with a program, is non-transferable or paused, makes accounts that
// begin frozen, or has a transfer fee that cannot be read.
func Parse(address pubkey.Key, account *solana.Account) (*Mint, error) {
	if account == nil {
		return nil, fmt.Errorf("mint %s: %w: no such account", address, ErrUntradable)
	}
	parsed, err := tokenaccount.ParseMint(account.Owner, account.Data)
	if err != nil {
		return nil, fmt.Errorf("mint %s: %w: %w", address, ErrUntradable, err)
	}
	m := &Mint{Address: address, Program: account.Owner, Decimals: parsed.Decimals, Supply: parsed.Supply}
	if parsed.FreezeAuthority != nil {
		m.Warnings = append(m.Warnings, "freezable")
	}
	for _, extension := range parsed.Extensions {
		if err := m.apply(extension); err != nil {
			return nil, fmt.Errorf("mint %s: %w: %w", address, ErrUntradable, err)
		}
	}
	return m, nil
}

// Types of Token-2022 extensions (spl-token-2022-interface, ExtensionType).
const (
	extensionTransferFee         = 1
	extensionDefaultAccountState = 6
	extensionNonTransferable     = 9
	extensionPermanentDelegate   = 12
	extensionTransferHook        = 14
	extensionPausable            = 26
)

// initialized is the AccountState of an account that is not frozen.
const initialized = 1

// apply takes in an extension. If its value cannot be read, it counts as the worst that it may
// mean.
func (m *Mint) apply(e tokenaccount.Extension) error {
	r := borsh.NewReader(e.Value)
	switch e.Type {
	case extensionTransferFee:
		r.Skip(32 + 32 + 8) // both authorities, and what was withheld
		m.hasFee, m.extra = true, m.extra+extraTransferFee
		m.older, m.newer = rule(r), rule(r)
		if r.Err() != nil {
			return errors.New("its transfer fee has an unknown form")
		}
	case extensionDefaultAccountState:
		if state := r.U8(); r.Err() != nil || state != initialized {
			return errors.New("its accounts begin frozen")
		}
	case extensionNonTransferable:
		return errors.New("it is not transferable")
	case extensionPermanentDelegate:
		if delegate := r.Key(); r.Err() != nil || !delegate.IsZero() {
			m.Warnings = append(m.Warnings, "permanent_delegate")
		}
	case extensionTransferHook:
		r.Skip(32) // the authority
		if program := r.Key(); r.Err() != nil || !program.IsZero() {
			return errors.New("its transfers call a hook program")
		}
		m.extra += extraTransferHook
	case extensionPausable:
		r.Skip(32) // the authority
		if paused := r.U8(); r.Err() != nil || paused != 0 {
			return errors.New("it is paused")
		}
		m.extra += extraPausable
	}
	return nil
}

// rule reads a TransferFee.
func rule(r *borsh.Reader) feeRule {
	return feeRule{epoch: r.U64(), maximum: r.U64(), bps: uint64(r.U16())}
}

// wholeBps is all of an amount, in basis points.
const wholeBps = 10_000

// feeOf returns the fee that holds in an epoch (TransferFeeConfig::get_epoch_fee). Its bps are at
// most wholeBps.
func (m *Mint) feeOf(epoch uint64) feeRule {
	r := m.older
	if epoch >= m.newer.epoch {
		r = m.newer
	}
	r.bps = min(r.bps, wholeBps)
	return r
}

// Taxed returns whether transfers may withhold a fee, now or later.
func (m *Mint) Taxed() bool { return m.hasFee }

// TransferFee returns what a transfer of amount withholds in epoch: ceil(amount·bps/10,000), at
// most the maximum (spl-token-2022-interface, TransferFee::calculate_fee).
func (m *Mint) TransferFee(epoch, amount uint64) uint64 {
	if !m.hasFee {
		return 0
	}
	r := m.feeOf(epoch)
	fee, _ := mulDivUp(amount, r.bps, wholeBps)
	return min(fee, r.maximum)
}

// Sent returns what must leave an account in epoch so that amount arrives
// (TransferFee::calculate_pre_fee_amount). If the fee would exceed the maximum, or is the whole
// amount, the result is amount plus the maximum. ok is false if the result exceeds 64 bits.
func (m *Mint) Sent(epoch, amount uint64) (gross uint64, ok bool) {
	if !m.hasFee || amount == 0 {
		return amount, true
	}
	r := m.feeOf(epoch)
	most, carry := bits.Add64(amount, r.maximum, 0)
	if r.bps < wholeBps {
		gross, ok = mulDivUp(amount, wholeBps, wholeBps-r.bps)
		if ok && gross-amount < r.maximum {
			return gross, true
		}
	}
	return most, carry == 0
}

// mulDivUp is ceil(a·b/d) over 128 bits; ok is false if that exceeds 64 bits.
func mulDivUp(a, b, d uint64) (q uint64, ok bool) {
	hi, lo := bits.Mul64(a, b)
	if hi >= d {
		return 0, false
	}
	q, rest := bits.Div64(hi, lo, d)
	if rest > 0 {
		q++
	}
	return q, rest == 0 || q != 0
}
