package txwire

import (
	"encoding/json"
	"math"
	"math/bits"
)

// Bits of a config mask, which say which members the config has. Both bits of the fee are set, or
// neither.
const (
	maskFee    = 1<<0 | 1<<1
	maskUnits  = 1 << 2
	maskLoaded = 1 << 3
	maskHeap   = 1 << 4
	maskKnown  = maskFee | maskUnits | maskLoaded | maskHeap
)

// Config is what a version-1 transaction asks of the runtime, in place of instructions of the
// Compute Budget program. A member that is not set is nil. The runtime takes nil as 0, but a nil
// HeapSize as 32 KiB.
type Config struct {
	// PriorityFee is the fee for the whole transaction, in lamports.
	PriorityFee *uint64
	// ComputeUnitLimit is in compute units. LoadedAccountsDataSizeLimit and HeapSize are in bytes.
	ComputeUnitLimit            *uint32
	LoadedAccountsDataSizeLimit *uint32
	HeapSize                    *uint32
}

// MarshalJSON writes the config as nodes do: all four members, null where one is not set.
func (c Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		PriorityFee                 *uint64 `json:"priorityFee"`
		ComputeUnitLimit            *uint32 `json:"computeUnitLimit"`
		LoadedAccountsDataSizeLimit *uint32 `json:"loadedAccountsDataSizeLimit"`
		HeapSize                    *uint32 `json:"heapSize"`
	}(c))
}

// UnitPrice returns what the transaction pays for a compute unit in micro-lamports, rounded down; 0
// without a ComputeUnitLimit (agave, compute_unit_price_in_microlamports).
func (c Config) UnitPrice() uint64 {
	if c.PriorityFee == nil || c.ComputeUnitLimit == nil || *c.ComputeUnitLimit == 0 {
		return 0
	}
	high, low := bits.Mul64(*c.PriorityFee, 1_000_000)
	limit := uint64(*c.ComputeUnitLimit)
	if high >= limit {
		return math.MaxUint64
	}
	price, _ := bits.Div64(high, low, limit)
	return price
}

// mask returns the config mask.
func (c Config) mask() (m uint32) {
	if c.PriorityFee != nil {
		m |= maskFee
	}
	if c.ComputeUnitLimit != nil {
		m |= maskUnits
	}
	if c.LoadedAccountsDataSizeLimit != nil {
		m |= maskLoaded
	}
	if c.HeapSize != nil {
		m |= maskHeap
	}
	return m
}
