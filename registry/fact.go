// Package registry is the fold: what a token is, and how events make it.
//
// In: token events and enrichments. Out: facts, the state of a token, and the token as users see
// it. Guarantees: pure; no clock, no randomness, no map order. Applying facts in any order, any
// number of times, gives the same state; but a state that a retraction took facts from must be
// folded again (State.TakesBack).
//
// A token's state is a set of registers. A fact proposes a value for one register at a position on
// the chain; of all facts about a register the one with the highest (position, value) holds. Values
// are compared bytewise, so that two reads of one slot that disagree still fold alike everywhere.
// ClickHouse keeps the same facts in token_facts_raw with the same rule (max over the tuple), and a
// property test proves both folds equal.
package registry

import (
	"strings"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Register names one thing that is known about a token.
type Register uint8

// Registers. Their numbers are stored in ClickHouse: add new ones at the end and never change one.
// A comment says what the register's value is.
const (
	// RegisterProgram: the owning token program, base58.
	RegisterProgram Register = 1
	// RegisterDecimals: decimal number, 0-255.
	RegisterDecimals Register = 2
	// RegisterSupply: raw amount at the position, decimal number.
	RegisterSupply Register = 3
	// RegisterSupplyDelta: signed decimal number; item = schemas.InstructionID in hexadecimal.
	RegisterSupplyDelta Register = 4
	// RegisterMintAuthority and RegisterFreezeAuthority: base58, empty = none.
	RegisterMintAuthority   Register = 5
	RegisterFreezeAuthority Register = 6
	// Metaplex: text trimmed; update authority base58; numbers decimal.
	RegisterMetaplexName            Register = 7
	RegisterMetaplexSymbol          Register = 8
	RegisterMetaplexURI             Register = 9
	RegisterMetaplexUpdateAuthority Register = 10
	RegisterSellerFeeBasisPoints    Register = 11
	RegisterTokenStandard           Register = 12
	// Token-2022 metadata extension: text trimmed.
	RegisterToken2022Name            Register = 13
	RegisterToken2022Symbol          Register = 14
	RegisterToken2022URI             Register = 15
	RegisterToken2022UpdateAuthority Register = 16
	// RegisterMetadataPointer: the account that the metadata pointer extension names, base58, empty
	// = none.
	RegisterMetadataPointer Register = 17
	// RegisterExtension: item = the extension's name, or name.attribute; value = the attribute's,
	// empty for the name alone.
	RegisterExtension Register = 18
	// RegisterOffchain: a JSON object, see Offchain.
	RegisterOffchain Register = 19
	// RegisterLogo: status and URL, see Logo. Its position is the slot and the number of the check.
	RegisterLogo Register = 20
	// RegisterFirstSeen and RegisterLastSeen: block time, Unix milliseconds. FirstSeen's position
	// is reversed: the earliest holds.
	RegisterFirstSeen Register = 21
	RegisterLastSeen  Register = 22
	// RegisterClosed: "true" once the mint account was closed, "false" when it is initialised
	// (again). The positions of the items ItemClosed and ItemInitialized are where that last
	// happened; their values are empty.
	RegisterClosed Register = 23
	// RegisterTokenList: a JSON object, see ListEntry; item = the list's name. Its position is slot
	// 0, before everything on the chain, with the list's timestamp as the order: a newer version of
	// a list beats an older one.
	RegisterTokenList Register = 24
	// RegisterToken2022Field: an additional field of the Token-2022 metadata extension; item = "."
	// and its key, value = its trimmed text, empty once it was removed. The position of the empty
	// item is where all fields were last stated together: fields stated before it are gone.
	RegisterToken2022Field Register = 25
	// RegisterLogoOverride: a JSON object, see LogoOverride. Its position is slot 0 with the
	// decision's version as the order: a later decision beats an earlier one.
	RegisterLogoOverride Register = 26
	// RegisterLaunchpad: the launchpad that created the mint. RegisterCreator: the creator that the
	// launchpad's instruction names, base58, empty = none.
	RegisterLaunchpad Register = 27
	RegisterCreator   Register = 28
	// RegisterGraduated: block time at which the launchpad moved its trading to a pool, Unix
	// milliseconds.
	RegisterGraduated Register = 29
	// RegisterRetraction: facts that are taken back; item = Retracted.Item, the value is empty. Its
	// position is slot 0 with the decision's version as the order.
	RegisterRetraction Register = 30
)

// Fact proposes Value for one register of one mint. Item tells apart the values of a register that
// can have several. It is empty for most registers.
type Fact struct {
	Mint     pubkey.Key
	Register Register
	Item     string
	Position schemas.Position
	Value    string
}

// beats reports whether a replaces b, a fact about the same register and item. The higher position
// wins; at the same position, the higher value.
func (a *Fact) beats(b *Fact) bool {
	if c := a.Position.Compare(b.Position); c != 0 {
		return c > 0
	}
	return strings.Compare(a.Value, b.Value) > 0
}
