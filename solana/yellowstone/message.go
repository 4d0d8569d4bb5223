package yellowstone

import (
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/solana/txwire"
)

// VersionOf returns the version of a message. Version 1 has a config, which may be empty; versioned
// is set for versions 0 and 1. Servers older than yellowstone-grpc 15.1 send no config: their
// version 1 cannot be told from version 0.
func VersionOf(m *pb.Message) txwire.Version {
	switch {
	case m.GetConfig() != nil:
		return txwire.V1
	case m.GetVersioned():
		return txwire.V0
	}
	return txwire.Legacy
}

// ConfigOf returns the config of a message; an empty one if it has none. The result shares the
// message's memory.
func ConfigOf(m *pb.Message) txwire.Config {
	c := m.GetConfig()
	if c == nil {
		return txwire.Config{}
	}
	return txwire.Config{PriorityFee: c.PriorityFee, ComputeUnitLimit: c.ComputeUnitLimit, LoadedAccountsDataSizeLimit: c.LoadedAccountsDataSizeLimit, HeapSize: c.HeapSize}
}

// TransactionOf converts a transaction to the protocol's message. The result shares the
// transaction's memory.
func TransactionOf(t *txwire.Transaction) *pb.Transaction {
	h := t.Header
	m := &pb.Message{
		Header:      &pb.MessageHeader{NumRequiredSignatures: uint32(h.Signers), NumReadonlySignedAccounts: uint32(h.ReadonlySigners), NumReadonlyUnsignedAccounts: uint32(h.ReadonlyOthers)},
		AccountKeys: append([][]byte(nil), t.Keys...), RecentBlockhash: t.Lifetime, Versioned: t.Version != txwire.Legacy,
	}
	for i := range t.Instructions {
		ix := &t.Instructions[i]
		m.Instructions = append(m.Instructions, &pb.CompiledInstruction{ProgramIdIndex: uint32(ix.Program), Accounts: ix.Accounts, Data: ix.Data})
	}
	for i := range t.Lookups {
		l := &t.Lookups[i]
		m.AddressTableLookups = append(m.AddressTableLookups, &pb.MessageAddressTableLookup{AccountKey: l.Table, WritableIndexes: l.Writable, ReadonlyIndexes: l.Readonly})
	}
	if t.Version == txwire.V1 {
		c := t.Config
		m.Config = &pb.TransactionConfig{PriorityFee: c.PriorityFee, ComputeUnitLimit: c.ComputeUnitLimit, LoadedAccountsDataSizeLimit: c.LoadedAccountsDataSizeLimit, HeapSize: c.HeapSize}
	}
	return &pb.Transaction{Signatures: append([][]byte(nil), t.Signatures...), Message: m}
}
