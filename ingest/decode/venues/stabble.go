package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// stabble reads Stabble's stable and weighted pools.
//
// Layouts: the programs' IDLs (sevenlabs-hq/carbon stabble-*-swap-decoder). Amounts: transfers into
// and out of the vaults; checked by balances. The vault program pays out, deeper inside the swap,
// together with the beneficiary's fee. The vaults hold the tokens of many pools, so legs have no
// reserves.
func stabble() []swap.Venue {
	return []swap.Venue{
		stabbleVenue("stabble_stable", "swapNyd8XiQwJ6ianp9snpu4brUqFxadzvHebnAXjJZ"),
		stabbleVenue("stabble_weighted", "swapFpHZwjELNnjvThjajtiVmkz3yPQEHjLtka2fwHW"),
	}
}

func stabbleVenue(name, program string) swap.Venue {
	return swap.Venue{
		Name: name, Program: program, SharedVaults: true,
		Instructions: []swap.Instruction{
			swap.Anchor("swap", 12, swap.Shape{Pool: 6, VaultA: 3, VaultB: 4, Owner: 0, MintA: swap.None, MintB: swap.None}),
			swap.Anchor("swap_v2", 15, swap.Shape{Pool: 8, VaultA: 5, VaultB: 6, Owner: 0, MintA: 1, MintB: 2}),
		},
	}
}
