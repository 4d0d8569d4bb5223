package parse

import (
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/solana/txwire"
)

// refusal returns the error for a transaction that txwire does not read.
func (b *builder) refusal(err error) error {
	var version *txwire.VersionError
	if errors.As(err, &version) {
		return b.unknownVersion(uint64(version.Version))
	}
	return malformed("%v", err)
}

// checkVersion returns an error if the version is above the highest that is to be read.
func (b *builder) checkVersion(v txwire.Version) error {
	if v > b.highest {
		return b.unknownVersion(uint64(v))
	}
	return nil
}

// unknownVersion returns the error for a transaction of a version that is not read, in whatever
// form the transaction came.
func (b *builder) unknownVersion(v uint64) error {
	return fmt.Errorf("%w: %w", ErrUnsupported, &txwire.VersionError{Version: uint8(min(v, 255)), Highest: b.highest})
}

// checkLimits counts a transaction of version 1 that is above one of the runtime's limits. The
// transaction is read nevertheless, because the runtime may have raised the limit.
func (b *builder) checkLimits(w *txwire.Transaction, size int) {
	if w.Version >= txwire.V1 && w.CheckLimits(size) != nil {
		b.block.OverLimit++
	}
}

// protoVersion finds out the version of a message, and returns an error if the version is not to be
// read. A config, even an empty one, makes version 1. Servers older than yellowstone-grpc 15.1 send
// no config, so their version 1 looks like version 0 without lookups.
func (b *builder) protoVersion(m *message, config *txwire.Config) error {
	switch {
	case config != nil && m.hasLookups:
		return malformed("a config and lookups: no version has both")
	case config != nil:
		m.versioned, m.hasLookups = true, true // hasLookups: load checks that no address is loaded
		b.checkLimits(&txwire.Transaction{
			Version: txwire.V1, Config: *config, Keys: b.rawKeys,
			Signatures: make([][]byte, m.signatures), Instructions: make([]txwire.Instruction, len(b.scratch)),
		}, b.wireSize(m.signatures, config))
		return b.checkVersion(txwire.V1)
	case m.versioned && !m.hasLookups:
		b.block.Unclear++
	}
	if m.versioned {
		return b.checkVersion(txwire.V0)
	}
	return nil
}

// wireSize is how many bytes a transaction of version 1 with the scratch's keys and instructions
// has in the network's format.
func (b *builder) wireSize(signatures int, config *txwire.Config) int {
	// 42: version, header (3), config mask (4), blockhash (32), numbers of instructions and keys
	size := 42 + len(b.rawKeys)*txwire.KeySize + signatures*txwire.SignatureSize
	if config.PriorityFee != nil {
		size += 8
	}
	for _, value := range []*uint32{config.ComputeUnitLimit, config.LoadedAccountsDataSizeLimit, config.HeapSize} {
		if value != nil {
			size += 4
		}
	}
	for i := range b.scratch {
		size += 4 + len(b.scratch[i].Accounts) + len(b.scratch[i].Data)
	}
	return size
}

// protoConfig parses TransactionConfig.
func protoConfig(c *txwire.Config, data []byte) error {
	w := protofields.Fields{Rest: data}
	for w.Next() {
		n := w.Value
		switch {
		case w.IsVarint(1):
			c.PriorityFee = &n
		case w.IsVarint(2):
			c.ComputeUnitLimit = small(n)
		case w.IsVarint(3):
			c.LoadedAccountsDataSizeLimit = small(n)
		case w.IsVarint(4):
			c.HeapSize = small(n)
		}
	}
	return w.Err
}

// small returns the lower 32 bits, as protobuf reads a uint32.
func small(n uint64) *uint32 {
	out := uint32(n)
	return &out
}
