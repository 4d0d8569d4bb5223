package chain

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mintlake/mintlake/solana/txwire"
)

// What a transaction may load: Solana's MAX_LOADED_ACCOUNTS_DATA_SIZE_BYTES, and what each account
// counts besides its data (SIMD-0186).
const (
	maxLoaded          = 64 << 20
	loadedAccountBytes = 64
)

// ComputePrice returns what the message offers per compute unit, in micro-lamports; 0 if it does
// not set a price.
func (m *Message) ComputePrice() uint64 {
	if m.Version >= txwire.V1 {
		return m.Config.UnitPrice()
	}
	_, price := m.budget()
	return price
}

// budget reads what instructions of the compute budget program ask for: compute units, and
// micro-lamports for one; 0 if they do not say. In version 1 they say nothing.
func (m *Message) budget() (limit, price uint64) {
	for i := range m.Instructions {
		ix := &m.Instructions[i]
		if int(ix.Program) < len(m.Keys) && m.Keys[ix.Program] == ComputeBudgetProgram {
			readBudget(ix.Data, &limit, &price)
		}
	}
	return limit, price
}

// readBudget reads one instruction of the compute budget program.
func readBudget(data []byte, limit, price *uint64) {
	switch {
	case len(data) == 5 && data[0] == 2:
		*limit = uint64(binary.LittleEndian.Uint32(data[1:]))
	case len(data) == 9 && data[0] == 3:
		*price = binary.LittleEndian.Uint64(data[1:])
	}
}

// Fee returns what the payer is charged in lamports, whatever comes of the transaction.
func (m *Message) Fee() uint64 {
	base := signatureFee * uint64(m.Header[0])
	if m.Version >= txwire.V1 {
		if fee := m.Config.PriorityFee; fee != nil {
			return base + min(*fee, math.MaxUint64-base)
		}
		return base
	}
	_, price := m.budget()
	return base + priorityFee(m.ComputeLimit(), price)
}

// priorityFee is what the units cost in lamports, at a price in micro-lamports.
func priorityFee(units, price uint64) uint64 {
	return (units*min(price, maxComputePrice) + 999_999) / 1_000_000
}

// ComputeLimit returns the compute units that the transaction may use. Version 1 has no default.
func (m *Message) ComputeLimit() uint64 {
	if m.Version >= txwire.V1 {
		if m.Config.ComputeUnitLimit == nil {
			return 0
		}
		return min(uint64(*m.Config.ComputeUnitLimit), maxComputeLimit)
	}
	limit, _ := m.budget()
	calls := 0
	for i := range m.Instructions {
		if p := int(m.Instructions[i].Program); p < len(m.Keys) && m.Keys[p] != ComputeBudgetProgram {
			calls++
		}
	}
	return computeLimit(limit, calls)
}

// computeLimit is the compute units of a transaction that asks for some, or for none, and has so
// many instructions of other programs than the compute budget's.
func computeLimit(asked uint64, calls int) uint64 {
	if asked == 0 {
		asked = uint64(max(calls, 1)) * defaultComputeLimit
	}
	return min(asked, maxComputeLimit)
}

// loadedLimit returns how many bytes of accounts the transaction may load. Version 1 has no
// default.
func (m *Message) loadedLimit() uint64 {
	switch {
	case m.Version < txwire.V1:
		return maxLoaded
	case m.Config.LoadedAccountsDataSizeLimit == nil:
		return 0
	}
	return min(uint64(*m.Config.LoadedAccountsDataSizeLimit), maxLoaded)
}

// loaded returns how many bytes of accounts the transaction loads.
func (x *machine) loaded() (n uint64) {
	for i := range x.accs {
		if o := x.accs[i].orig; o != nil {
			n += loadedAccountBytes + uint64(len(o.Data))
		}
	}
	return n
}

// chargeFee takes the fee from the payer. It fails if the payer cannot pay.
func (x *machine) chargeFee() error {
	x.limit = x.msg.ComputeLimit()
	fee := x.msg.Fee()
	if x.accs[0].cur.Lamports < fee {
		return fmt.Errorf("charge fee: payer %s has %d lamports, needs %d", x.keys[0], x.accs[0].cur.Lamports, fee)
	}
	x.meta.Fee = fee
	x.accs[0].cur.Lamports -= fee
	x.accs[0].dirty = true
	return nil
}

// withoutUnits is the error of a program that may use no compute units; nil if it may use some. A
// heap above 32 KiB costs units before the program starts.
func (x *machine) withoutUnits(p *program) error {
	heap := x.msg.Config.HeapSize
	switch {
	case x.limit > 0:
		return nil
	case p.builtin:
		return fail(ErrBudgetExceeded)
	case heap != nil && *heap > minHeap:
		x.log("Failed to create SBF VM: Computational budget exceeded")
		return fail(ErrEnvironmentSetup)
	}
	return fail(ErrFailedToComplete)
}
