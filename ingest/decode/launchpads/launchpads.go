// Package launchpads are the tables of the programs on which tokens are launched: a file each.
//
// In: one invocation of such a program. Out: a launch event where it creates a token, a graduate
// event where it moves the token's trading to a pool of another program. Guarantees: pure; whatever
// else the program is asked, and whatever is malformed, yields nothing: the token's own
// instructions are decoded where they stand.
package launchpads

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Launchpad is one program.
type Launchpad struct {
	// Name is what tokens show, lower snake case.
	Name string
	// Program is its address, base58.
	Program string

	instructions []ins
}

// All are the tables of all launchpads.
func All() []Launchpad { return []Launchpad{pump(), raydiumLaunchLab(), meteoraDBC()} }

// none is a place that an instruction has not.
const none = -1

// ins is one instruction: the places of its accounts.
type ins struct {
	name string
	tag  string
	mint int
	// pool is the curve of a launch, and the pool that a graduation makes.
	pool int
	// creator and config are those of a launch: who made the token, and the account with the terms
	// of the site on which that was done.
	creator, config int
	// creatorOf is read instead where the data says who made the token; false: it does not.
	creatorOf  func(data []byte) (pubkey.Key, bool)
	graduation bool
	// calls is the account of the program that a graduation calls; none: the instruction fails, or
	// it graduates. Where it does nothing when it is repeated, only the call tells.
	calls int
}

// launch is an instruction of a program made with Anchor that creates a token.
func launch(name string, mint, pool, creator, config int) ins {
	return ins{name: name, tag: instruction.AnchorTag(name), mint: mint, pool: pool, creator: creator, config: config, calls: none}
}

// graduate is one that moves its trading.
func graduate(name string, mint, pool int) ins {
	return ins{name: name, tag: instruction.AnchorTag(name), mint: mint, pool: pool, creator: none, config: none, graduation: true, calls: none}
}

// Decode reads an invocation; within are the calls that were made inside it. False: it launches and
// graduates nothing.
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

// key is the key at a place, nil where there is none.
func key(v instruction.View, place int) []byte {
	k, err := v.Account(place)
	if err != nil {
		return nil
	}
	return k.Bytes()
}

// called says whether the program at a place was called.
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
