package stream

import (
	"cmp"
	"sync"

	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/solana/txwire"
)

// wireTransaction is a transaction in its parts, which refer to the bytes of an encoded protobuf
// message. Config points to the fields fee, units, loaded and heap.
type wireTransaction struct {
	txwire.Transaction
	fee                 uint64
	units, loaded, heap uint32
}

// wires pools wireTransactions, so that appendWire does not allocate their lists anew.
var wires = sync.Pool{New: func() any { return &wireTransaction{} }}

// maxParts bounds the lists of a message: no version of the format has longer ones.
const maxParts = 0xffff

// appendWire appends an encoded Transaction in the network's format. The error is errMalformed if
// the format cannot express the transaction, or if a field of it is unknown here: its bytes would
// not be those that were signed, and so be useless.
func appendWire(dst, tx []byte) (out []byte, version txwire.Version, err error) {
	w := wires.Get().(*wireTransaction) // the pool has nothing else
	defer wires.Put(w)
	w.Reset()
	if err := w.read(tx); err != nil {
		return dst, w.Version, err
	}
	if out, err = w.Append(dst); err != nil {
		err = errMalformed
	}
	return out, w.Version, err
}

// read reads a Transaction.
func (w *wireTransaction) read(tx []byte) error {
	var message []byte
	f := protofields.Fields{Rest: tx}
	for f.Next() {
		switch {
		case f.IsBytes(fieldTransactionSignatures) && len(w.Signatures) < maxParts:
			w.Signatures = append(w.Signatures, f.Bytes)
		case f.IsBytes(fieldTransactionMessage):
			f.Keep(&message)
		default:
			return errMalformed
		}
	}
	return cmp.Or(f.Err, w.readMessage(message))
}

func (w *wireTransaction) readMessage(message []byte) error {
	var header, config []byte
	versioned := false
	f := protofields.Fields{Rest: message}
	for f.Next() {
		if max(len(w.Keys), len(w.Instructions), len(w.Lookups)) > maxParts {
			return errMalformed
		}
		switch {
		case f.IsBytes(fieldMessageHeader):
			f.Keep(&header)
		case f.IsBytes(fieldMessageKeys):
			w.Keys = append(w.Keys, f.Bytes)
		case f.IsBytes(fieldMessageBlockhash):
			w.Lifetime = f.Bytes
		case f.IsBytes(fieldMessageInstructions):
			ix := readInstruction(f.Bytes)
			if ix.err != nil || ix.program > 0xff || ix.unknown || ix.hasHeight {
				return errMalformed
			}
			w.Instructions = append(w.Instructions, txwire.Instruction{Program: uint8(ix.program), Accounts: ix.accounts, Data: ix.data})
		case f.IsVarint(fieldMessageVersioned):
			versioned = f.Value != 0
		case f.IsBytes(fieldMessageLookups):
			w.Lookups = append(w.Lookups, readLookup(&f))
		case f.IsBytes(fieldMessageConfig):
			f.Keep(&config)
		default:
			return errMalformed
		}
	}
	w.Version = versionOf(versioned, config != nil)
	return cmp.Or(f.Err, w.readHeader(header), w.readConfig(config))
}

// versionOf returns the version of a message: see yellowstone.VersionOf.
func versionOf(versioned, config bool) txwire.Version {
	switch {
	case config:
		return txwire.V1
	case versioned:
		return txwire.V0
	}
	return txwire.Legacy
}

// readHeader reads a MessageHeader, which must not be missing.
func (w *wireTransaction) readHeader(message []byte) error {
	if message == nil {
		return errMalformed
	}
	f := protofields.Fields{Rest: message}
	for f.Next() {
		number := uint32(f.Value) // protobuf decoders truncate it, too
		switch {
		case number > 0xff:
			return errMalformed
		case f.IsVarint(fieldHeaderSignatures):
			w.Header.Signers = uint8(number)
		case f.IsVarint(fieldHeaderReadonlySigned):
			w.Header.ReadonlySigners = uint8(number)
		case f.IsVarint(fieldHeaderReadonlyUnsigned):
			w.Header.ReadonlyOthers = uint8(number)
		default:
			return errMalformed
		}
	}
	return f.Err
}

// readConfig reads a TransactionConfig, or nothing if message is nil. A member that the message
// lacks stays nil.
func (w *wireTransaction) readConfig(message []byte) error {
	f := protofields.Fields{Rest: message}
	for f.Next() {
		switch {
		case f.IsVarint(fieldConfigFee):
			w.fee = f.Value
			w.Config.PriorityFee = &w.fee
		case f.IsVarint(fieldConfigUnits):
			w.units = uint32(f.Value)
			w.Config.ComputeUnitLimit = &w.units
		case f.IsVarint(fieldConfigLoaded):
			w.loaded = uint32(f.Value)
			w.Config.LoadedAccountsDataSizeLimit = &w.loaded
		case f.IsVarint(fieldConfigHeap):
			w.heap = uint32(f.Value)
			w.Config.HeapSize = &w.heap
		default:
			return errMalformed
		}
	}
	return f.Err
}

// instruction is a CompiledInstruction or an InnerInstruction. Only the latter has a height.
type instruction struct {
	program        uint32
	accounts, data []byte
	height         uint32
	hasHeight      bool
	// unknown says that the instruction has a field that is not known here.
	unknown bool
	err     error
}

func readInstruction(message []byte) (ix instruction) {
	f := protofields.Fields{Rest: message}
	for f.Next() {
		switch {
		case f.IsVarint(fieldInstructionProgram):
			ix.program = uint32(f.Value)
		case f.IsBytes(fieldInstructionAccounts):
			ix.accounts = f.Bytes
		case f.IsBytes(fieldInstructionData):
			ix.data = f.Bytes
		case f.IsVarint(fieldInstructionStackHeight):
			ix.height, ix.hasHeight = uint32(f.Value), true
		default:
			ix.unknown = true
		}
	}
	ix.err = f.Err
	return ix
}

// readLookup reads the current field of message as a MessageAddressTableLookup. If that fails, it
// sets message.Err.
func readLookup(message *protofields.Fields) (lookup txwire.Lookup) {
	f := protofields.Fields{Rest: message.Bytes}
	for f.Next() {
		switch {
		case f.IsBytes(fieldLookupKey):
			lookup.Table = f.Bytes
		case f.IsBytes(fieldLookupWritable):
			lookup.Writable = f.Bytes
		case f.IsBytes(fieldLookupReadonly):
			lookup.Readonly = f.Bytes
		default:
			message.Err = cmp.Or(message.Err, errMalformed)
		}
	}
	message.Err = cmp.Or(message.Err, f.Err)
	return lookup
}
