package venue

// Traced reads a venue's swaps in the chain's transactions, so that their amounts can be compared
// with our quotes.
type Traced interface {
	// Programs returns the programs whose code decides what a swap gives, the venue's own first.
	Programs() []Key
	// Trade reads an instruction of the venue's program. ok is false if it is not a swap, or is a
	// swap that no Order can express.
	Trade(call Call) (trade Trade, ok bool)
	// Proof returns what proves the venue's arithmetic.
	Proof() Proof
	// FeatureNames returns the names of the bits of Features, the lowest first.
	FeatureNames() []string
	// Optional returns the features that some builds of the venue's program lack. A swap that uses
	// one is only quoted on a build that is known to have it.
	Optional() Features
}

// Proof says against what the venue's arithmetic was checked. Clients get its value.
type Proof string

// The proofs, the strongest first.
const (
	// ProofExecution: runs of the venue's own program gave the test vectors.
	ProofExecution Proof = "execution"
	// ProofLibrary: a library, of the venue or of others, gives the same amounts.
	ProofLibrary Proof = "library"
	// ProofChain: only swaps on the chain. The venue is not quoted until enough of them were
	// computed again with the same result.
	ProofChain Proof = "chain"
)

// Features are the parts of a venue's arithmetic that a swap uses, as bits: modes, fees, flags of
// the pool. Two swaps with equal features are computed by the same formula.
type Features uint32

// With returns f, with bits added if holds is true.
func (f Features) With(bits Features, holds bool) Features {
	if holds {
		return f | bits
	}
	return f
}

// Names returns the names of the bits that are set; nil if no bit is set. of has the names of all
// bits, the lowest bit first.
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
	// Pool is the address of the pool account.
	Pool Key
	// User is the wallet. Source and Destination are its token accounts, or the wallet itself for
	// SOL that moves as lamports. All other accounts of the instruction belong to the pool's side
	// of the trade.
	User, Source, Destination Key
	// Amount is in raw units: of what is sold, or of what is bought if ExactOut.
	Amount   uint64
	ExactOut bool
	// Native says that SOL moves as lamports.
	Native bool
}
