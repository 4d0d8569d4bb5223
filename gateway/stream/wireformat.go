package stream

import (
	"cmp"

	"google.golang.org/protobuf/encoding/protowire"
)

// appendWire appends a Transaction in the network's format, as the crates solana-transaction and
// solana-message encode it: lengths are compact-u16, and a versioned message begins with a byte of
// bit 7 and the version.
func appendWire(dst, tx []byte) (out []byte, versioned bool, err error) {
	var message, header, blockhash []byte
	var signatures, keys, instructions, lookups int
	f := fields{rest: tx}
	for f.next() {
		switch {
		case f.isBytes(fieldTransactionSignatures):
			signatures++
		case f.isBytes(fieldTransactionMessage):
			f.keep(&message)
		}
	}
	m := fields{rest: message}
	for m.next() {
		switch {
		case m.isBytes(fieldMessageHeader):
			m.keep(&header)
		case m.isBytes(fieldMessageKeys):
			keys++
		case m.isBytes(fieldMessageBlockhash):
			blockhash = m.bytes
		case m.isBytes(fieldMessageInstructions):
			instructions++
		case m.isVarint(fieldMessageVersioned):
			versioned = m.value != 0
		case m.isBytes(fieldMessageLookups):
			lookups++
		}
	}
	counts, err := readHeader(header)
	if err = cmp.Or(f.err, m.err, err); err != nil {
		return dst, versioned, err
	}
	dst = appendEach(appendLength(dst, signatures), tx, fieldTransactionSignatures)
	if versioned {
		dst = append(dst, 0x80) // version 0
	}
	dst = append(dst, counts[:]...)
	dst = appendEach(appendLength(dst, keys), message, fieldMessageKeys)
	dst = append(dst, blockhash...)
	if dst, err = appendInstructions(appendLength(dst, instructions), message); err != nil || !versioned {
		return dst, versioned, err
	}
	dst, err = appendLookups(appendLength(dst, lookups), message)
	return dst, versioned, err
}

// readHeader returns a MessageHeader: how many sign, and how many of those who sign and of the
// others are readonly. The header must not be missing.
func readHeader(message []byte) (counts [3]byte, err error) {
	if message == nil {
		return counts, errMalformed
	}
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.isVarint(fieldHeaderSignatures):
			counts[0] = byte(f.value)
		case f.isVarint(fieldHeaderReadonlySigned):
			counts[1] = byte(f.value)
		case f.isVarint(fieldHeaderReadonlyUnsigned):
			counts[2] = byte(f.value)
		}
	}
	return counts, f.err
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

func appendInstructions(dst, message []byte) ([]byte, error) {
	f := fields{rest: message}
	for f.next() {
		if !f.isBytes(fieldMessageInstructions) {
			continue
		}
		ix := readInstruction(f.bytes)
		if ix.err != nil {
			return dst, ix.err
		}
		dst = append(dst, byte(ix.program))
		dst = append(appendLength(dst, len(ix.accounts)), ix.accounts...)
		dst = append(appendLength(dst, len(ix.data)), ix.data...)
	}
	return dst, f.err
}

// appendLookups appends the MessageAddressTableLookups of a message.
func appendLookups(dst, message []byte) ([]byte, error) {
	f := fields{rest: message}
	for f.next() {
		if !f.isBytes(fieldMessageLookups) {
			continue
		}
		var key, writable, readonly []byte
		l := fields{rest: f.bytes}
		for l.next() {
			switch {
			case l.isBytes(fieldLookupKey):
				key = l.bytes
			case l.isBytes(fieldLookupWritable):
				writable = l.bytes
			case l.isBytes(fieldLookupReadonly):
				readonly = l.bytes
			}
		}
		if l.err != nil {
			return dst, l.err
		}
		dst = append(dst, key...)
		dst = append(appendLength(dst, len(writable)), writable...)
		dst = append(appendLength(dst, len(readonly)), readonly...)
	}
	return dst, f.err
}

// appendEach appends the fields number of a message, one after the other.
func appendEach(dst, message []byte, number protowire.Number) []byte {
	f := fields{rest: message}
	for f.next() {
		if f.isBytes(number) {
			dst = append(dst, f.bytes...)
		}
	}
	return dst
}

// appendLength appends a compact-u16: seven bits a byte, lowest first.
func appendLength(out []byte, n int) []byte {
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}
