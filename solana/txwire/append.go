package txwire

import "encoding/binary"

// Append appends the transaction in the network's format. It returns ErrMalformed if a part has a
// length that the format cannot have.
func (t *Transaction) Append(dst []byte) ([]byte, error) {
	for _, signature := range t.Signatures {
		if len(signature) != SignatureSize {
			return dst, malformed("signature of %d bytes", len(signature))
		}
	}
	if t.Version >= V1 {
		if len(t.Signatures) != int(t.Header.Signers) {
			return dst, malformed("%d signatures of %d signers", len(t.Signatures), t.Header.Signers)
		}
		dst, err := t.AppendMessage(dst)
		return appendAll(dst, t.Signatures), err
	}
	if len(t.Signatures) >= firstVersioned {
		return dst, malformed("%d signatures", len(t.Signatures))
	}
	return t.AppendMessage(appendAll(append(dst, byte(len(t.Signatures))), t.Signatures))
}

// AppendMessage appends what is signed: the transaction without its signatures.
func (t *Transaction) AppendMessage(dst []byte) ([]byte, error) {
	if len(t.Lifetime) != KeySize {
		return dst, malformed("lifetime of %d bytes", len(t.Lifetime))
	}
	for i, key := range t.Keys {
		if len(key) != KeySize {
			return dst, malformed("key %d of %d bytes", i, len(key))
		}
	}
	switch {
	case t.Version > Highest || t.Version < Legacy:
		return dst, malformed("version %s", t.Version)
	case t.Version != V0 && len(t.Lookups) > 0:
		return dst, malformed("%d lookups: only version 0 has them", len(t.Lookups))
	case t.Version == V1:
		return t.appendV1(dst)
	}
	return t.appendOld(dst)
}

// appendOld appends a message of legacy or version 0.
func (t *Transaction) appendOld(dst []byte) ([]byte, error) {
	if t.Version == V0 {
		dst = append(dst, firstVersioned)
	}
	dst = append(dst, t.Header.Signers, t.Header.ReadonlySigners, t.Header.ReadonlyOthers)
	w := lengths{dst: dst}
	w.length(len(t.Keys))
	w.dst = append(appendAll(w.dst, t.Keys), t.Lifetime...)
	w.length(len(t.Instructions))
	for i := range t.Instructions {
		ix := &t.Instructions[i]
		w.dst = append(w.dst, ix.Program)
		w.bytes(ix.Accounts)
		w.bytes(ix.Data)
	}
	if t.Version == V0 {
		w.length(len(t.Lookups))
		for i := range t.Lookups {
			l := &t.Lookups[i]
			if len(l.Table) != KeySize {
				return dst, malformed("lookup table %d of %d bytes", i, len(l.Table))
			}
			w.dst = append(w.dst, l.Table...)
			w.bytes(l.Writable)
			w.bytes(l.Readonly)
		}
	}
	if w.over {
		return dst, malformed("more than 65,535 of something")
	}
	return w.dst, nil
}

// appendV1 appends a message of version 1.
func (t *Transaction) appendV1(dst []byte) ([]byte, error) {
	if len(t.Instructions) > 0xff || len(t.Keys) > 0xff {
		return dst, malformed("%d instructions and %d keys: at most 255 each", len(t.Instructions), len(t.Keys))
	}
	dst = append(dst, firstV1, t.Header.Signers, t.Header.ReadonlySigners, t.Header.ReadonlyOthers)
	dst = binary.LittleEndian.AppendUint32(dst, t.Config.mask())
	dst = append(append(dst, t.Lifetime...), byte(len(t.Instructions)), byte(len(t.Keys)))
	dst = appendAll(dst, t.Keys)
	if t.Config.PriorityFee != nil {
		dst = binary.LittleEndian.AppendUint64(dst, *t.Config.PriorityFee)
	}
	for _, value := range []*uint32{t.Config.ComputeUnitLimit, t.Config.LoadedAccountsDataSizeLimit, t.Config.HeapSize} {
		if value != nil {
			dst = binary.LittleEndian.AppendUint32(dst, *value)
		}
	}
	for i := range t.Instructions {
		ix := &t.Instructions[i]
		if len(ix.Accounts) > 0xff || len(ix.Data) > 0xffff {
			return dst, malformed("instruction %d has %d accounts and %d bytes: at most 255 and 65,535", i, len(ix.Accounts), len(ix.Data))
		}
		dst = append(dst, ix.Program, byte(len(ix.Accounts)))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(ix.Data)))
	}
	for i := range t.Instructions {
		dst = append(append(dst, t.Instructions[i].Accounts...), t.Instructions[i].Data...)
	}
	return dst, nil
}

func appendAll(dst []byte, list [][]byte) []byte {
	for _, one := range list {
		dst = append(dst, one...)
	}
	return dst
}

// lengths writes lengths as compact-u16: seven bits in each byte, lowest first. over is set once a
// length does not fit.
type lengths struct {
	dst  []byte
	over bool
}

func (w *lengths) length(n int) {
	w.over = w.over || n > 0xffff
	for n >= 0x80 {
		w.dst = append(w.dst, byte(n)|0x80)
		n >>= 7
	}
	w.dst = append(w.dst, byte(n))
}

func (w *lengths) bytes(list []byte) {
	w.length(len(list))
	w.dst = append(w.dst, list...)
}
