package jsonrpc

import "github.com/mintlake/mintlake/solana"

// commitment is a level of commitment, the lowest first. It is the index of arrays that have one
// element for each level.
type commitment int

const (
	processed commitment = iota
	confirmed
	finalized
	commitments // their number
)

func (c commitment) String() string {
	return [...]string{string(solana.Processed), string(solana.Confirmed), string(solana.Finalized)}[c]
}

// parseCommitment reads a commitment's name. For an unknown one it returns finalized, a node's
// default, and false.
func parseCommitment(name string) (commitment, bool) {
	rank, ok := solana.CommitmentRank(name)
	if !ok {
		return finalized, false
	}
	return commitment(rank), true
}
