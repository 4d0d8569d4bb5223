package chain

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/mintlake/mintlake/testworld/layout"
)

// power is a Token-2022 extension of a mint that gives somebody power over holders, or changes what
// amounts mean. Numbers and layouts: spl-token-2022-interface 3.1.1, instruction.rs and extension/.
// The chain writes it into the mint and into the accounts that follow from it. Of what it means
// only a frozen beginning, a ban on transfers and a ban on burns without permission are enforced:
// nothing here pauses a mint, names a hook's program or moves tokens as a delegate.
type power struct {
	kind uint16
	// tag is the initializer's number. With sub, its second byte is 0.
	tag byte
	sub bool
	// takes is the length of the initializer's data, and give makes that data.
	takes int
	give  func(authority Key) []byte
	// value makes the extension's value of the data; nil if it is the data.
	value func(data []byte, now int64) []byte
	// check returns the error number of data that the program refuses, or 0; nil if it takes all.
	check func(data []byte) uint32
	// unpoolable: pools refuse the extension. still: nobody but its creator holds the token.
	unpoolable, still bool
}

// powers are given to new Token-2022 mints in turn.
var powers = [...]power{
	{kind: layout.ExtPermanentDelegate, tag: 35, takes: 32, give: onlyAuthority, unpoolable: true},
	{kind: layout.ExtScaledAmount, tag: layout.TagScaledAmount, sub: true, takes: 40, give: scaledBy, value: scaledValue, check: func(data []byte) uint32 { return checkScale(data[32:]) }},
	{kind: layout.ExtDefaultState, tag: 28, sub: true, takes: 1, give: func(Key) []byte { return []byte{layout.StateFrozen} }, check: checkState, unpoolable: true, still: true},
	{kind: layout.ExtPausable, tag: 44, sub: true, takes: 32, give: onlyAuthority, value: func(data []byte, _ int64) []byte { return append(data, 0) }, unpoolable: true},
	// A hook whose program is not named yet.
	{kind: layout.ExtTransferHook, tag: 36, sub: true, takes: 64, give: authorityAnd(32), unpoolable: true},
	{kind: layout.ExtInterest, tag: 33, sub: true, takes: 34, give: fivePercent, value: interestValue},
	// Transfers may be confidential, approved by hand, with no auditor.
	{kind: layout.ExtConfidential, tag: 27, sub: true, takes: 65, give: authorityAnd(33), unpoolable: true},
	{kind: layout.ExtNonTransferable, tag: 32, give: func(Key) []byte { return nil }, unpoolable: true, still: true},
	{kind: layout.ExtGroupPointer, tag: 40, sub: true, takes: 64, give: func(a Key) []byte { return layout.MetadataPointer(a, a) }, unpoolable: true},
	{kind: layout.ExtMemberPointer, tag: 41, sub: true, takes: 64, give: func(a Key) []byte { return layout.MetadataPointer(a, a) }, unpoolable: true},
	{kind: layout.ExtPermissionedBurn, tag: 46, sub: true, takes: 32, give: onlyAuthority, unpoolable: true},
}

func onlyAuthority(authority Key) []byte { return bytes.Clone(authority[:]) }

// authorityAnd gives the authority and so many bytes of zero, which name nobody.
func authorityAnd(more int) func(authority Key) []byte {
	return func(authority Key) []byte { return append(authority[:], make([]byte, more)...) }
}

// fivePercent gives an interest of 500 basis points a year.
func fivePercent(authority Key) []byte { return binary.LittleEndian.AppendUint16(authority[:], 500) }

// interestValue: authority, time of the beginning, rate before, time of the last change, rate.
func interestValue(data []byte, now int64) []byte {
	authority, rate := data[:32], data[32:34]
	v := append(layout.AppendU64(bytes.Clone(authority), uint64(now)), rate...)
	return append(layout.AppendU64(v, uint64(now)), rate...)
}

func scaledBy(authority Key) []byte { return layout.AppendU64(authority[:], math.Float64bits(1.25)) }

// scaledValue: authority, multiplier, time from which the next one holds, the next multiplier.
func scaledValue(data []byte, _ int64) []byte {
	return append(layout.AppendU64(bytes.Clone(data), 0), data[32:40]...)
}

