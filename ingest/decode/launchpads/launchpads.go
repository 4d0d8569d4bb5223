// Package launchpads describes the programs on which tokens are launched, one file for each.
//
// In: one invocation of such a program. Out: a launch event if it creates a token, a graduate event
// if it moves the token's trading to a pool of another program. Guarantees: pure. Other
// instructions of the program, and malformed ones, give nothing: the token's own instructions are
// decoded separately.
package launchpads

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Launchpad is one program.
type Launchpad struct {
	// Name is the launchpad's name in the API, lower snake case.
	Name string
	// Program is its address, base58.
	Program string

	instructions []ins
}

// All returns all launchpads.
func All() []Launchpad { return []Launchpad{pump(), raydiumLaunchLab(), meteoraDBC()} }

// none stands for an account that an instruction does not have.
const none = -1

// ins describes one instruction by the places of its accounts.
type ins struct {
	name string
	tag  string
	mint int
	// pool is the bonding curve of a launch, or the pool that a graduation makes.
	pool int
	// creator and config belong to a launch: the creator of the token, and the account with the
	// terms of the site that launches it (LaunchLab's platform_config, DBC's config).
	creator, config int
	// creatorOf, if set, reads the creator from the data and takes precedence over creator. It
	// returns false if the data has none.
	creatorOf  func(data []byte) (pubkey.Key, bool)
	graduation bool
	// calls is the place of the program that a graduation calls. It is set for an instruction that
	// succeeds without effect when it is repeated, because only the call shows that the instruction
	// graduated the token. If calls is none, it is enough that the instruction succeeded.
	calls int
}

// launch returns an instruction of an Anchor program that creates a token.
func launch(name string, mint, pool, creator, config int) ins {
	return ins{name: name, tag: instruction.AnchorTag(name), mint: mint, pool: pool, creator: creator, config: config, calls: none}
}

// graduate returns an instruction of an Anchor program that moves a token's trading.
func graduate(name string, mint, pool int) ins {
	return ins{name: name, tag: instruction.AnchorTag(name), mint: mint, pool: pool, creator: none, config: none, graduation: true, calls: none}
}

// Decode reads an invocation. within are the calls made inside the invocation, see ins.calls.
// Decode returns false if the invocation neither launches nor graduates a token.
func (l *Launchpad) Decode(v instruction.View, within []chain.Call) (*eventspb.TokenEvent, bool) {
	data := v.Data()
	for i := range l.instructions {
		if in := &l.instructions[i]; instruction.HasTag(data, in.tag) {
			return l.event(v, in, within)
		}
	}
	return nil, false
}

func (l *Launchpad) event(v instruction.View, in *ins, within []chain.Call) (*eventspb.TokenEvent, bool) {
	mint, err := v.Account(in.mint)
	if err != nil || in.calls != none && !called(v, in.calls, within) {
		return nil, false
	}
	event := &eventspb.TokenEvent{Mint: mint.Bytes(), Instruction: in.name}
	if in.graduation {
		event.Payload = &eventspb.TokenEvent_Graduate{Graduate: &eventspb.Graduate{Launchpad: l.Name, Pool: key(v, in.pool)}}
		return event, true
	}
	made := &eventspb.Launch{Launchpad: l.Name, Creator: key(v, in.creator), Curve: key(v, in.pool), Config: key(v, in.config)}
	if in.creatorOf != nil {
		if creator, ok := in.creatorOf(v.Data()[len(in.tag):]); ok && creator != (pubkey.Key{}) {
			made.Creator = creator.Bytes()
		}
	}
	event.Payload = &eventspb.TokenEvent_Launch{Launch: made}
	return event, true
}

// key returns the key at a place among the accounts; nil if there is no account at the place.
func key(v instruction.View, place int) []byte {
	k, err := v.Account(place)
	if err != nil {
		return nil
	}
	return k.Bytes()
}

// called reports whether within has a call of the program that is at a place among the accounts.
func called(v instruction.View, place int, within []chain.Call) bool {
	want, err := v.Account(place)
	if err != nil {
		return false
	}
	for i := range within {
		if program, ok := v.Tx.Program(&within[i]); ok && program == want {
			return true
		}
	}
	return false
}
