package venues

import "github.com/mintlake/mintlake/ingest/decode/swap"

// mercurial reads Mercurial's stable pools of two to four tokens.
//
// Layouts: seen in mainnet transactions: pool, token program, authority, user, the vaults, source,
// destination. Amounts: transfers into and out of the vaults; checked by balances. Only the
// transfers show which two of the vaults trade.
func mercurial() swap.Venue {
	return swap.Venue{
		Name: "mercurial", Program: "MERLuDFBMmsHnsBPZw2sDQZHvXFMwp8EdjudcU2HKky",
		Instructions: []swap.Instruction{{Name: "exchange", Tag: swap.Tag("04"), MinAccounts: 8, Find: mercurialVaults}},
	}
}

// mercurialVaults finds the vault that gained and the one that lost. The vaults are the accounts
// that the pool's authority owns. If one of the two is missing, there is no leg.
func mercurialVaults(in *swap.Input, shapes []swap.Shape) []swap.Shape {
	const authority, user, first = 2, 3, 4
	gained, lost := swap.None, swap.None
	for i := first; i < in.Accounts(); i++ {
		if in.Owner(i) != in.Key(authority) {
			continue
		}
		switch came, went := in.Moved(i); {
		case came > went:
			gained = i
		case went > came:
			lost = i
		}
	}
	if gained == swap.None || lost == swap.None {
		return shapes
	}
	return append(shapes, swap.Shape{Pool: 0, VaultA: gained, VaultB: lost, Owner: user, MintA: swap.None, MintB: swap.None})
}
