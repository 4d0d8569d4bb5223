package chain

import (
	"strconv"
	"strings"
)

// UIAmount is a raw amount in units of the token, as Solana prints uiAmountString: no trailing
// zeros, no exponent.
func UIAmount(amount uint64, decimals uint8) string {
	s := strconv.FormatUint(amount, 10)
	if decimals == 0 {
		return s
	}
	d := int(decimals)
	if len(s) <= d {
		s = strings.Repeat("0", d-len(s)+1) + s
	}
	whole, frac := s[:len(s)-d], strings.TrimRight(s[len(s)-d:], "0")
	if frac == "" {
		return whole
	}
	return whole + "." + frac
}

// UIFloat is the same as a float64, for the deprecated uiAmount field.
func UIFloat(amount uint64, decimals uint8) float64 {
	f, err := strconv.ParseFloat(UIAmount(amount, decimals), 64)
	if err != nil {
		return 0
	}
	return f
}

// TxsPerEntry is how many transactions an entry of a block has at most.
const TxsPerEntry = 64

// Entries returns how many ledger entries the block is split into, the final tick included.
func (b *Block) Entries() int { return (len(b.Txs)+TxsPerEntry-1)/TxsPerEntry + 1 }

// LeaderReward is the half of the fees that the leader gets.
func (b *Block) LeaderReward() uint64 {
	var fees uint64
	for _, tx := range b.Txs {
		fees += tx.Meta.Fee
	}
	return fees / 2
}
