package txn

import (
	"fmt"

	"github.com/mintlake/mintlake/solana/txwire"
)

// maxLoaded is how many bytes of accounts a transaction may load: the limit of the network (agave,
// MAX_LOADED_ACCOUNTS_DATA_SIZE_BYTES). A transaction of version 0, or a legacy one, has this limit
// if it sets none. A transaction of version 1 fails if it sets none. Programs count too, and their
// sizes are not known here.
const maxLoaded = 64 << 20

// version1 encodes the transaction of version 1 (SIMD-0385) that out describes, without signatures.
func (b *builder) version1(out *Transaction) ([]byte, error) {
	t, err := b.wire1(out.PriorityFee)
	if err != nil {
		return nil, err
	}
	wire, err := t.Append(nil)
	if err != nil {
		return nil, fmt.Errorf("encode transaction: %w", err)
	}
	return wire, nil
}

// wire1 makes the transaction of version 1 with zero signatures. It returns ErrTooLarge if the
// transaction exceeds the limits of the network.
func (b *builder) wire1(priorityFee uint64) (*txwire.Transaction, error) {
	list, units, loaded := b.list[budgetSteps:], uint32(b.limit()), uint32(maxLoaded)
	m := compile(b.payer(), b.Blockhash, list)
	if n, most := len(m.AccountKeys), b.mostAccounts(); n > most {
		return nil, fmt.Errorf("%w: it names %d accounts of at most %d", ErrTooLarge, n, most)
	}
	t := &txwire.Transaction{
		Version: txwire.V1, Lifetime: m.RecentBlockhash[:], Header: txwire.Header{
			Signers: m.Header.NumRequiredSignatures, ReadonlySigners: m.Header.NumReadonlySignedAccounts, ReadonlyOthers: m.Header.NumReadonlyUnsignedAccounts,
		},
		Config: txwire.Config{PriorityFee: &priorityFee, ComputeUnitLimit: &units, LoadedAccountsDataSizeLimit: &loaded},
	}
	for range m.Header.NumRequiredSignatures {
		t.Signatures = append(t.Signatures, make([]byte, txwire.SignatureSize))
	}
	n := size1 + keySize*len(m.AccountKeys) + signatureSize*len(t.Signatures)
	for i := range m.AccountKeys {
		t.Keys = append(t.Keys, m.AccountKeys[i][:])
	}
	for _, in := range m.Instructions {
		places := make([]byte, len(in.Accounts))
		for i, place := range in.Accounts {
			places[i] = byte(place) // at most mostAccounts
		}
		t.Instructions = append(t.Instructions, txwire.Instruction{Program: byte(in.ProgramIDIndex), Accounts: places, Data: in.Data})
		n += instruction1 + len(places) + len(in.Data)
	}
	if most := txwire.V1.MaxBytes(); n > most {
		return nil, fmt.Errorf("%w: it has %d bytes of at most %d", ErrTooLarge, n, most)
	}
	return t, nil
}

// Sizes of a transaction of version 1 (SIMD-0385): size1 is what each has (the version, the header,
// the mask and the values of its config, the blockhash, two counts), instruction1 what stands
// before the accounts and data of an instruction.
const (
	size1        = 1 + 3 + 4 + 8 + 4 + 4 + 32 + 1 + 1
	instruction1 = 1 + 1 + 2
)
