package tokenaccount

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Offsets in a token account of both programs (spl-token-2022-interface, state.rs). Behind mint,
// owner and amount come the delegate, the state, the reserve of wrapped SOL, the delegated amount
// and the close authority, in this order.
const (
	delegateAt        = 72
	stateAt           = 108
	delegatedAmountAt = 121
	// StateEnd is how many bytes of an account StateOf reads.
	StateEnd = 129

	stateInitialized = 1
	stateFrozen      = 2
)

// State is what a token account has beside owner and amount.
type State struct {
	Frozen bool
	// Delegate is the key that may spend DelegatedAmount, in raw units; nil if there is none.
	Delegate        *pubkey.Key
	DelegatedAmount uint64
}

// StateOf reads a token account; false if it is too short or not initialised.
func StateOf(data []byte) (State, bool) {
	if len(data) < StateEnd || data[stateAt] != stateInitialized && data[stateAt] != stateFrozen {
		return State{}, false
	}
	state := State{Frozen: data[stateAt] == stateFrozen}
	// If the option is not set, the bytes behind it are what an earlier delegate left.
	if binary.LittleEndian.Uint32(data[delegateAt:]) == 1 {
		delegate := pubkey.Key(data[delegateAt+4 : delegateAt+4+pubkey.Size])
		state.Delegate, state.DelegatedAmount = &delegate, binary.LittleEndian.Uint64(data[delegatedAmountAt:])
	}
	return state, true
}

// Enter writes the state into a fact of a read.
func (s *State) Enter(fact *eventspb.BalanceState) {
	fact.IsFrozen = s.Frozen
	if s.Delegate != nil {
		fact.Delegate, fact.DelegatedAmount = s.Delegate.Bytes(), s.DelegatedAmount
	}
}
