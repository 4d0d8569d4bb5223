package jsonrpc

import "github.com/mintlake/mintlake/internal/solana"

// commitment is an index into what is kept for each commitment, the lowest first.
type commitment int

const (
	processed commitment = iota
	confirmed
	finalized
	commitments
)

func (c commitment) String() string {
	return [...]string{string(solana.Processed), string(solana.Confirmed), string(solana.Finalized)}[c]
}

// parseCommitment reads a commitment's name, those of Solana before 1.5.5 included.
func parseCommitment(name string) (commitment, bool) {
	switch name {
	case "processed", "recent":
		return processed, true
	case "confirmed", "single", "singleGossip":
		return confirmed, true
	case "finalized", "root", "max":
		return finalized, true
	}
	return finalized, false
}