// checkScale refuses a multiplier that is not a positive normal number.
func checkScale(data []byte) uint32 {
	const smallest = 0x1p-1022 // that Rust's is_normal accepts
	if m := math.Float64frombits(binary.LittleEndian.Uint64(data)); math.IsNaN(m) || math.IsInf(m, 0) || m < smallest {
		return tokInvalidScale
	}
	return 0
}

// checkState refuses to let accounts begin as what is no account.
func checkState(data []byte) uint32 {
	if data[0] != layout.StateInitialized && data[0] != layout.StateFrozen {
		return tokInvalidState
	}
	return 0
}

// powerOf returns the extension that an instruction initializes; nil for none.
func powerOf(data []byte) *power {
	for i := range powers {
		if p := &powers[i]; data[0] == p.tag && len(data) == p.head()+p.takes && (!p.sub || data[1] == 0) {
			return p
		}
	}
	return nil
}

// head is the length of the initializer's number.
func (p *power) head() int {
	if p.sub {
		return 2
	}
	return 1
}

// of returns the extension's value.
func (p *power) of(data []byte, now int64) []byte {
	if p.value == nil {
		return data
	}
	return p.value(bytes.Clone(data), now)
}

// size is how many bytes the extension takes in the mint.
func (p *power) size() int { return 4 + len(p.of(make([]byte, p.takes), 0)) }

// initialize returns the instruction that gives a mint the power.
func (p *power) initialize(mint, authority Key) Instruction {
	data := make([]byte, p.head())
	data[0] = p.tag
	return Instruction{Program: Token2022Program, Accounts: []AccountMeta{writable(mint)}, Data: append(data, p.give(authority)...)}
}

// powerInitialize writes the extension into a mint that is not yet initialized.
func powerInitialize(x *machine, f *frame, p *power) error {
	if err := f.need(1); err != nil {
		return err
	}
	a, value := x.acc(f.accs[0]), p.of(f.data[p.head():], x.now)
	if a.Owner != Token2022Program || len(a.Data) <= layout.TokenAccountSize || a.Data[layout.MintInitializedAt] != 0 || layout.ExtensionsEnd(a.Data)+4+len(value) > len(a.Data) {
		return fail(ErrInvalidAccountData)
	}
	if p.check != nil {
		if code := p.check(f.data[p.head():]); code != 0 {
			return failCustom(code)
		}
	}
	d := x.mutable(f.accs[0]).Data
	end := layout.ExtensionsEnd(d)
	if at, n := layout.Extension(d, p.kind); at >= 0 && n == len(value) {
		end = at - 4 // stated again
	}
	layout.PutExtension(d, end, p.kind, value)
	d[layout.TokenAccountSize] = layout.TypeMint
	return nil
}

// ixMultiplier makes a multiplier of the scaled amounts hold from a time on.
func ixMultiplier(mint, authority Key, multiplier float64, from int64) Instruction {
	data := layout.AppendU64([]byte{layout.TagScaledAmount, layout.ScaledTagUpdate}, math.Float64bits(multiplier))
	return Instruction{Program: Token2022Program, Accounts: []AccountMeta{writable(mint), signer(authority)}, Data: layout.AppendU64(data, uint64(from))}
}

