package launchpads

import (
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// pump reads pump.fun's bonding curve (pump).
//
// Layouts: pump-fun/pump-public-docs idl/pump.json, docs/PUMP_PROGRAM_README.md and
// docs/instructions/COIN_CREATION.md (October 2026); withdraw: the IDL of 2024.
//
// The creator is an argument, because a buyer may create a coin for somebody else. Until May 2025
// create had no such argument, and its user was the creator. migrate and migrate_v2 do nothing when
// they are repeated, so only their call of the AMM shows a graduation. Until March 2025, withdraw
// took the funds of a finished curve to Raydium.
func pump() Launchpad {
	l := Launchpad{Name: schemas.LaunchpadPump, Program: "6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P", instructions: []ins{
		launch("create", 0, 2, 7, none), launch("create_v2", 0, 2, 5, none),
		graduate("migrate", 2, 9), graduate("migrate_v2", 2, 10), graduate("withdraw", 2, none),
	}}
	for i := range l.instructions {
		switch in := &l.instructions[i]; in.name {
		case "create", "create_v2":
			in.creatorOf = pumpCreator
		case "migrate":
			in.calls = 8
		case "migrate_v2":
			in.calls = 9
		}
	}
	return l
}

// pumpCreator reads the creator, which is the argument after name, symbol and URI.
func pumpCreator(data []byte) (pubkey.Key, bool) {
	c := borsh.NewReader(data)
	for range 3 {
		c.String()
	}
	creator := c.Key()
	return creator, c.Err() == nil
}
