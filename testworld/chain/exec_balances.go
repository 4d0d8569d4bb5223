package chain

// tokenBalances returns the balances of the token accounts that the transaction names, as its Meta
// has them.
func (x *machine) tokenBalances() []TokenBalance {
	var out []TokenBalance
	for i := range x.accs {
		a := &x.accs[i].cur
		if a.Owner != TokenProgram && a.Owner != Token2022Program || !isTokenAccount(a.Data) {
			continue
		}
		b := TokenBalance{Index: uint8(i), Program: a.Owner, Amount: tokenAmount(a.Data)}
		copy(b.Mint[:], a.Data[0:32])
		copy(b.Owner[:], a.Data[32:64])
		b.Decimals = x.decimals(b.Mint)
		out = append(out, b)
	}
	return out
}

// decimals returns the decimals of a mint; 0 if there is none.
func (x *machine) decimals(mint Key) uint8 {
	if at := x.find(mint); at >= 0 && len(x.accs[at].cur.Data) >= mintSize {
		return x.accs[at].cur.Data[mintDecimalsAt]
	}
	if a := x.st.get(mint); a != nil && len(a.Data) >= mintSize {
		return a.Data[mintDecimalsAt]
	}
	return 0
}