// multiplierUpdate runs UpdateMultiplier (extension/scaled_ui_amount/processor.rs). Accounts: mint,
// authority.
func multiplierUpdate(x *machine, f *frame) error {
	if len(f.data) != 2+8+8 {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(2); err != nil {
		return err
	}
	mint, auth := f.accs[0], f.accs[1]
	d := x.acc(mint).Data
	if x.acc(mint).Owner != Token2022Program || !layout.IsMint(d) {
		return fail(ErrInvalidAccountData)
	}
	at, n := layout.Extension(d, layout.ExtScaledAmount)
	if at < 0 || n != layout.ScaledSize {
		return fail(ErrInvalidAccountData)
	}
	switch key := x.key(auth); {
	case Key(d[at:at+32]) != key || key.IsZero():
		return failCustom(tokOwnerMismatch)
	case !auth.signer:
		return fail(ErrMissingRequiredSignature)
	}
	next, from := f.data[2:10], int64(binary.LittleEndian.Uint64(f.data[10:]))
	if code := checkScale(next); code != 0 {
		return failCustom(code)
	}
	v := x.mutable(mint).Data[at : at+n]
	if x.now >= int64(binary.LittleEndian.Uint64(v[layout.ScaledFromAt:])) {
		copy(v[layout.ScaledNowAt:], v[layout.ScaledNextAt:])
	}
	if x.now >= from {
		copy(v[layout.ScaledNowAt:], next)
	}
	binary.LittleEndian.PutUint64(v[layout.ScaledFromAt:], uint64(max(0, from)))
	copy(v[layout.ScaledNextAt:], next)
	return nil
}

// freelyBurnt returns whether holders may burn tokens of the mint without a permission, which
// nobody gives on this chain.
func freelyBurnt(mint []byte) bool {
	if !extended(mint) {
		return true
	}
	at, _ := layout.Extension(mint, layout.ExtPermissionedBurn)
	return at < 0
}

// extended returns whether a mint may have extensions.
func extended(mint []byte) bool {
	return len(mint) > layout.TokenAccountSize && mint[layout.TokenAccountSize] == layout.TypeMint
}

// follows are the extensions that a mint's give to its token accounts, and how long their values
// are (ExtensionType::get_required_init_account_extensions).
var follows = map[uint16][]layout.Entry{
	layout.ExtTransferFeeConfig: {{Kind: layout.ExtTransferFeeAmount, Size: 8}},
	layout.ExtNonTransferable:   {{Kind: layout.ExtNonTransferableAccount}, {Kind: layout.ExtImmutableOwner}},
	layout.ExtTransferHook:      {{Kind: layout.ExtTransferHookAccount, Size: 1}},
	layout.ExtPausable:          {{Kind: layout.ExtPausableAccount}},
}

// accountExtensions returns what a mint's extensions add to its token accounts.
func accountExtensions(mint []byte) (list []layout.Entry) {
	if !extended(mint) {
		return nil
	}
	for e := range layout.Extensions(mint) {
		list = append(list, follows[e.Kind]...)
	}
	return list
}

// accountSize returns the size of a token account of the mint with the extensions asked for, which
// have no values.
func accountSize(mint []byte, asked ...uint16) int {
	extra, has := 0, map[uint16]bool{}
	add := func(kind uint16, size int) {
		if !has[kind] {
			has[kind] = true
			extra += 4 + size
		}
	}
	for _, e := range accountExtensions(mint) {
		add(e.Kind, e.Size)
	}
	for _, kind := range asked {
		add(kind, 0)
	}
	if extra == 0 {
		return layout.TokenAccountSize
	}
	return layout.ExtensionsAt + extra
}

// extendAccount writes the extensions of a new token account that follow from its mint's. They must
// fit.
func extendAccount(account, mint []byte) error {
	for _, e := range accountExtensions(mint) {
		if len(account) <= layout.TokenAccountSize {
			return fail(ErrInvalidAccountData)
		}
		if at, _ := layout.Extension(account, e.Kind); at >= 0 {
			continue
		}
		end := layout.ExtensionsEnd(account)
		if end+4+e.Size > len(account) {
			return fail(ErrInvalidAccountData)
		}
		layout.PutExtension(account, end, e.Kind, make([]byte, e.Size))
		account[layout.TokenAccountSize] = layout.TypeAccount
	}
	return nil
}

// firstState is the state in which accounts of the mint begin.
func firstState(mint []byte) byte {
	if extended(mint) {
		if at, n := layout.Extension(mint, layout.ExtDefaultState); at >= 0 && n == 1 {
			return mint[at]
		}
	}
	return layout.StateInitialized
}

// poolableMint returns whether Raydium's CPMM takes a mint: it has none but these extensions
// (raydium-cp-swap, utils/token.rs).
func poolableMint(mint []byte) bool {
	if !extended(mint) {
		return true
	}
	for e := range layout.Extensions(mint) {
		switch e.Kind {
		case layout.ExtTransferFeeConfig, layout.ExtMetadataPointer, layout.ExtTokenMetadata, layout.ExtInterest, layout.ExtScaledAmount:
		default:
			return false
		}
	}
	return true
}
