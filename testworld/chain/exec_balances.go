package chain

import "github.com/mintlake/mintlake/testworld/layout"

// tokenBalances returns the balances of the token accounts that the transaction names, as its Meta
// has them.
func (x *machine) tokenBalances() []TokenBalance {
	var out []TokenBalance
	for i := range x.accs {
		a := &x.accs[i].cur
		if !IsTokenAccount(a) {
			continue
		}
		mint := layout.MintOf(a.Data)
		out = append(out, TokenBalance{Index: uint8(i), Program: a.Owner, Mint: mint, Owner: layout.OwnerOf(a.Data), Amount: layout.Amount(a.Data),
			Decimals: x.decimals(mint)})
	}
	return out
}

// decimals returns the decimals of a mint; 0 if there is none.
func (x *machine) decimals(mint Key) uint8 {
	if at := x.find(mint); at >= 0 && len(x.accs[at].cur.Data) >= layout.MintSize {
		return x.accs[at].cur.Data[layout.MintDecimalsAt]
	}
	if a := x.st.get(mint); a != nil && len(a.Data) >= layout.MintSize {
		return a.Data[layout.MintDecimalsAt]
	}
	return 0
}
