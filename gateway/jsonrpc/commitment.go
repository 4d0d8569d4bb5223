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

// parseCommitment reads a commitment's name. It is finalized, as at a node, for an unknown one.
func parseCommitment(name string) (commitment, bool) {
	rank, ok := solana.CommitmentRank(name)
	if !ok {
		return finalized, false
	}
	return commitment(rank), true
}
