package chain

import "github.com/mintlake/mintlake/testworld/layout"

// tokenBalances returns the balances of the token accounts that the transaction names, as its Meta
// has them.
func (x *machine) tokenBalances() []TokenBalance {
	var out []TokenBalance
	for i := range x.accs {
		a := &x.accs[i].cur
		if a.Owner != TokenProgram && a.Owner != Token2022Program || !layout.IsTokenAccount(a.Data) {
			continue
		}
		b := TokenBalance{Index: uint8(i), Program: a.Owner, Amount: layout.Amount(a.Data)}
		copy(b.Mint[:], a.Data[0:32])
		copy(b.Owner[:], a.Data[32:64])
		b.Decimals = x.decimals(b.Mint)
		out = append(out, b)
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
