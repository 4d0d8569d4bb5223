package venue

// Traced is what reads a venue's swaps off the chain, so that what the chain gave can be compared
// with what a quote says.
type Traced interface {
	// Programs whose code decides what a swap gives: the venue's own first.
	Programs() []Key
	// Trade reads an instruction of the venue's program. ok is false for one that is no swap, or a
	// swap in a form that no order has.
	Trade(call Call) (trade Trade, ok bool)
	// FeatureNames are the names of the bits of Features, the lowest first.
	FeatureNames() []string
}

// Features are the parts of a venue's arithmetic that a swap uses, as a set of bits: modes, fees,
// flags of the pool. Two swaps of equal features are computed by the same formula.
type Features uint32

// With adds bits where a condition holds.
func (f Features) With(bits Features, holds bool) Features {
	if holds {
		return f | bits
	}
	return f
}

// Names lists the features by their names. None is nil.
func (f Features) Names(of []string) (names []string) {
	for i, name := range of {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Call is an instruction as it stands in a transaction.
type Call struct {
	Accounts []Key
	Data     []byte
}

// Trade is what a swap instruction asks for.
type Trade struct {
	// Pool account.
	Pool Key
	// User is the wallet; Source and Destination are its accounts. Everything else that the
	// instruction names is on the other side of the trade.
	User, Source, Destination Key
	// Amount in raw units: of what is sold, or of what is bought if ExactOut.
	Amount   uint64
	ExactOut bool
	// Native says that SOL moves as lamports.
	Native bool
}
