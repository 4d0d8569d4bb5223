package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// saber reads Saber's StableSwap.
//
// Layouts: saber-hq/stable-swap stable-swap-client/src/instruction.rs: pool, authority, user,
// source, vaults in and out, destination, the admin's fee account. Amounts: transfers into and out
// of the vaults; checked by balances. The admin's fee also leaves the output vault, so a leg's
// amount_out includes it.
func saber() swap.Venue {
	const length = 1 + 2*8 // tag, amount in, least amount out
	const three = 1 + 3*8  // tag, and three numbers: amounts, liquidity tokens or limits
	return swap.Venue{
		Name: "saber", Program: "SSwpkEEcbUqx4vtoEByFjSkhKdCT862DNVb52nZg1UZ",
		Instructions: []swap.Instruction{
			{Name: "swap", Tag: swap.Tag("01"), MinAccounts: 9, DataLength: length, Shapes: []swap.Shape{
				{Pool: 0, VaultA: 4, VaultB: 5, Owner: 2, MintA: swap.None, MintB: swap.None},
			}},
			tokenSwapLiquidity("deposit", "02", swap.Add, 9, three, 7, 5),
			tokenSwapLiquidity("withdraw", "03", swap.Remove, 9, three, 3, 5),
			tokenSwapLiquidity("withdraw_one", "04", swap.Remove, 8, length, 3, 5),
		},
	}
}
