package stream

import (
	"cmp"
	"sync"

	"github.com/mintlake/mintlake/solana/txwire"
)

// wireTransaction is a transaction in its parts, which borrow an encoded protobuf message. It has
// the memory of its config.
type wireTransaction struct {
	txwire.Transaction
	fee                 uint64
	units, loaded, heap uint32
}

var wires = sync.Pool{New: func() any { return &wireTransaction{} }}

// maxParts bounds the lists of a message: no version of the format has longer ones.
const maxParts = 0xffff

// appendWire appends an encoded Transaction in the network's format. The error is errMalformed if
// the format cannot have what is in it, or if it has a field that is not known here: other bytes
// than those that were signed would be of no use.
func appendWire(dst, tx []byte) (out []byte, version txwire.Version, err error) {
	w := wires.Get().(*wireTransaction) // the pool has nothing else
	defer wires.Put(w)
	w.Reset()
	if err := w.read(tx); err != nil {
		return dst, w.Version, err
	}
	out, err = w.Append(dst)
	return out, w.Version, err
}

// read reads a Transaction.
func (w *wireTransaction) read(tx []byte) error {
	var message []byte
	f := fields{rest: tx}
	for f.next() {
		switch {
		case f.isBytes(fieldTransactionSignatures) && len(w.Signatures) < maxParts:
			w.Signatures = append(w.Signatures, f.bytes)
		case f.isBytes(fieldTransactionMessage):
			f.keep(&message)
		default:
			return errMalformed
		}
	}
	return cmp.Or(f.err, w.readMessage(message))
}

func (w *wireTransaction) readMessage(message []byte) error {
	var header, config []byte
	versioned := false
	f := fields{rest: message}
	for f.next() {
		if max(len(w.Keys), len(w.Instructions), len(w.Lookups)) > maxParts {
			return errMalformed
		}
		switch {
		case f.isBytes(fieldMessageHeader):
			f.keep(&header)
		case f.isBytes(fieldMessageKeys):
			w.Keys = append(w.Keys, f.bytes)
		case f.isBytes(fieldMessageBlockhash):
			w.Lifetime = f.bytes
		case f.isBytes(fieldMessageInstructions):
			ix := readInstruction(f.bytes)
			if ix.err != nil || ix.program > 0xff {
				return errMalformed
			}
			w.Instructions = append(w.Instructions, txwire.Instruction{Program: uint8(ix.program), Accounts: ix.accounts, Data: ix.data})
		case f.isVarint(fieldMessageVersioned):
			versioned = f.value != 0
		case f.isBytes(fieldMessageLookups):
			w.Lookups = append(w.Lookups, readLookup(&f))
		case f.isBytes(fieldMessageConfig):
			f.keep(&config)
		default:
			return errMalformed
		}
	}
	w.Version = versionOf(versioned, config != nil)
	return cmp.Or(f.err, w.readHeader(header), w.readConfig(config))
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
	f := fields{rest: message}
	for f.next() {
		number := uint32(f.value) // as decoders do
		switch {
		case number > 0xff:
			return errMalformed
		case f.isVarint(fieldHeaderSignatures):
			w.Header.Signers = uint8(number)
		case f.isVarint(fieldHeaderReadonlySigned):
			w.Header.ReadonlySigners = uint8(number)
		case f.isVarint(fieldHeaderReadonlyUnsigned):
			w.Header.ReadonlyOthers = uint8(number)
		default:
			return errMalformed
		}
	}
	return f.err
}

// readConfig reads a TransactionConfig; nil is none. A member that is not there is not set.
func (w *wireTransaction) readConfig(message []byte) error {
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.isVarint(fieldConfigFee):
			w.fee = f.value
			w.Config.PriorityFee = &w.fee
		case f.isVarint(fieldConfigUnits):
			w.units = uint32(f.value)
			w.Config.ComputeUnitLimit = &w.units
		case f.isVarint(fieldConfigLoaded):
			w.loaded = uint32(f.value)
			w.Config.LoadedAccountsDataSizeLimit = &w.loaded
		case f.isVarint(fieldConfigHeap):
			w.heap = uint32(f.value)
			w.Config.HeapSize = &w.heap
		default:
			return errMalformed
		}
	}
	return f.err
}

// instruction is a CompiledInstruction or an InnerInstruction. Only the latter has a height.
type instruction struct {
	program        uint32
	accounts, data []byte
	height         uint32
	hasHeight      bool
	err            error
}

func readInstruction(message []byte) (ix instruction) {
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.isVarint(fieldInstructionProgram):
			ix.program = uint32(f.value)
		case f.isBytes(fieldInstructionAccounts):
			ix.accounts = f.bytes
		case f.isBytes(fieldInstructionData):
			ix.data = f.bytes
		case f.isVarint(fieldInstructionStackHeight):
			ix.height, ix.hasHeight = uint32(f.value), true
		}
	}
	ix.err = f.err
	return ix
}

// readLookup reads the current field of a message, a MessageAddressTableLookup.
func readLookup(of *fields) (lookup txwire.Lookup) {
	f := fields{rest: of.bytes}
	for f.next() {
		switch {
		case f.isBytes(fieldLookupKey):
			lookup.Table = f.bytes
		case f.isBytes(fieldLookupWritable):
			lookup.Writable = f.bytes
		case f.isBytes(fieldLookupReadonly):
			lookup.Readonly = f.bytes
		}
	}
	of.err = cmp.Or(of.err, f.err)
	return lookup
}
